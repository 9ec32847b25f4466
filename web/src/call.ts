// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calling ops: a short way for tensors without options, which costs some tenths of a microsecond; one for options and
// values like those of calls before; and one for the rest.

import { copyOptions, makeAttrs } from './attrs.js';
import { callAgain, dtypeFor, firstOf } from './call_again.js';
import { contexts, currentContext } from './context.js';
import type { Context } from './context.js';
import { createScalar, createTensor } from './create.js';
import type { DType, TypedArray } from './dtypes.js';
import type { Engine, Handle } from './engine.js';
import { errorIn, failure, TandemError } from './errors.js';
import type { Entry } from './errors.js';
import type { TensorLike } from './nested.js';
import type { InputSpec, Op } from './op.js';
import type { Runtime } from './runtime.js';
import { isTensor, newTensor } from './tensor.js';
import type { Tensor } from './tensor.js';
import { copyOf, describe } from './values.js';
import type { ValuesContext } from './values.js';

// What holds all values of a kind exactly.
const WIDEST: Readonly<Partial<Record<string, DType>>> = { number: 'f64', bigint: 'i64', boolean: 'bool' };

/**
 * An argument of an op: a tensor, or values. Numbers take the dtype of the arguments that theirs must agree with, also
 * of those that have none yet; else what the op's definition says, or f32. One that does not fit is an error.
 */
export type TensorInput<D extends DType = DType> = Tensor<D> | TensorLike | TypedArray;

/** The values of an argument list: arguments, and lists of them for inputs that are lists of tensors. */
export type Inputs = readonly (TensorInput | readonly TensorInput[])[];

/** Calls an op with one argument and one result. */
export function call1(op: Op, entry: Entry, a: TensorInput, options?: object): Tensor<never> {
  if (options === undefined && isTensor(a) && contexts.requests === 0) {
    const { engine } = a;
    const pointer = a.ref.pointer;
    if (engine === op.engine && pointer !== 0 && engine.isPlain) {
      let { args } = engine;
      if (args.length === 0) args = engine.revive(entry);
      args[0] = pointer;
      return newTensor(a.runtime, engine, engine.call(op.pointer, 1, entry), a.context);
    }
  }
  return callAny(op, entry, [a], options);
}

/** Calls an op with two arguments and one result. */
export function call2(op: Op, entry: Entry, a: TensorInput, b: TensorInput, options?: object): Tensor<never> {
  if (options === undefined && isTensor(a) && isTensor(b) && contexts.requests === 0) {
    const { engine } = a;
    const first = a.ref.pointer;
    const second = b.ref.pointer;
    if (engine === op.engine && engine === b.engine && first !== 0 && second !== 0 && engine.isPlain) {
      let { args } = engine;
      if (args.length === 0) args = engine.revive(entry);
      args[0] = first;
      args[1] = second;
      return newTensor(a.runtime, engine, engine.call(op.pointer, 2, entry), a.context ?? b.context);
    }
  }
  return callAny(op, entry, [a, b], options);
}

/** Calls an op with three arguments and one result. */
export function call3(
  op: Op, entry: Entry, a: TensorInput, b: TensorInput, c: TensorInput, options?: object,
): Tensor<never> {
  return callAny(op, entry, [a, b, c], options);
}

function callAny(op: Op, entry: Entry, inputs: Inputs, options?: object, runtime?: Runtime): Tensor<never> {
  try {
    return callAgain(op, entry, inputs, options, runtime) ?? new Call(op, entry, inputs, runtime).run(options, 1)[0]!;
  } catch (error) {
    throw failure(error, entry, op.name);
  }
}

/**
 * Calls any op.
 *
 * @param inputs The arguments; a list for an input that is a list of tensors.
 * @param numResults 0 for ops that have an effect and no result.
 * @param runtime Where there may be no tensor among the arguments.
 */
