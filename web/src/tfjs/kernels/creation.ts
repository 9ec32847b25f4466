// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that make tensors of nothing but attributes, or of chance.

import { util } from '@tensorflow/tfjs-core';
import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';

import { toTandem } from '../dtypes.js';
import { kernel } from '../kernel.js';
import type { DataType } from '../kernel.js';

export const Fill = /* @__PURE__ */ kernel<object, { shape: number[]; value: number | string; dtype?: DataType }>(
  'Fill', (call) => {
    const { shape, value } = call.attrs;
    const dtype = call.attrs.dtype ?? util.inferDtype(value);
    if (dtype === 'bool') return call.runtime.fill(shape, Number(value) !== 0, 'bool');
    if (dtype === 'int32') return call.runtime.fill(shape, Math.trunc(Number(value)), 'i32');
    return call.runtime.fill(shape, value, toTandem(dtype));
  });

export const LinSpace = /* @__PURE__ */ kernel<object, { start: number; stop: number; num: number }>(
  'LinSpace', (call) => {
    const { num, start, stop } = call.attrs;
    return td.linSpace(call.runtime, Math.fround(start), Math.fround(stop), num);
  });

/** How long it is depends on its numbers. */
export const Range =
  /* @__PURE__ */ kernel<object, { start: number; stop: number; step: number; dtype: 'float32' | 'int32' }>(
    'Range', (call) => {
      const { dtype = 'float32', start, stop } = call.attrs;
      // A step that was not given goes the way it has to.
      const step = stop < start && call.attrs.step === 1 ? -1 : call.attrs.step;
      const own = toTandem(dtype);
      const count = Math.max(0, Math.ceil((stop - start) / step));
      if (!(count > 0)) return call.runtime.zeros([0], own);
      const { runtime } = call;
      const scalar = (value: number): td.Tensor => call.passing(runtime.scalar(own === 'i32' ? Math.trunc(value) : value, own));
      return td.range(runtime, scalar(start), scalar(stop), scalar(step));
    }, { onHost: true });

interface MultinomialAttrs {
  numSamples: number;
  seed: number;
  normalized: boolean;
}

/** Of probabilities, if they are normalized, else of their logarithms. */
export const Multinomial = /* @__PURE__ */ kernel<{ logits: TensorInfo }, MultinomialAttrs>('Multinomial', (call) => {
  const { attrs: { normalized, numSamples, seed }, inputs: { logits } } = call;
  const given = call.floats(logits);
  const unnormalized = normalized ? call.passing(td.log(given)) : given;
  // One that the program has not given is a fraction; 0 would be another one each time.
  const own = Number.isSafeInteger(seed) ? seed : Math.floor(seed * 2 ** 31);
  return td.multinomial(unnormalized, numSamples, { seed: own || 1, seed2: 0, outputDtype: 'i32' });
});
