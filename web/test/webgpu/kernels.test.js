// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The module's second part has kernels of the CPU alone: what shaders compute does without it.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import {
  add, atan2, avgPool3d, avgPool3dGrad, cast, conv3d, cropAndResize, cumprod, cumsum, depthToSpace, dilation2d, expm1,
  floorMod, gatherNd, lowerBound, matrixDiag, matrixDiagPart, maxPool3d, maxPoolWithArgmax, mirrorPad, prod, reverse,
  scatterNd, spaceToBatchND, topK, where,
} from 'tandem-rt';
import { checkError, rejectionOf } from '../errors.js';
import { createRuntime, needGpu } from './device.js';

// By ops that first_kernels.txt does not name: a call, and what it gives.
const CALLS = {
  'tf.Atan2': [(rt) => atan2(rt.tensor([0, 0]), rt.tensor([1, 2])), [0, 0]],
  'tf.AvgPool3D': [(rt) => avgPool3d(cube(rt), 2, 2, 'VALID'), [[[[[4.5]]]]]],
  'tf.AvgPool3DGrad': [
    (rt) => avgPool3dGrad([1, 1, 1, 2, 1], rt.tensor([6], { shape: [1, 1, 1, 1, 1] }), [1, 1, 2], [1, 1, 2], 'VALID'),
    [[[[[3], [3]]]]],
  ],
  'tf.Conv3D': [(rt) => conv3d(cube(rt), rt.ones([2, 2, 2, 1, 1]), 1, 'VALID'), [[[[[36]]]]]],
  'tf.CropAndResize': [(rt) => cropAndResize(square(rt), [[0, 0, 1, 1]], [0], [1, 1]), [[[[2.5]]]]],
  'tf.Cumprod': [(rt) => cumprod(rt.tensor([1, 2, 3])), [1, 2, 6]],
  'tf.Cumsum': [(rt) => cumsum(rt.tensor([1, 2, 3])), [1, 3, 6]],
  'tf.DepthToSpace': [
    (rt) => depthToSpace(rt.tensor([1, 2, 3, 4], { shape: [1, 1, 1, 4] }), 2), [[[[1], [2]], [[3], [4]]]],
  ],
  'tf.Dilation2D': [
    (rt) => dilation2d(square(rt), rt.tensor([0, 0, 0, -3], { shape: [2, 2, 1] }), 1, [1, 1, 1, 1], 'VALID'), [[[[3]]]],
  ],
  'tf.Expm1': [(rt) => expm1(rt.tensor([0])), [0]],
  'tf.FloorMod': [(rt) => floorMod(rt.tensor([-1, 5]), rt.tensor([3, 3])), [2, 2]],
  'tf.GatherNd': [(rt) => gatherNd(rt.tensor([[1, 2], [3, 4]]), rt.tensor([[1, 0]], { dtype: 'i32' })), [3]],
  'tf.LowerBound': [(rt) => lowerBound(rt.tensor([[1, 3, 5]]), rt.tensor([[3, 9]])), [[1, 3]]],
  'tf.MatrixDiag': [(rt) => matrixDiag(rt.tensor([1, 2])), [[1, 0], [0, 2]]],
  'tf.MatrixDiagPart': [(rt) => matrixDiagPart(rt.tensor([[1, 2], [3, 4]])), [1, 4]],
  'tf.MaxPool3D': [(rt) => maxPool3d(cube(rt), 2, 2, 'VALID'), [[[[[8]]]]]],
  'tf.MaxPoolWithArgmax': [(rt) => maxPoolWithArgmax(square(rt), 2, 2, 'VALID').output, [[[[4]]]]],
  'tf.MirrorPad': [(rt) => mirrorPad(rt.tensor([1, 2, 3]), [[1, 1]], 'REFLECT'), [2, 1, 2, 3, 2]],
  'tf.Prod': [(rt) => prod(rt.tensor([2, 3, 4]), [0]), 24],
  'tf.ReverseV2': [(rt) => reverse(rt.tensor([1, 2, 3])), [3, 2, 1]],
  'tf.ScatterNd': [
    (rt) => scatterNd(rt.tensor([[2], [0]], { dtype: 'i32' }), rt.tensor([5, 7]), [3]), [7, 0, 5],
  ],
  'tf.SpaceToBatchND': [(rt) => spaceToBatchND(square(rt), [2, 1], [[0, 0], [0, 0]]), [[[[1], [2]]], [[[3], [4]]]]],
  'tf.TopKV2': [(rt) => topK(rt.tensor([1, 5, 3]), 2).values, [5, 3]],
  'tf.Where': [(rt) => cast(where(rt.tensor([false, true])), 'i32'), [[1]]],
};

const square = (rt) => rt.tensor([1, 2, 3, 4], { shape: [1, 2, 2, 1] });
const cube = (rt) => rt.tensor([1, 2, 3, 4, 5, 6, 7, 8], { shape: [1, 2, 2, 2, 1] });

describe('shaders without the second part of the module', () => {
  let rt;
  before(needGpu);
  before(async () => {
    // Nothing is found there, so that what needs it fails, also in Node, which would have it from the start.
    rt = await createRuntime({ kernelsUrl: new URL('../../dist/none.wasm', import.meta.url) });
  });
  after(() => rt?.dispose());

  it('is what they run in', async () => {
    const x = rt.tensor([1, 2], { dtype: 'f64' });
    checkError(await rejectionOf(add(x, x).data()), 'NotFound', /tandem-kernels\.wasm/);
  });

  for (const [op, [call, expected]] of Object.entries(CALLS)) {
    it(`compute ${op}`, async () => {
      const y = call(rt);
      expect(y.device).to.equal('webgpu');
      expect(await y.array()).to.deep.equal(expected);
    });
  }
});