export function callMany(
  op: Op, entry: Entry, inputs: Inputs, options?: object, numResults = 1, runtime?: Runtime,
): Tensor<never>[] {
  if (numResults === 1) return [callAny(op, entry, inputs, options, runtime)];
  try {
    return new Call(op, entry, inputs, runtime).run(options, numResults);
  } catch (error) {
    throw failure(error, entry, op.name);
  }
}

/** The attributes that an op must be given beside those that it may be given, which a getter may refuse to tell. */
export function withOptions(op: Op, entry: Entry, options: object | undefined, required: object): object {
  try {
    return { ...options, ...required };
  } catch (error) {
    throw failure(error, entry, op.name);
  }
}

/** The request that a call belongs to; 0 for none. Throws if it is over. `inherited` is a context of its arguments. */
export function requestOf(engine: Engine, inherited: Context | undefined): Handle {
  if (contexts.requests === 0) return 0;
  for (let context = currentContext() ?? inherited; context !== undefined; context = context.parent) {
    const request = context.requestOn?.(engine) ?? 0;
    if (request !== 0) return request;
  }
  return 0;
}

// One call on its way through the checks.
class Call {
  private readonly runtime: Runtime;
  private readonly engine: Engine;
  private inherited: Context | undefined;
  // The tensors that the op gets, and the input that each is for.
  private readonly values: TensorInput[] = [];
  private readonly specs: (InputSpec | undefined)[] = [];
  // What was made for this call.
  private readonly made: { pointer: Handle; index: number; dtype: DType | undefined }[] = [];

  constructor(private readonly op: Op, private readonly entry: Entry, inputs: Inputs, runtime: Runtime | undefined) {
    inputs.forEach((input, i) => this.addInput(input, op.inputs[i], i));
    const found = runtime ?? this.values.find(isTensor)?.runtime;
    // A program may give an argument in the runtime's place.
    if (found?.engine === undefined) {
      throw errorIn(op.name, 'InvalidArgument',
        'expected a tensor among the arguments, which says what runtime to use, got none; make one by runtime.tensor(…)');
    }
    this.runtime = found;
    this.engine = found.engine;
  }

  private addInput(input: Inputs[number], spec: InputSpec | undefined, index: number): void {
    if (spec?.isVariadic !== true) {
      // Lists of axes and the like are kept, and known again; see recent.ts.
      const isKept = spec?.isHost === true && Array.isArray(input);
      this.values.push((isKept ? copyOf(input, this.op.name) : input) as TensorInput);
      this.specs.push(spec);
      return;
    }
    if (!Array.isArray(input)) {
      const name = spec?.name ?? `argument ${index}`;
      throw errorIn(this.op.name, 'InvalidArgument', `expected a list of tensors for ${name}, got ${describe(input)}`);
    }
    for (const value of copyOf(input, this.op.name)) {
      this.values.push(value as TensorInput);
      this.specs.push(spec);
    }
  }

  // What errors call a value.
  private nameOf(index: number): string {
    const spec = this.specs[index];
    if (spec === undefined) return `argument ${index}`;
    return spec.isVariadic ? `${spec.name}[${index - this.specs.indexOf(spec)}]` : spec.name;
  }

  run(given: object | undefined, numResults: number): Tensor<never>[] {
    const { engine, entry, op, runtime, values } = this;
    if (engine.closed !== undefined) throw engine.whyClosed();
    let attrs = 0;
    let options: object | undefined;
    try {
      const pointer = op.on(engine, entry);
      values.forEach((value, i) => isTensor(value) && this.pointerOf(value, i));
      // From here code of the program's may run: getters of options, proxies of lists. It may dispose of tensors.
      options = copyOptions(given, op);
      const made = values.map((value, i) => (isTensor(value) ? 0 : this.create(value as TensorLike, i)));
      const known = engine.isPlain ? engine.recent.attrs(op, options) : undefined;
      if (known === undefined) attrs = makeAttrs(engine, op, options);
      // To here.
      const args = values.map((value, i) => made[i] || this.pointerOf(value as Tensor, i));
      const results = engine.callMany(pointer, args, numResults, {
        attrs: known ?? attrs,
        chain: numResults === 0 ? runtime.chain() : 0,
        request: requestOf(engine, this.inherited),
        location: engine.tracksLocations ? engine.location(engine.callerOf(entry)) : 0,
      }, entry);
      return results.map((result) => newTensor(runtime, engine, result, this.inherited));
    } finally {
      this.keepOrRelease(attrs, options);
    }
  }

