// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The command line of the example, checked.

import { parseArgs } from 'node:util';

import { InputError } from 'digits-js/input-error.js';

/** What --model means; see makeLayers for the words. */
const MODELS = Object.freeze({
  cnn: 'conv3:16 pool conv3:32 pool dense:128 dense:10',
  deep: 'conv3:32 conv3:32 pool conv3:64 conv3:64 pool dense:128 dense:10',
  perceptron: 'dense:128 dense:10',
});

export const USAGE = `Trains a network to read handwritten digits, every step an op call.
usage: node digits.js [options]

  --data DIR           folder with digits in MNIST's IDX format; default: digits drawn here
  --save FILE          file to write the weights to (safetensors)
  --load FILE          weights to test instead of training
  --predictions FILE   file to write what it reads in each test digit to (CSV)
  --trace FILE         file to write a trace to (Chrome trace JSON): of the training, or with --load of reading one
                       digit
  --model NAME         a convolutional network (cnn, the default), a deeper and slower one (deep), or a perceptron
  --layers TEXT        layers of your own, such as 'conv5:8 pool dense:10'
  --no-augment         train on the digits as they are, not turned, scaled and shifted
  --digits N           train on so many digits at most
  --batch N            digits a step (50)
  --epochs N           rounds over the digits (24)
  --learning-rate X    of Adam, at the start (0.002)
  --seed N             of weights, order and drawn digits (1)
  --device NAME        where ops run: on the CPU (cpu, the default), or on a GPU, if the npm package webgpu is there
                       (webgpu)
  --threads N          0: one per core (1)
  --help               this text
`;

const OPTIONS = /** @type {const} */ ({
  data: { type: 'string' },
  save: { type: 'string' },
  load: { type: 'string' },
  predictions: { type: 'string' },
  trace: { type: 'string' },
  model: { type: 'string', default: 'cnn' },
  layers: { type: 'string' },
  'no-augment': { type: 'boolean', default: false },
  digits: { type: 'string' },
  batch: { type: 'string', default: '50' },
  epochs: { type: 'string', default: '24' },
  'learning-rate': { type: 'string', default: '0.002' },
  seed: { type: 'string', default: '1' },
  device: { type: 'string', default: 'cpu' },
  threads: { type: 'string', default: '1' },
  help: { type: 'boolean', default: false },
});

/**
 * @typedef {object} Settings
 * @property {string | undefined} data
 * @property {string | undefined} save
 * @property {string | undefined} load
 * @property {string | undefined} predictions
 * @property {string | undefined} trace
 * @property {string} layers
 * @property {boolean} augment
 * @property {number} digits
 * @property {number} batch
 * @property {number} epochs
 * @property {number} learningRate
 * @property {number} seed
 * @property {'cpu' | 'webgpu'} device
 * @property {number} threads
 * @property {boolean} help
 */

/** @param {readonly string[]} args */
function parse(args) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new InputError(error instanceof Error ? error.message : String(error));
  }
}

/**
 * @param {string} name
 * @param {string} text
 * @param {number} low
 * @param {number} high
 */
function parseInteger(name, text, low, high) {
  if (/^\d{1,16}$/.test(text) && Number(text) >= low && Number(text) <= high) return Number(text);
  throw new InputError(`--${name} must be a whole number from ${low} to ${high}, got '${text}'`);
}

/** @param {string} text */
function parseRate(text) {
  const rate = text.trim() === '' ? NaN : Number(text);
  if (rate > 0 && rate < Infinity) return rate;
  throw new InputError(`--learning-rate must be a number above 0, got '${text}'`);
}

/** @param {string} text */
function parseDevice(text) {
  if (text === 'cpu' || text === 'webgpu') return text;
  throw new InputError(`--device must be one of cpu, webgpu, got '${text}'`);
}

/**
 * InputError for an option that does not exist, lacks its value or has one out of range.
 * @param {readonly string[]} args  without the program's name
 * @returns {Settings}
 */
export function parseOptions(args) {
  const { data, save, load, predictions, trace, model, layers, help, ...values } = parse(args);
  if (!Object.hasOwn(MODELS, model)) {
    throw new InputError(`--model must be one of ${Object.keys(MODELS).join(', ')}, got '${model}'`);
  }
  return {
    data,
    save,
    load,
    predictions,
    trace,
    layers: layers ?? MODELS[/** @type {keyof typeof MODELS} */ (model)],
    augment: !values['no-augment'],
    digits: values.digits === undefined ? Infinity : parseInteger('digits', values.digits, 1, Number.MAX_SAFE_INTEGER),
    batch: parseInteger('batch', values.batch, 1, 65536),
    epochs: parseInteger('epochs', values.epochs, 1, 10000),
    learningRate: parseRate(values['learning-rate']),
    seed: parseInteger('seed', values.seed, 0, 2 ** 32 - 1),
    device: parseDevice(values.device),
    threads: parseInteger('threads', values.threads, 0, 1024),
    help,
  };
}
