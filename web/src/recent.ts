// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What calls were given lately besides tensors: attributes, lists such as axes, and numbers. The engine's objects for
// them are kept, since programs call the same ops with the same ones again and again, and making them costs more than
// the rest of a small op.

import type { DType } from './dtypes.js';
import type { Engine, Handle } from './engine.js';
import type { InputSpec, Op } from './op.js';

/** Of options and of lists, for each op. */
const MAX_KEPT = 4;
/** Elements of a list that is kept. */
const MAX_LENGTH = 16;
/** Of numbers of each dtype. */
const MAX_NUMBERS = 256;

interface KeptOptions {
  readonly names: readonly string[];
  readonly values: readonly unknown[];
  readonly pointer: Handle;
}

interface KeptList {
  readonly dtype: DType;
  readonly values: readonly unknown[];
  readonly pointer: Handle;
}

interface OfOp {
  readonly options: KeptOptions[];
  readonly lists: KeptList[];
  // Which one the next takes the place of.
  nextOptions: number;
  nextList: number;
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' && typeof value !== 'function';
}

function isPlainList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length <= MAX_LENGTH && value.every(isPlain);
}

// Whether a list is the same as one that was kept, which has plain elements only.
function isSameList(kept: readonly unknown[], list: readonly unknown[]): boolean {
  if (kept.length !== list.length) return false;
  for (let i = 0; i < kept.length; ++i) {
    if (!Object.is(kept[i], list[i])) return false;
  }
  return true;
}

function isSameOptions({ names, values }: KeptOptions, keys: readonly string[], options: object): boolean {
  if (names.length !== keys.length) return false;
  for (let i = 0; i < names.length; ++i) {
    if (names[i] !== keys[i]) return false;
    const value = (options as Record<string, unknown>)[names[i]!];
    const kept = values[i];
    if (Array.isArray(kept) ? !Array.isArray(value) || !isSameList(kept, value) : !Object.is(kept, value)) return false;
  }
  return true;
}

/**
 * The engine's objects for what calls were given lately. One for each engine, with which it ends. What it gives is its
 * own, and may be released by the next `keep…`: `changes` tells whether something has been.
 */
export class Recent {
  /** How often something was released. */
  changes = 0;
  private readonly ops = new Map<Op, OfOp>();
  private readonly numbers = new Map<DType, Map<number, number>>();

  constructor(private readonly engine: Engine) {}

  /** The attributes that options like these are; 0 for none, undefined if there are none like them. */
  attrs(op: Op, options: object | undefined): number | undefined {
    if (options === undefined) return 0;
    if (typeof options !== 'object' || options === null) return undefined;
    const keys = Object.keys(options);
    if (keys.length === 0) return 0;
    const kept = this.ops.get(op)?.options;
    if (kept === undefined) return undefined;
    for (let i = 0; i < kept.length; ++i) {
      if (isSameOptions(kept[i]!, keys, options)) return kept[i]!.pointer;
    }
    return undefined;
  }

  /** Takes the attributes that these options are, unless they are too many or too large; says whether it did. */
  keepAttrs(op: Op, options: object, pointer: number): boolean {
    const names = Object.keys(options);
    const values = Object.values(options) as unknown[];
    if (names.length > MAX_LENGTH || !values.every((value) => isPlain(value) || isPlainList(value))) return false;
    const own = values.map((value) => Array.isArray(value) ? value.slice() as unknown[] : value);
    const of = this.ofOp(op);
    const old = of.options[of.nextOptions];
    of.options[of.nextOptions] = { names, values: own, pointer };
    of.nextOptions = (of.nextOptions + 1) % MAX_KEPT;
    if (old !== undefined) {
      ++this.changes;
      this.engine.releaseAttrs(old.pointer);
    }
    return true;
  }

  /** The tensor of a list like this for an input that says where or how many; 0 if there is none. */
  list(op: Op, list: readonly unknown[], dtype: DType): number {
    const kept = this.ops.get(op)?.lists;
    if (kept === undefined) return 0;
    for (let i = 0; i < kept.length; ++i) {
      const { dtype: its, pointer, values } = kept[i]!;
      if (its === dtype && isSameList(values, list)) return pointer;
    }
    return 0;
  }

  /** The tensor of a number; 0 if there is none. */
  number(value: number, dtype: DType): number {
    return value === 0 && !Object.is(value, 0) ? 0 : this.numbers.get(dtype)?.get(value) ?? 0;
  }

  /** Takes the tensor of a value that an op was given, unless it is none to keep; says whether it did. */
  keepValue(op: Op, spec: InputSpec | undefined, value: unknown, dtype: DType, pointer: number): boolean {
    if (spec === undefined || spec.isVariadic) return false;
    if (typeof value === 'number') return this.keepNumber(value, dtype, pointer);
    if (!spec.isHost || !isPlainList(value) || this.list(op, value, dtype) !== 0) return false;
    const of = this.ofOp(op);
    const old = of.lists[of.nextList];
    of.lists[of.nextList] = { dtype, values: value.slice(), pointer };
    of.nextList = (of.nextList + 1) % MAX_KEPT;
    if (old !== undefined) this.release(old.pointer);
    return true;
  }

  /** Whether the next number of a dtype has all those before it released. */
  isFull(dtype: DType): boolean {
    return (this.numbers.get(dtype)?.size ?? 0) >= MAX_NUMBERS;
  }

  private keepNumber(value: number, dtype: DType, pointer: number): boolean {
    let kept = this.numbers.get(dtype);
    if (kept === undefined) {
      kept = new Map();
      this.numbers.set(dtype, kept);
    }
    if (Object.is(value, -0) || kept.has(value)) return false;
    if (kept.size >= MAX_NUMBERS) {
      for (const old of kept.values()) this.release(old);
      kept.clear();
    }
    kept.set(value, pointer);
    return true;
  }

  private ofOp(op: Op): OfOp {
    let of = this.ops.get(op);
    if (of === undefined) {
      of = { options: [], lists: [], nextOptions: 0, nextList: 0 };
      this.ops.set(op, of);
    }
    return of;
  }

  private release(tensor: number): void {
    ++this.changes;
    this.engine.releaseTensor(tensor);
  }
}
