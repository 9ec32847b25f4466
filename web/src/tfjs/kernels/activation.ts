// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Activations of fused kernels.

import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import type { Call } from '../kernel.js';

/** What TensorFlow.js calls them. */
export type Activation = 'linear' | 'relu' | 'prelu' | 'elu' | 'relu6' | 'leakyrelu' | 'sigmoid' | null | undefined;

const FUSED: Readonly<Record<string, readonly string[]>> = {
  linear: ['BiasAdd'], relu: ['BiasAdd', 'Relu'], relu6: ['BiasAdd', 'Relu6'], elu: ['BiasAdd', 'Elu'],
  leakyrelu: ['BiasAdd', 'LeakyRelu'], sigmoid: ['BiasAdd', 'Sigmoid'],
};

/** What an op does by itself after adding a bias, and the activation that is left to do. */
export function fusedOf(activation: Activation): { fusedOps: readonly string[]; rest: Activation } {
  const fusedOps = FUSED[activation ?? 'linear'];
  return fusedOps === undefined ? { fusedOps: FUSED['linear']!, rest: activation } : { fusedOps, rest: undefined };
}

/** The activation of a result that only this needs: the result itself if there is none. */
export function activated(
  call: Call<unknown, unknown>, result: Tensor, activation: Activation, slope: Tensor | undefined,
  alpha: number | undefined,
): Tensor {
  if (activation == null || activation === 'linear') return result;
  const x = call.passing(result);
  switch (activation) {
    case 'relu':
      return td.relu(x);
    case 'relu6':
      return td.relu6(x);
    case 'elu':
      return td.elu(x);
    case 'sigmoid':
      return td.sigmoid(x);
    case 'leakyrelu':
      return td.leakyRelu(x, alpha === undefined ? {} : { alpha });
    case 'prelu':
      if (slope === undefined) {
        throw new td.TandemError('InvalidArgument', 'expected preluActivationWeights for the activation prelu, got none');
      }
      return td.prelu(x, slope);
    default:
      throw new td.TandemError('InvalidArgument',
        `expected linear, relu, relu6, elu, prelu, leakyrelu or sigmoid as activation, got ${String(activation)}`);
  }
}
