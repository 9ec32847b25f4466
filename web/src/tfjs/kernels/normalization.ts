// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Normalization of images.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { kernel } from '../kernel.js';

interface BatchNormInputs {
  x: TensorInfo;
  mean: TensorInfo;
  variance: TensorInfo;
  offset?: TensorInfo;
  scale?: TensorInfo;
}

/** Statistics are one number for each channel, or of a shape that broadcasts to that of the images. */
export const FusedBatchNorm = /* @__PURE__ */ kernel<BatchNormInputs, { varianceEpsilon?: number }>(
  'FusedBatchNorm', (call) => {
    const { attrs, inputs: { mean, offset, scale, variance, x } } = call;
    const epsilon = attrs.varianceEpsilon ?? 0.001;
    const { runtime } = call;
    const given = [mean, variance, ...(offset ? [offset] : []), ...(scale ? [scale] : [])];
    const channels = x.shape.at(-1)!;
    if (x.shape.length === 4 && given.every(({ shape }) => shape.length === 1 && shape[0] === channels)) {
      const ones = scale ? call.tensor(scale) : call.passing(runtime.ones([channels]));
      const zeros = offset ? call.tensor(offset) : call.passing(runtime.zeros([channels]));
      const results = td.fusedBatchNorm(call.tensor(x), ones, zeros, call.tensor(mean), call.tensor(variance),
        { isTraining: false, epsilon });
      const { y, ...others } = results;
      for (const other of Object.values(others) as Tensor[]) other.dispose();
      return y;
    }
    const deviation = call.passing(td.rsqrt(call.passing(td.add(call.tensor(variance), epsilon))));
    const factor = scale ? call.passing(td.mul(deviation, call.tensor(scale))) : deviation;
    const centred = call.passing(td.sub(call.tensor(x), call.tensor(mean)));
    const product = td.mul(centred, factor);
    return offset ? td.add(call.passing(product), call.tensor(offset)) : product;
  });

interface LrnAttrs {
  depthRadius: number;
  bias: number;
  alpha: number;
  beta: number;
}

export const LRN = /* @__PURE__ */ kernel<{ x: TensorInfo }, LrnAttrs>('LRN', (call) => {
  const { attrs: { alpha, beta, bias, depthRadius }, inputs: { x } } = call;
  return td.lRN(call.floats(x), { depthRadius, bias, alpha, beta });
});

export const LRNGrad = /* @__PURE__ */ kernel<{ x: TensorInfo; y: TensorInfo; dy: TensorInfo }, LrnAttrs>(
  'LRNGrad', (call) => {
    const { attrs: { alpha, beta, bias, depthRadius }, inputs: { dy, x, y } } = call;
    return td.lRNGrad(call.tensor(dy), call.tensor(x), call.tensor(y), { depthRadius, bias, alpha, beta });
  });
