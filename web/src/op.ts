// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the package knows of an op: its inputs and attributes, and where it is in an engine.

import { isDType } from './dtypes.js';
import type { DType } from './dtypes.js';
import type { Engine } from './engine.js';
import type { Entry } from './errors.js';

/** An input of an op. */
export interface InputSpec {
  readonly name: string;
  /** The type attribute that its element type is; inputs with the same one have the same element type. */
  readonly type: string;
  /** The element type, if it is the same in every call. */
  readonly dtype: DType | undefined;
  /** What numbers become where no tensor of the same type tells; undefined: i32 for a host input, else f32. */
  readonly usual: DType | undefined;
  /** Whether it is a list of tensors that may differ in type. */
  readonly isMixed: boolean;
  /** Whether it says where or how many (axes, shapes). */
  readonly isHost: boolean;
  /** Whether it is a list of tensors. */
  readonly isVariadic: boolean;
}

/** What kind of value an attribute has. */
export type AttrKind = 'bool' | 'int' | 'float' | 'string' | 'dtype' | 'shape' | 'tensor' | 'func' | 'any';

/** An attribute of an op. */
export interface AttrSpec {
  readonly name: string;
  readonly kind: AttrKind;
  readonly isList: boolean;
}

/** An op as the package knows it. Made by `defineOp`, or from the engine's own description of its ops. */
export class Op {
  /** The engine it was last called on, and what it is there. */
  engine: Engine | undefined = undefined;
  pointer = 0;
  private parsedInputs: readonly InputSpec[] | undefined = undefined;
  private parsedAttrs: ReadonlyMap<string, AttrSpec> | undefined = undefined;

  constructor(
    readonly name: string,
    private readonly inputsText: string,
    private readonly attrsText: string,
    /** Whether it is called by name: attributes keep their own names, and the engine is who judges them. */
    readonly keepsNames = false,
  ) {}

  get inputs(): readonly InputSpec[] {
    this.parsedInputs ??= parseInputs(this.inputsText);
    return this.parsedInputs;
  }

  /** By the name of the option. */
  get attrs(): ReadonlyMap<string, AttrSpec> {
    this.parsedAttrs ??= parseAttrs(this.attrsText, this.keepsNames);
    return this.parsedAttrs;
  }

  /** What it is on an engine. */
  on(engine: Engine, entry: Entry): number {
    if (this.engine !== engine) {
      this.pointer = engine.op(this, entry);
      this.engine = engine;
    }
    return this.pointer;
  }

  /** Forgets what it is on an engine. */
  forget(engine: Engine): void {
    if (this.engine === engine) this.engine = undefined;
  }
}

function words(text: string): string[] {
  return text === '' ? [] : text.split(' ');
}

function parseInputs(text: string): InputSpec[] {
  return words(text).map((word) => {
    const [, star, name, type, list, usual, mark] = /^(\*?)([^:]+):([^!=[]+)(\[\])?(?:=([^!]+))?(!?)$/.exec(word)!;
    return {
      name: name!, type: type!, dtype: isDType(type) ? type : undefined, usual: isDType(usual) ? usual : undefined,
      isMixed: list !== undefined, isHost: mark !== '', isVariadic: star !== '',
    };
  });
}

/** How options call an attribute: data_format is dataFormat, DstT is dstT, T is t. */
export function camelCase(name: string): string {
  const [first, ...others] = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase().split('_');
  return first! + others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function parseAttrs(text: string, keepsNames: boolean): Map<string, AttrSpec> {
  return new Map(words(text).map((word) => {
    const [, name, kind, list] = /^([^:]+):([a-z]+)(\[\])?$/.exec(word)!;
    return [keepsNames ? name! : camelCase(name!), { name: name!, kind: kind as AttrKind, isList: list !== undefined }];
  }));
}

/**
 * An op of the generated functions.
 *
 * @param inputs `name:type` for each input, separated by blanks. The type is a type attribute or an element type. `*`
 * before the name: a list of tensors, with `[]` behind the type of several types; `=i32` behind it: what numbers become
 * where no tensor of the same type tells; `!` at the end: says where or how many.
 * @param attrs `name:kind` for each attribute, `[]` behind it for a list.
 */
export function defineOp(name: string, inputs: string, attrs = ''): Op {
  return new Op(name, inputs, attrs);
}
