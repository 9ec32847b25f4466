// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The definitions of all ops, as the engine describes them, for calling ops by name.

import type { DType } from './dtypes.js';
import type { Engine } from './engine.js';
import { errorIn } from './errors.js';
import type { Entry } from './errors.js';
import { Op } from './op.js';
import { textsOfOps } from './op_docs.js';

/** An input or a result of an op. Its element type is `dtype`, or that of the attribute `type_attr`. */
export interface ArgDefinition {
  readonly name: string;
  readonly dtype?: DType;
  readonly type_attr?: string;
  /** The attribute that lists the element types of so many tensors. */
  readonly type_list_attr?: string;
  readonly any_dtype?: boolean;
  /** The attribute that says how many tensors it is. */
  readonly number_attr?: string;
  /** Whether its content is looked at before the op runs, such as axes and shapes. */
  readonly host_input: boolean;
}

/** An attribute of an op. */
export interface AttrDefinition {
  readonly name: string;
  readonly kind: 'type' | 'int' | 'float' | 'bool' | 'string' | 'shape' | 'tensor' | 'func' | 'any';
  readonly list: boolean;
  /** Whether it follows from the inputs. */
  readonly inferred: boolean;
  readonly allowed?: readonly string[];
  readonly minimum?: number;
  /** Without one the attribute must be given. */
  readonly default?: unknown;
  /** As in the op's definition. */
  readonly spec: string;
}

/** An op. */
export interface OpDefinition {
  readonly name: string;
  /**
   * What it computes; the first sentence is a summary. In browsers ops of TensorFlow's have it with `tandem-rt/docs`.
   */
  readonly doc: string;
  readonly side_effects: boolean;
  /**
   * What it does with elements: a function of those at one place, of all along some dimensions, or none, only moving
   * them. Absent for what is none of these.
   */
  readonly kind?: 'elementwise' | 'reduction' | 'layout';
  /** The input that the result has all elements of, in their order. */
  readonly aliased_input?: number;
  readonly inputs: readonly ArgDefinition[];
  readonly outputs: readonly ArgDefinition[];
  readonly attrs: readonly AttrDefinition[];
}

// What numbers become for an input whose type no tensor tells, where that is no matter of course; see op.ts.
function usualOf(input: ArgDefinition, { attrs }: OpDefinition): string {
  const type = attrs.find(({ name }) => name === input.type_attr);
  const matter = input.host_input ? 'i32' : 'f32';
  const allowed = type?.allowed ?? [matter];
  const usual = type?.default ?? [matter, 'i32', 'i64', 'f32', allowed[0]].find((dtype) => allowed.includes(dtype!));
  return usual === matter || usual === 'bool' ? '' : `=${usual as string}`;
}

function inputsText(definition: OpDefinition): string {
  return definition.inputs.map((input) => {
    const star = isListed(input) ? '*' : '';
    const list = input.type_list_attr !== undefined ? '[]' : '';
    const type = input.dtype ?? input.type_attr ?? input.type_list_attr ?? 'any';
    return `${star}${input.name}:${type}${list}${usualOf(input, definition)}${input.host_input ? '!' : ''}`;
  }).join(' ');
}

function attrsText(definition: OpDefinition): string {
  return definition.attrs.map(({ name, kind, list }) => {
    return `${name}:${kind === 'type' ? 'dtype' : kind}${list ? '[]' : ''}`;
  }).join(' ');
}

/** What is known of an op by its name. */
export interface Found {
  readonly definition: OpDefinition;
  readonly op: Op;
  /** Whether it has one result, and takes its arguments one by one. */
  readonly isSimple: boolean;
}

/** Whether it is a list of tensors. */
export function isListed(arg: ArgDefinition | undefined): boolean {
  return (arg?.number_attr ?? arg?.type_list_attr) !== undefined;
}

/** The ops of an engine by name. One for each engine, read when it is first needed. */
export class Registry {
  private readonly undocumented: readonly OpDefinition[];
  private documented: readonly OpDefinition[] | undefined;
  private readonly byName = new Map<string, Found>();

  constructor(private readonly engine: Engine) {
    this.undocumented = (JSON.parse(engine.registryJson()) as { ops: OpDefinition[] }).ops;
    for (const definition of this.undocumented) {
      const op = new Op(definition.name, inputsText(definition), attrsText(definition), true);
      const isSimple = definition.outputs.length === 1 &&
        [...definition.inputs, ...definition.outputs].every((arg) => !isListed(arg));
      this.byName.set(definition.name, { definition, op, isSimple });
    }
  }

  /** With what is known of their texts by now. */
  get definitions(): readonly OpDefinition[] {
    const texts = textsOfOps();
    if (texts === undefined) return this.undocumented;
    this.documented ??= this.undocumented.map((op) => ({ ...op, doc: texts[op.name] ?? op.doc }));
    return this.documented;
  }

  /** NotFound, with the name that is most like it, if there is no such op. */
  find(name: string, entry: Entry): Found {
    const found = this.byName.get(name);
    if (found !== undefined) return found;
    // The engine knows what was meant.
    new Op(String(name), '', '').on(this.engine, entry);
    throw errorIn(name, 'NotFound', 'expected an op that is defined');
  }
}

/** How many tensors each input or result is, by what the call was given; undefined if that does not tell. */
function countOf(
  arg: ArgDefinition, definition: OpDefinition, numInputs: number, attrs: Readonly<Record<string, unknown>>,
): number | undefined {
  const name = arg.number_attr ?? arg.type_list_attr;
  if (name === undefined) return 1;
  const value = attrs[name] ?? definition.attrs.find((attr) => attr.name === name)?.default;
  if (typeof value === 'number') return value;
  if (Array.isArray(value)) return value.length;
  // Inferred from the inputs: those that are no lists take one each.
  const lists = definition.inputs.filter(isListed);
  const ofName = lists.filter((input) => (input.number_attr ?? input.type_list_attr) === name).length;
  const rest = numInputs - (definition.inputs.length - lists.length);
  return ofName === lists.length && ofName > 0 ? rest / ofName : undefined;
}

/** How many results a call gives. */
export function numResults(
  definition: OpDefinition, numInputs: number, attrs: Readonly<Record<string, unknown>>,
): number {
  return definition.outputs.reduce((sum, output) => {
    const count = countOf(output, definition, numInputs, attrs);
    if (!Number.isInteger(count) || count! < 0 || count! > 2 ** 20) {
      throw errorIn(definition.name, 'InvalidArgument',
        'expected options.results, since the attributes do not tell how many');
    }
    return sum + count!;
  }, 0);
}

/** The arguments, given one after the other, as lists where the op takes lists. */
export function groupInputs<T>(
  definition: OpDefinition, inputs: readonly T[], attrs: Readonly<Record<string, unknown>>,
): (T | readonly T[])[] {
  const grouped: (T | readonly T[])[] = [];
  let at = 0;
  for (const input of definition.inputs) {
    if (!isListed(input)) {
      // Too few are the engine's to refuse, too.
      if (at >= inputs.length) break;
      grouped.push(inputs[at++]!);
      continue;
    }
    const count = countOf(input, definition, inputs.length, attrs) ?? inputs.length - at;
    grouped.push(inputs.slice(at, at + Math.max(0, count)));
    at += Math.max(0, count);
  }
  // Too many are the engine's to refuse.
  return grouped.concat(inputs.slice(at));
}
