// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Adam: steps whose size follows from running means of each gradient and of its square.

import { add, mul, realDiv, sqrt, square, sub, zerosLike } from 'tandem-rt';

/** @typedef {import('tandem-rt').Runtime} Runtime */
/** @typedef {import('tandem-rt').Tensor} Tensor */
/** @typedef {import('./layers.js').Parameter} Parameter */

const GRADIENT_DECAY = 0.9;
const SQUARE_DECAY = 0.999;
const EPSILON = 1e-8;

/**
 * A share of the old mean, and of the new value what is missing to one.
 * @param {Tensor} mean
 * @param {number} decay
 * @param {Tensor} value
 */
function movedMean(mean, decay, value) {
  return add(mul(mean, decay), mul(value, 1 - decay));
}

/**
 * D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", 2015, with its constants: means decay by 0.9
 * and 0.999, and 1e-8 keeps the divisor from zero.
 */
export class Adam {
  #runtime;
  /** @type {{ gradient: Tensor, square: Tensor }[]} */
  #means = [];
  #steps = 0;

  /** @param {Runtime} runtime */
  constructor(runtime) {
    this.#runtime = runtime;
  }

  /**
   * One step for `parameters`, the same ones in the same order each time, each with its gradient. Temporary results
   * belong to the scope around the call; the new values and means do not.
   * @param {readonly Parameter[]} parameters
   * @param {number} learningRate
   */
  step(parameters, learningRate) {
    if (this.#means.length === 0) {
      this.#means = parameters.map(({ value }) => ({
        gradient: this.#runtime.keep(zerosLike(value)),
        square: this.#runtime.keep(zerosLike(value)),
      }));
    }
    ++this.#steps;
    // The means start at zero; this makes up for it.
    const gradientShare = 1 - GRADIENT_DECAY ** this.#steps;
    const squareShare = 1 - SQUARE_DECAY ** this.#steps;
    const rate = (learningRate * Math.sqrt(squareShare)) / gradientShare;
    const epsilon = EPSILON * Math.sqrt(squareShare);
    parameters.forEach((parameter, i) => {
      const { gradient, value } = parameter;
      if (gradient === undefined) throw new Error('a step must follow backward');
      const means = this.#means[i];
      means.square = this.#replace(means.square, movedMean(means.square, SQUARE_DECAY, square(gradient)));
      means.gradient = this.#replace(means.gradient, movedMean(means.gradient, GRADIENT_DECAY, gradient));
      const step = realDiv(mul(means.gradient, rate), add(sqrt(means.square), epsilon));
      parameter.value = this.#replace(value, sub(value, step));
      parameter.gradient = undefined;
    });
  }

  dispose() {
    for (const means of this.#means.splice(0)) {
      means.gradient.dispose();
      means.square.dispose();
    }
  }

  /**
   * Lets the old value go and has the new one outlive the scope.
   * @param {Tensor} before
   * @param {Tensor} after
   */
  #replace(before, after) {
    before.dispose();
    return this.#runtime.keep(after);
  }
}
