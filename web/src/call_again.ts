// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls with options and values that are known from calls before.

import type { Inputs, TensorInput } from './call.js';
import { contexts } from './context.js';
import type { Context } from './context.js';
import { createScalar, isPlainNumber } from './create.js';
import { dtypeOfArray } from './dtypes.js';
import type { DType } from './dtypes.js';
import type { Engine, Handle } from './engine.js';
import type { Entry } from './errors.js';
import type { InputSpec, Op } from './op.js';
import type { Runtime } from './runtime.js';
import { isTensor, newTensor } from './tensor.js';
import type { Tensor } from './tensor.js';

/** More arguments go the long way. */
const MAX_ARGUMENTS = 64;
/** Of lists within lists. */
const MAX_DEPTH = 16;

/**
 * Calls an op with one result whose options and values are known from calls before; undefined if anything is otherwise.
 * What is wrong about a call is for the long way to say.
 */
export function callAgain(
  op: Op, entry: Entry, inputs: Inputs, options: object | undefined, runtime: Runtime | undefined,
): Tensor | undefined {
  const { engine } = op;
  const specs = op.inputs;
  if (engine === undefined || contexts.requests !== 0 || !engine.isPlain || inputs.length > specs.length) return undefined;
  const { recent, releases } = engine;
  const { changes } = recent;
  const attrs = recent.attrs(op, options);
  if (attrs === undefined) return undefined;
  let of = runtime;
  let inherited: Context | undefined;
  const pointers: Handle[] = [];
  for (let i = 0; i < inputs.length; ++i) {
    const value = inputs[i]!;
    if (isTensor(value)) {
      of ??= value.runtime;
      inherited ??= value.context;
      if (value.engine !== engine || specs[i]!.isVariadic) return undefined;
      pointers.push(value.ref.pointer);
    } else if (specs[i]!.isVariadic) {
      of = pushTensors(pointers, engine, value, of);
      inherited ??= contextIn(value as readonly unknown[]);
    } else {
      pointers.push(pointerOfValue(engine, op, i, value, inputs as readonly TensorInput[]));
    }
    if (pointers[pointers.length - 1] === 0) return undefined;
  }
  // Options and lists may have run code of the user's when they were read, which may even have disposed of arguments.
  if (recent.changes !== changes || engine.releases !== releases) return undefined;
  if (of?.engine !== engine || pointers.length > MAX_ARGUMENTS) return undefined;
  let { args } = engine;
  if (args.length === 0) args = engine.revive(entry);
  for (let i = 0; i < pointers.length; ++i) args[i] = pointers[i]!;
  return newTensor(of, engine, engine.call(op.pointer, pointers.length, entry, attrs), inherited);
}

// The arguments of an input that is a list of tensors; 0 as the last of them if it is anything else.
function pushTensors(
  pointers: Handle[], engine: Engine, list: unknown, runtime: Runtime | undefined,
): Runtime | undefined {
  let of = runtime;
  const count = Array.isArray(list) ? list.length : Infinity;
  if (!(count <= MAX_ARGUMENTS)) {
    pointers.push(0);
    return of;
  }
  for (let i = 0; i < count; ++i) {
    const tensor: unknown = (list as readonly unknown[])[i];
    const pointer = isTensor(tensor) && tensor.engine === engine ? tensor.ref.pointer : 0;
    pointers.push(pointer);
    if (pointer === 0) break;
    of ??= (tensor as Tensor).runtime;
  }
  return of;
}

// The first context of the tensors in a list.
function contextIn(list: readonly unknown[]): Context | undefined {
  return contexts.alive === 0 ? undefined : list.filter(isTensor).find((tensor) => tensor.context !== undefined)?.context;
}

// Whether an input is a list of tensors that may say what the element type of another is.
function decides(input: InputSpec, other: InputSpec): boolean {
  return input.isVariadic && (!other.isHost || input.type === other.type);
}

// The tensor of a number or a list, which is kept; 0 if there is none.
function pointerOfValue(
  engine: Engine, op: Op, index: number, value: unknown, inputs: readonly TensorInput[],
): Handle {
  const spec = op.inputs[index]!;
  const { recent } = engine;
  if (typeof value !== 'number' && !(spec.isHost && Array.isArray(value))) return 0;
  if (spec.dtype === undefined && op.inputs.some((its) => decides(its, spec))) return 0;
  const dtype = dtypeFor(spec, value as TensorInput, inputs, op.inputs);
  if (dtype === undefined) return 0;
  if (typeof value !== 'number') return recent.list(op, value as readonly unknown[], dtype);
  const known = recent.number(value, dtype);
  if (known !== 0 || recent.isFull(dtype) || !isPlainNumber(value, dtype)) return known;
  try {
    const pointer = createScalar(engine, value, dtype, { op: op.name, name: spec.name });
    return recent.keepValue(op, spec, value, dtype, pointer) ? pointer : 0;
  } catch {
    // It will fail again, and be told.
    return 0;
  }
}

/**
 * The element type that a value takes among the tensors and values of a call, each for the input of the same index
 * (TY-1): that of the tensors whose type is the same attribute; else what the definition says; else, for numbers and
 * empty lists, f32.
 * Undefined for its own, as of typed arrays and of what is no number, and while that of such a tensor is not known.
 */
export function dtypeFor(
  spec: InputSpec | undefined, value: TensorInput, values: readonly TensorInput[],
  specs: readonly (InputSpec | undefined)[],
): DType | undefined {
  if (spec === undefined || spec.isMixed) return undefined;
  if (spec.dtype !== undefined) return spec.dtype;
  if (typeof value === 'object' && dtypeOfArray(value) !== undefined) return undefined;
  let isPending = false;
  for (let i = 0; i < values.length; ++i) {
    const tensor = values[i];
    if (!isTensor(tensor) || specs[i]?.type !== spec.type) continue;
    const dtype = tensor.dtypeIfKnown();
    if (dtype !== undefined) return dtype;
    isPending = true;
  }
  const isEmpty = Array.isArray(value) && value.length === 0;
  if (isPending || !(isEmpty || typeof firstOf(value) === 'number')) return undefined;
  let dtype = spec.usual ?? (spec.isHost ? 'i32' : 'f32');
  if (dtype.startsWith('f')) return dtype;
  // All that share the type take what one of them needs. Lists in lists are integers, which are checked later.
  for (let i = 0; i < values.length && dtype !== 'f32'; ++i) {
    const other = values[i];
    if (specs[i]?.type !== spec.type) continue;
    if (!Array.isArray(other)) dtype = widened(dtype, other);
    else for (let j = 0, end = other.length; j < end && dtype !== 'f32'; ++j) dtype = widened(dtype, other[j]);
  }
  return dtype;
}

// The integer type, or what a number needs instead.
function widened(dtype: DType, value: unknown): DType {
  if (typeof value !== 'number' || (value | 0) === value) return dtype;
  if (!Number.isInteger(value)) return 'f32';
  return dtype === 'i32' ? 'i64' : dtype;
}

/** The first element of nested arrays, or what is in its place. */
export function firstOf(value: unknown): unknown {
  let at = value;
  // Deeper than any tensor is an array that contains itself.
  for (let depth = 0; depth < MAX_DEPTH && Array.isArray(at); ++depth) at = at[0] as unknown;
  return at;
}
