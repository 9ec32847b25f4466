// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What calls may leave out or write shorter than the definitions of ops have it, as in TensorFlow.js. Functions of ops
// use these, so that programs without such ops do not have them.

import { withOptions } from './call.js';
import type { TensorInput } from './call.js';
import { failure } from './errors.js';
import type { Entry } from './errors.js';
import { inferLayout } from './nested.js';
import type { Op } from './op.js';
import { isTensor } from './tensor.js';

/** Sizes of a window, or steps: one for all dimensions of the image, one for each of them, or one for each dimension. */
export type WindowSizes = number | readonly number[];

/** What is around an image: by a rule, so many elements at each of its sides, or [before, after] for each dimension. */
export type Padding = 'SAME' | 'VALID' | 'EXPLICIT' | 'same' | 'valid' | 'explicit' | number
  | readonly (readonly [number, number])[];

/**
 * All axes of an argument. FailedPrecondition while its shape is pending; none of what is no tensor, which the call that
 * they are for says.
 */
export function allAxes(x: TensorInput): number[] {
  let rank = 0;
  if (isTensor(x)) {
    ({ rank } = x);
  } else {
    try {
      rank = inferLayout(x).shape.length;
    } catch {
      // The call says why.
    }
  }
  return Array.from({ length: rank }, (_, axis) => axis);
}

// The rank of an argument; undefined while its shape is pending, and for what is none.
function rankOf(x: TensorInput): number | undefined {
  try {
    return allAxes(x).length;
  } catch {
    return undefined;
  }
}

/**
 * What an op is given for each dimension of `x`: a number is for the first one, and a list for the first ones; the others
 * get `rest`. As it is, what is no such list, and while the shape of `x` is pending.
 */
export function forAllDims(x: TensorInput, given: TensorInput, rest: number): TensorInput {
  try {
    if (typeof given !== 'number' && !Array.isArray(given)) return given;
    const list = typeof given === 'number' ? [given] : given as (number | bigint)[];
    const missing = (rankOf(x) ?? 0) - list.length;
    if (missing <= 0) return list as number[];
    const filler = typeof list[0] === 'bigint' ? BigInt(rest) : rest;
    return [...list, ...Array.from({ length: missing }, () => filler)] as number[];
  } catch {
    // A list that cannot be read: the call says why.
    return given;
  }
}

/** Options, in whose place a list may be given, which is their member `name`. */
export function listOr(options: object | undefined, name: string): object | undefined {
  try {
    return Array.isArray(options) ? { [name]: options } : options;
  } catch {
    // What cannot be read: the call says why.
    return options;
  }
}

/** The sizes of a slice that reaches to the end. */
export function restOf(begin: TensorInput): TensorInput {
  if (isTensor(begin)) return Array.from({ length: begin.size }, () => -1);
  try {
    return Array.from(Array.isArray(begin) || ArrayBuffer.isView(begin) ? (begin as number[]) : [begin], () => -1);
  } catch {
    // A list that cannot be read: the call says why.
    return begin;
  }
}

// Makes what is shorter in these attributes as long as the definition has it.
function writeOut(op: Op, all: Record<string, unknown>): void {
  const channelsFirst = typeof all['dataFormat'] === 'string' && all['dataFormat'].startsWith('NC');
  const dims = op.name.includes('3D') ? 3 : 2;
  const around = <T>(values: readonly T[], none: T): T[] => (
    channelsFirst ? [none, none, ...values] : [none, ...values, none]);
  for (const name of ['ksize', 'strides', 'dilations']) {
    const value = all[name];
    if (typeof value === 'number') all[name] = around(Array.from({ length: dims }, () => value), 1);
    else if (Array.isArray(value) && value.length === dims) all[name] = around(value as number[], 1);
  }
  const { padding } = all;
  if (typeof padding === 'string') all['padding'] = padding.toUpperCase();
  else if (op.attrs.has('explicitPaddings') && (typeof padding === 'number' || Array.isArray(padding))) {
    const sides = typeof padding === 'number'
      ? Array.from({ length: dims }, () => [padding, padding]) : padding as number[][];
    all['padding'] = 'EXPLICIT';
    all['explicitPaddings'] = (sides.length === dims ? around(sides, [0, 0]) : sides).flat();
  }
}

/** The attributes of an op with windows: as `withOptions`, with what is shorter written out. */
export function withWindows(op: Op, entry: Entry, options: object | undefined, required: object): object {
  const all = withOptions(op, entry, options, required) as Record<string, unknown>;
  try {
    writeOut(op, all);
  } catch (error) {
    throw failure(error, entry, op.name);
  }
  return all;
}