  // `options` are a copy.
  private keepOrRelease(attrs: number, options: object | undefined): void {
    const { engine, engine: { recent }, op } = this;
    for (const { dtype, index, pointer } of this.made) {
      const isKept = dtype !== undefined && engine.isPlain &&
        recent.keepValue(op, this.specs[index], this.values[index], dtype, pointer);
      if (!isKept) engine.releaseTensor(pointer);
    }
    if (attrs === 0) return;
    const isKept = engine.isPlain && recent.keepAttrs(op, options!, attrs);
    if (!isKept) engine.releaseAttrs(attrs);
  }

  private pointerOf(tensor: Tensor, index: number): Handle {
    const { engine, op } = this;
    if (tensor.engine !== engine) {
      throw errorIn(op.name, 'InvalidArgument',
        `expected tensors of one runtime, got ${this.nameOf(index)} of another one`);
    }
    if (tensor.ref.pointer === 0) {
      throw errorIn(op.name, 'FailedPrecondition',
        `expected tensors that are not disposed of, got ${this.nameOf(index)}, which is`);
    }
    this.inherited ??= tensor.context;
    return tensor.ref.pointer;
  }

  private create(value: TensorLike, index: number): Handle {
    const { engine, op } = this;
    const dtype = dtypeFor(this.specs[index], value, this.values, this.specs);
    const context = { op: op.name, name: this.nameOf(index), isStrict: true };
    const like = dtype === undefined ? this.pendingLike(value, index) : undefined;
    if (like !== undefined) return this.castLike(value, like, index, context);
    const pointer = typeof value === 'number'
      ? createScalar(engine, value, dtype ?? 'f32', context)
      : createTensor(engine, value, dtype, undefined, context);
    this.made.push({ pointer, index, dtype });
    return pointer;
  }

  // The tensor whose dtype, not known yet, values must take.
  private pendingLike(value: TensorInput, index: number): Tensor | undefined {
    const spec = this.specs[index];
    if (spec === undefined || spec.isMixed || WIDEST[typeof firstOf(value)] === undefined) return undefined;
    return this.values.find((other, i): other is Tensor => isTensor(other) && this.specs[i]?.type === spec.type &&
      this.engine.state(this.pointerOf(other, i)) === 'pending');
  }

  // The values, waiting with the op for their dtype (TY-2).
  private castLike(value: TensorInput, like: Tensor, index: number, context: ValuesContext): Handle {
    const { engine, entry, op } = this;
    const widest = createTensor(engine, value as TensorLike, WIDEST[typeof firstOf(value)], undefined, context);
    let pointer: Handle;
    try {
      const location = engine.tracksLocations ? engine.location(engine.callerOf(entry)) : 0;
      const input = op.inputs.indexOf(this.specs[index]!);
      const request = requestOf(engine, this.inherited);
      // The program's code may have disposed of it when its values were read.
      const of = this.pointerOf(like, this.values.indexOf(like));
      pointer = engine.castLike(widest, of, op.on(engine, entry), input, request, location);
    } finally {
      engine.releaseTensor(widest);
    }
    if (pointer === 0) throw new TandemError('ResourceExhausted', 'expected memory for a number, got none');
    this.made.push({ pointer, index, dtype: undefined });
    return pointer;
  }
}
