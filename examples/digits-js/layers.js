// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The layers of a network: forward and backward passes as op calls.

import {
  biasAdd,
  biasAddGrad,
  conv2d,
  conv2dBackpropFilter,
  conv2dBackpropInput,
  matMul,
  maxPool,
  maxPoolGrad,
  mul,
  relu,
  reluGrad,
  reshape,
  statelessRandomNormal,
} from 'tandem-rt';

import { InputError } from './input-error.js';

/** @typedef {import('tandem-rt').Runtime} Runtime */
/** @typedef {import('tandem-rt').Tensor} Tensor */

/**
 * A tensor that training changes.
 * @typedef {object} Parameter
 * @property {'weight' | 'bias'} name
 * @property {Tensor} value
 * @property {Tensor | undefined} gradient  of the loss, once `backward` has run; owned by the scope that ran it
 */

/**
 * @typedef {object} Layer
 * @property {Parameter[]} parameters
 * @property {number} forwardOps  how many ops `forward` calls
 * @property {(input: Tensor) => Tensor} forward  keeps what `backward` needs, without owning it
 * @property {(gradient: Tensor, wantsInputGradient: boolean) => Tensor | undefined} backward  takes the gradient of the
 *     loss by the last result of `forward`, and sets those of the parameters; gives the gradient by the input if that
 *     is wanted. To be called within the scope of that `forward`.
 */

/** Weights of a layer at most. */
const MAX_PARAMETERS = 2 ** 24;
/** Rows and columns of a filter at most. */
const MAX_KERNEL = 31;

/** @returns {never} */
function backwardBeforeForward() {
  throw new Error('backward must follow forward');
}

/**
 * What dense layers and convolutions have in common: weights, biases and perhaps a ReLU.
 * @abstract
 * @implements {Layer}
 */
class WeightedLayer {
  /** @type {[Parameter, Parameter]} */
  parameters;
  #hasRelu;
  /** @type {{ input: Tensor, output: Tensor } | undefined} */
  #last;

  /**
   * @param {Tensor} weight  taken over
   * @param {Tensor} bias  taken over
   * @param {boolean} hasRelu
   */
  constructor(weight, bias, hasRelu) {
    this.parameters = [
      { name: 'weight', value: weight, gradient: undefined },
      { name: 'bias', value: bias, gradient: undefined },
    ];
    this.#hasRelu = hasRelu;
  }

  get weight() {
    return this.parameters[0].value;
  }

  get forwardOps() {
    return this.multiplyOps + (this.#hasRelu ? 2 : 1);
  }

  /** @param {Tensor} input */
  forward(input) {
    const sums = biasAdd(this.multiply(input), this.parameters[1].value);
    const output = this.#hasRelu ? relu(sums) : sums;
    this.#last = { input, output };
    return output;
  }

  /**
   * @param {Tensor} gradient
   * @param {boolean} wantsInputGradient
   */
  backward(gradient, wantsInputGradient) {
    const { input, output } = this.#last ?? backwardBeforeForward();
    const beforeRelu = this.#hasRelu ? reluGrad(gradient, output) : gradient;
    this.parameters[0].gradient = this.weightGradient(input, beforeRelu);
    this.parameters[1].gradient = biasAddGrad(beforeRelu);
    return wantsInputGradient ? this.inputGradient(input, beforeRelu) : undefined;
  }

  /** Ops that `multiply` calls. @abstract @returns {number} */
  get multiplyOps() {
    throw new Error('abstract');
  }

  /** @abstract @param {Tensor} _input @returns {Tensor} */
  multiply(_input) {
    throw new Error('abstract');
  }

  /** @abstract @param {Tensor} _input @param {Tensor} _gradient @returns {Tensor} */
  weightGradient(_input, _gradient) {
    throw new Error('abstract');
  }

  /** @abstract @param {Tensor} _input @param {Tensor} _gradient @returns {Tensor} */
  inputGradient(_input, _gradient) {
    throw new Error('abstract');
  }
}

/** Of inputs of any shape [n, ...], taken as [n, inputs]. */
class Dense extends WeightedLayer {
  /** @param {Tensor} input */
  #flat(input) {
    return reshape(input, [-1, this.weight.shape[0]]);
  }

  /** @override */
  get multiplyOps() {
    return 2;
  }

