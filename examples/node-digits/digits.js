#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Trains a network to read handwritten digits, op by op, and shows how well it does.

import { TandemError, cast, gather, slice } from 'tandem-rt';

import { Augmentation } from 'digits-js/augmentation.js';
import { NUM_CLASSES } from 'digits-js/digit-set.js';
import { drawDigits } from 'digits-js/drawn-digits.js';
import { InputError } from 'digits-js/input-error.js';
import { Network } from 'digits-js/network.js';
import { Pcg32 } from 'digits-js/pcg32.js';
import { formatPredictions, picturesOf, predict, readPictures } from 'digits-js/predictions.js';

import { openRuntime } from './device.js';
import { readDigitFolder, writeWhole } from './files.js';
import { USAGE, parseOptions } from './options.js';
import { ProgressBar } from './progress-bar.js';
import { ConfusionTable, drawMisreads } from './report.js';
import { localeIsUtf8, terminalWidth } from './terminal.js';

/** @typedef {import('tandem-rt').Runtime} Runtime */
/** @typedef {import('digits-js/digit-set.js').DigitSet} DigitSet */
/** @typedef {import('./options.js').Settings} Settings */

/** @param {number} start  as performance.now() gave it */
function secondsSince(start) {
  return (performance.now() - start) / 1e3;
}

/**
 * `order` in another order.
 * @param {Int32Array} order
 * @param {Pcg32} random
 */
function shuffle(order, random) {
  for (let i = order.length; i > 1; --i) {
    const j = random.below(i);
    [order[i - 1], order[j]] = [order[j], order[i - 1]];
  }
}

/**
 * @param {Runtime} runtime
 * @param {Network} network
 * @param {DigitSet} set
 * @param {Settings} settings
 */
async function train(runtime, network, set, settings) {
  const pictures = picturesOf(runtime, set);
  const labels = runtime.scope(() => cast(runtime.tensor(set.labels, [set.count]), 'i32'));
  const count = Math.min(set.count, settings.digits);
  const batch = Math.min(settings.batch, count);
  const numBatches = Math.floor(count / batch);
  const order = Int32Array.from({ length: count }, (_, i) => i);
  const random = new Pcg32(settings.seed, 54);
  const augmentation = new Augmentation(runtime, network.rows, network.cols, settings.seed + 1);
  const start = performance.now();
  for (let epoch = 0; epoch < settings.epochs; ++epoch) {
    shuffle(order, random);
    const bar = new ProgressBar(`epoch ${epoch + 1}/${settings.epochs}`, count);
    let meanLoss = 0;
    for (let b = 0; b < numBatches; ++b) {
      // Smaller steps towards the end.
      const rate = settings.learningRate * (1 - (epoch + b / numBatches) / settings.epochs);
      const loss = runtime.scope(() => {
        const rows = runtime.tensor(order.slice(b * batch, (b + 1) * batch));
        const chosen = gather(pictures, rows, 0);
        const seen = settings.augment ? augmentation.apply(chosen) : chosen;
        return network.train(seen, gather(labels, rows, 0), rate);
      });
      meanLoss += (Number(await loss.item()) - meanLoss) / (b + 1);
      loss.dispose();
      bar.update(b + 1 === numBatches ? count : (b + 1) * batch, `loss ${meanLoss.toFixed(4)}`);
    }
  }
  const seconds = secondsSince(start);
  console.log(
    `trained ${count} digits x ${settings.epochs} epochs in ${seconds.toFixed(1)} s: ` +
      `${((count * settings.epochs) / seconds).toFixed(0)} digits/s`,
  );
  for (const tensor of [pictures, labels, augmentation]) tensor.dispose();
}

/**
 * @param {Runtime} runtime
 * @param {Network} network
 * @param {DigitSet} set
 * @param {string | undefined} predictionsPath
 */
