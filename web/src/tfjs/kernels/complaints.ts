// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What is wrong with the arguments of ops on sparse and ragged tensors and on strings, in TensorFlow.js's words, which
// programs and its specs look for. Asked once an op has failed; each returns if it finds nothing.

import { backend_util } from '@tensorflow/tfjs-core';
import { TandemError } from 'tandem-rt';

type Numbers = ArrayLike<number>;

function complain(text: string): never {
  throw new TandemError('InvalidArgument', text);
}

/** Of SparseFillEmptyRows; `rank` is how many indices an element has. */
export function ofEmptyRows(indices: Numbers, rank: number, denseShape: Numbers): void {
  const count = indices.length / Math.max(rank, 1);
  const rows = denseShape[0]!;
  if (rows === 0 && count > 0) complain(backend_util.getSparseFillEmptyRowsIndicesDenseShapeMismatch(count));
  for (let i = 0; i < count; ++i) {
    const row = indices[i * rank]!;
    if (row < 0) complain(backend_util.getSparseFillEmptyRowsNegativeIndexErrorMessage(i, row));
    if (row >= rows) complain(backend_util.getSparseFillEmptyRowsOutOfRangeIndexErrorMessage(i, row, rows));
  }
}

/** Of SparseReshape. */
export function ofSparseShapes(from: Numbers, to: Numbers): void {
  const input = Array.from(from);
  const output = Array.from(to);
  const size = input.reduce((product, each) => product * each, 1);
  let unknown = -1;
  output.forEach((each, i) => {
    if (each === -1) {
      if (unknown !== -1) complain(backend_util.getSparseReshapeMultipleNegativeOneOutputDimErrorMessage(unknown, i));
      unknown = i;
    } else if (each < 0) {
      complain(backend_util.getSparseReshapeNegativeOutputDimErrorMessage(i, each));
    }
  });
  const known = output.reduce((product, each) => product * (each === -1 ? 1 : each), 1);
  if (unknown !== -1) {
    if (known <= 0) complain(backend_util.getSparseReshapeEmptyTensorZeroOutputDimErrorMessage());
    if (size % known !== 0) {
      output[unknown] = 1;
      complain(backend_util.getSparseReshapeInputOutputMultipleErrorMessage(input, output));
    }
  } else if (known !== size) {
    complain(backend_util.getSparseReshapeInputOutputMismatchErrorMessage(input, output));
  }
}

/** Of SparseSegmentMean and SparseSegmentSum; `rows` is how many there are to choose from. */
export function ofSegments(indices: Numbers, ids: Numbers, rows: number): void {
  const count = indices.length;
  if (count === 0) return;
  const outRows = ids[count - 1]! + 1;
  if (outRows <= 0) complain(backend_util.getSparseSegmentReductionNegativeSegmentIdsErrorMessage());
  let begin = 0;
  for (let end = 1; end <= count; ++end) {
    const id = ids[begin]!;
    if (end < count && ids[end] === id) continue;
    if (end < count && id >= ids[end]!) {
      complain(backend_util.getSparseSegmentReductionNonIncreasingSegmentIdsErrorMessage());
    }
    if (id < 0 || id >= outRows) {
      complain(backend_util.getSparseSegmentReductionSegmentIdOutOfRangeErrorMessage(id, outRows));
    }
    for (let i = begin; i < end; ++i) {
      if (indices[i]! >= 0 && indices[i]! < rows) continue;
      complain(backend_util.getSparseSegmentReductionIndicesOutOfRangeErrorMessage(i, indices[i]!, rows));
    }
    begin = end;
  }
}

/** Of RaggedGather; `valuesShape` is that of the dense values. */
export function ofRaggedRows(nestedSplits: readonly Numbers[], valuesShape: readonly number[], indices: Numbers): void {
  if (valuesShape.length === 0) complain('params.rank must be nonzero');
  nestedSplits.forEach((splits, i) => {
    const values = i + 1 < nestedSplits.length ? nestedSplits[i + 1]!.length - 1 : valuesShape[0]!;
    if (splits.length === 0) complain('Ragged splits may not be empty');
    if (splits[0]! < 0) complain('Ragged splits must be non-negative');
    if (splits[splits.length - 1]! > values) complain('Ragged splits must not point past values');
    for (let j = 1; j < splits.length; ++j) {
      if (splits[j - 1]! > splits[j]!) complain('Ragged splits must be sorted in ascending order');
    }
  });
  const rows = nestedSplits[0]!.length - 1;
  Array.from(indices).forEach((index, i) => {
    if (index < 0 || index >= rows) complain(`indices[${i}] = ${index} is not in [0, ${rows})`);
  });
}

/** Of RaggedRange. */
export function ofRaggedRanges(
  shapes: Readonly<Record<'starts' | 'limits' | 'deltas', readonly number[]>>, starts: Numbers, limits: Numbers,
  deltas: Numbers,
): void {
  for (const [name, shape] of Object.entries(shapes)) {
    if (shape.length > 1) complain(`${name} must be a scalar or vector`);
  }
  const lengths = Object.values(shapes).filter((shape) => shape.length === 1).map((shape) => shape[0]);
  if (lengths.some((length) => length !== lengths[0])) complain('starts, limits, and deltas must have the same shape');
  const at = (list: Numbers, i: number): number => list[list.length === 1 ? 0 : i]!;
  for (let i = 0; i < (lengths[0] ?? 1); ++i) {
    const delta = at(deltas, i);
    if (delta === 0) complain('Requires delta != 0');
    const size = Math.ceil(Math.abs((at(limits, i) - at(starts, i)) / delta));
    if (size > 2 ** 31 - 1) complain(`Requires ((limit - start) / delta) <= ${2 ** 31 - 1}`);
  }
}

/** Of StringNGrams. */
export function ofSplits(splits: Numbers, size: number): void {
  if (splits.length === 0) return;
  if (splits[0] !== 0) complain(`First split value must be 0, got ${splits[0]}`);
  for (let i = 1; i < splits.length; ++i) {
    const fits = splits[i]! >= splits[i - 1]! && splits[i]! <= size;
    if (!fits) complain(`Invalid split value ${splits[i]}, must be in [${splits[i - 1]}, ${size}]`);
  }
  const last = splits[splits.length - 1]!;
  if (last !== size) complain(`Last split value must be data size. Expected ${size}, got ${last}`);
}