  /** @override @param {Tensor} input */
  multiply(input) {
    return matMul(this.#flat(input), this.weight);
  }

  /** @override @param {Tensor} input @param {Tensor} gradient */
  weightGradient(input, gradient) {
    return matMul(this.#flat(input), gradient, { transposeA: true });
  }

  /** @override @param {Tensor} input @param {Tensor} gradient */
  inputGradient(input, gradient) {
    return reshape(matMul(gradient, this.weight, { transposeB: true }), input.shape);
  }
}

/** Filters over [n, rows, cols, channels], padded so that the picture keeps its size. */
class Convolution extends WeightedLayer {
  /** @override */
  get multiplyOps() {
    return 1;
  }

  /** @override @param {Tensor} input */
  multiply(input) {
    return conv2d(input, this.weight, [1, 1, 1, 1], 'SAME');
  }

  /** @override @param {Tensor} input @param {Tensor} gradient */
  weightGradient(input, gradient) {
    return conv2dBackpropFilter(input, this.weight.shape, gradient, [1, 1, 1, 1], 'SAME');
  }

  /** @override @param {Tensor} input @param {Tensor} gradient */
  inputGradient(input, gradient) {
    return conv2dBackpropInput(input.shape, this.weight, gradient, [1, 1, 1, 1], 'SAME');
  }
}

/**
 * The largest of each 2x2.
 * @implements {Layer}
 */
class Pool {
  /** @type {Parameter[]} */
  parameters = [];
  forwardOps = 1;
  /** @type {{ input: Tensor, output: Tensor } | undefined} */
  #last;

  /** @param {Tensor} input */
  forward(input) {
    const output = maxPool(input, [1, 2, 2, 1], [1, 2, 2, 1], 'VALID');
    this.#last = { input, output };
    return output;
  }

  /**
   * @param {Tensor} gradient
   * @param {boolean} wantsInputGradient
   */
  backward(gradient, wantsInputGradient) {
    if (!wantsInputGradient) return undefined;
    const { input, output } = this.#last ?? backwardBeforeForward();
    return maxPoolGrad(input, output, gradient, [1, 2, 2, 1], [1, 2, 2, 1], 'VALID');
  }
}

/** Builds layer after layer, keeping the shape between them. */
class LayerParser {
  #runtime;
  #seed;
  #shape;
  #index = 0;
  #isFlat = false;

  /**
   * @param {Runtime} runtime
   * @param {{ rows: number, cols: number, channels: number }} input
   * @param {number} seed
   */
  constructor(runtime, input, seed) {
    this.#runtime = runtime;
    this.#shape = { ...input };
    this.#seed = seed;
  }

  /**
   * @param {string} word
   * @param {boolean} isLast
   * @returns {Layer}
   */
  parse(word, isLast) {
    ++this.#index;
    if (word === 'pool') return this.#makePool();
    const [, kernel, filters] = /^conv([1-9]\d{0,8}):([1-9]\d{0,8})$/.exec(word) ?? [];
    if (Number(kernel) <= MAX_KERNEL) return this.#makeConvolution(Number(kernel), Number(filters));
    const [, sums] = /^dense:([1-9]\d{0,8})$/.exec(word) ?? [];
    if (sums !== undefined) return this.#makeDense(Number(sums), isLast);
    throw new InputError(`layers must be convK:C, pool or dense:N, such as conv3:16, got '${word}'`);
  }

  /** @param {string} what */
  #checkIsPicture(what) {
    if (!this.#isFlat) return;
    throw new InputError(`layer ${this.#index - 1} must not be ${what} because a dense layer comes before it`);
  }

  #makePool() {
    this.#checkIsPicture('a pool');
    const { rows, cols } = this.#shape;
    if (rows < 2 || cols < 2) {
      throw new InputError(
        `a picture must have at least 2x2 pixels to be pooled, got ${rows}x${cols} before layer ${this.#index - 1}`,
      );
    }
    this.#shape.rows = Math.floor(rows / 2);
    this.#shape.cols = Math.floor(cols / 2);
    return new Pool();
  }

  /**
   * @param {number} count
   * @param {boolean} isLast
   */
  #makeDense(count, isLast) {
    const inputs = this.#shape.rows * this.#shape.cols * this.#shape.channels;
    const weight = this.#drawWeights([inputs, count], inputs);
    this.#shape = { rows: 1, cols: 1, channels: count };
    this.#isFlat = true;
    return new Dense(weight, this.#runtime.zeros([count]), !isLast);
  }

  /**
   * @param {number} kernel
   * @param {number} count
   */
  #makeConvolution(kernel, count) {
    this.#checkIsPicture('a convolution');
    const { channels } = this.#shape;
    const weight = this.#drawWeights([kernel, kernel, channels, count], kernel * kernel * channels);
    this.#shape.channels = count;
    return new Convolution(weight, this.#runtime.zeros([count]), true);
  }

  /**
   * Drawn weights of `shape`, for sums of `inputs` products.
   * @param {readonly number[]} shape
   * @param {number} inputs
   */
  #drawWeights(shape, inputs) {
    const count = shape[shape.length - 1];
    const layer = this.#index - 1;
    if (inputs * count > MAX_PARAMETERS) {
      throw new InputError(`a layer must have at most 2^24 weights, got ${inputs} x ${count} in layer ${layer}`);
    }
    return this.#runtime.scope(() => {
      const key = this.#runtime.tensor([this.#seed | 0, layer], { dtype: 'i32' });
      return mul(statelessRandomNormal(this.#runtime, shape, key), Math.sqrt(2 / inputs));
    });
  }
}

/**
 * The layers that `text` describes, words separated by spaces:
 *   convK:C   a convolution with C filters of KxK, padded so that the picture keeps its size, and a ReLU
 *   pool      the largest of each 2x2, rounded down
 *   dense:N   N sums over all inputs, each with a weight of its own, and a ReLU unless it is the last layer
 * Parameters come from `seed`: weights from a normal distribution of variance 2 / inputs (K. He et al., "Delving Deep
 * into Rectifiers", 2015), biases zero. They are the caller's to dispose of. InputError for anything else, for a
 * picture too small to pool, and for layers of more than 2^24 parameters; a convolution or pool cannot follow a dense
 * layer.
 * @param {Runtime} runtime
 * @param {string} text
 * @param {{ rows: number, cols: number, channels: number }} input
 * @param {number} seed  an integer in [0, 2^32)
 * @returns {Layer[]}
 */
export function makeLayers(runtime, text, input, seed) {
  const words = text.split(' ').filter((word) => word !== '');
  if (!words.at(-1)?.startsWith('dense')) {
    throw new InputError(`layers must end with a dense layer, got '${text}'`);
  }
  const parser = new LayerParser(runtime, input, seed);
  return words.map((word, i) => parser.parse(word, i + 1 === words.length));
}