async function evaluate(runtime, network, set, predictionsPath) {
  const start = performance.now();
  const predicted = await predict(runtime, network, set);
  const seconds = secondsSince(start);
  const table = new ConfusionTable();
  set.labels.forEach((label, i) => table.add(label, predicted.digits[i]));
  const misreads = Array.from(predicted.digits, (digit, index) => ({ index, predicted: digit })).filter(
    ({ index, predicted: digit }) => digit !== set.labels[index],
  );
  console.log(`\n${table}`);
  if (misreads.length > 0) {
    const shown = misreads.slice(0, 5);
    console.log(`${shown.length} of the ${misreads.length} misread ones:`);
    console.log(drawMisreads(set, shown, terminalWidth(), localeIsUtf8()));
  }
  console.log(
    `test accuracy: ${(100 * table.accuracy).toFixed(2)} % (${table.correct} of ${table.total}), ` +
      `${(set.count / seconds).toFixed(0)} digits/s`,
  );
  if (predictionsPath === undefined) return;
  await writeWhole(predictionsPath, formatPredictions(set, predicted));
  console.log(`wrote the predictions to ${predictionsPath}`);
}

/**
 * @param {Settings} settings
 * @returns {Promise<import('digits-js/digit-set.js').DigitFolder>}
 */
async function readOrDraw({ data, seed }) {
  if (data !== undefined) return readDigitFolder(data);
  return { train: drawDigits(8000, seed), test: drawDigits(1000, seed + 1_000_003) };
}

/**
 * @param {Runtime} runtime
 * @param {DigitSet} set
 * @param {Settings} settings
 */
async function loadOrCreate(runtime, { rows, cols }, settings) {
  const network =
    settings.load === undefined
      ? Network.create(runtime, settings.layers, rows, cols, settings.seed)
      : await Network.load(runtime, settings.load);
  if (network.rows !== rows || network.cols !== cols || network.numClasses !== NUM_CLASSES) {
    throw new InputError(
      `the network must take pictures of ${rows}x${cols} and give ${NUM_CLASSES} classes, ` +
        `got ${network.rows}x${network.cols} and ${network.numClasses}`,
    );
  }
  console.log(`${network.layers}: ${network.numParameters} parameters`);
  return network;
}

/**
 * @param {Runtime} runtime
 * @param {Network} network
 * @param {DigitSet} set
 * @param {Settings} settings
 */
async function trainTraced(runtime, network, set, settings) {
  if (settings.trace === undefined) return train(runtime, network, set, settings);
  runtime.trace.start();
  await train(runtime, network, set, settings);
  await writeTrace(runtime, settings.trace);
}

/**
 * Of reading one digit. It is read before, too: the first time pays for what later ones have at hand.
 * @param {Runtime} runtime
 * @param {Network} network
 * @param {DigitSet} set
 * @param {string} path
 */
async function traceReading(runtime, network, set, path) {
  const pictures = picturesOf(runtime, set);
  const picture = slice(pictures, [0, 0], [1, -1]);
  await readPictures(runtime, network, picture);
  runtime.trace.start();
  await readPictures(runtime, network, picture);
  await writeTrace(runtime, path);
  for (const tensor of [pictures, picture]) tensor.dispose();
}

/**
 * @param {Runtime} runtime
 * @param {string} path
 */
async function writeTrace(runtime, path) {
  runtime.trace.stop();
  await writeWhole(path, runtime.trace.json());
  console.log(`wrote the trace to ${path}`);
}

/** @param {Settings} settings */
async function run(settings) {
  const runtime = await openRuntime(settings);
  try {
    const digits = await readOrDraw(settings);
    console.log(
      `${settings.data ?? 'digits drawn from strokes'}: ${digits.train.count} digits to train on, ` +
        `${digits.test.count} to test on`,
    );
    const network = await loadOrCreate(runtime, digits.train, settings);
    if (settings.load === undefined) await trainTraced(runtime, network, digits.train, settings);
    else if (settings.trace !== undefined) await traceReading(runtime, network, digits.test, settings.trace);
    await evaluate(runtime, network, digits.test, settings.predictions);
    if (settings.save !== undefined) {
      await network.store(settings.save);
      console.log(`wrote the weights to ${settings.save}`);
    }
    network.dispose();
  } finally {
    await runtime.dispose();
  }
}

try {
  const settings = parseOptions(process.argv.slice(2));
  if (settings.help) console.log(USAGE);
  else await run(settings);
} catch (error) {
  if (!(error instanceof InputError || error instanceof TandemError)) throw error;
  console.error(`digits: ${error.message}`);
  process.exitCode = 1;
}
