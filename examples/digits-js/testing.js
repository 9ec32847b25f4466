// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the tests of both examples need: the native example to compare with, folders of digits, and the comparison.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { drawDigits } from './drawn-digits.js';

const runFile = promisify(execFile);

/** The native example: TANDEM_DIGITS, or where the preset `release` builds it. */
const NATIVE_DIGITS =
  process.env.TANDEM_DIGITS ?? fileURLToPath(new URL('../../build/release/examples/digits/digits', import.meta.url));

/** The tool that runs programs natively: TANDEM_TOOL, or where the preset `release` builds it. */
const NATIVE_TOOL =
  process.env.TANDEM_TOOL ?? fileURLToPath(new URL('../../build/release/native/tool/tandem', import.meta.url));

/** Weights that the native example trained. */
export const NATIVE_WEIGHTS = fileURLToPath(new URL('../web-digits/digits.safetensors', import.meta.url));

/**
 * Runs the native example and gives what it printed; throws if it fails.
 * @param {readonly string[]} args
 */
export async function runNative(args) {
  assert.ok(
    existsSync(NATIVE_DIGITS),
    `no native example at ${NATIVE_DIGITS}: run cmake --preset release and cmake --build --preset release --target ` +
      'digits, or set TANDEM_DIGITS',
  );
  return (await runFile(NATIVE_DIGITS, [...args])).stdout;
}

/**
 * Runs a program natively; throws with what was printed if it fails.
 * @param {readonly string[]} args  of `tandem run`
 */
export async function runProgramNatively(args) {
  assert.ok(
    existsSync(NATIVE_TOOL),
    `no tool at ${NATIVE_TOOL}: run cmake --preset release and cmake --build --preset release --target tandem_tool, ` +
      'or set TANDEM_TOOL',
  );
  await runFile(NATIVE_TOOL, ['run', ...args]);
}

/** Whether the tool finds a GPU. */
export async function hasNativeVulkan() {
  return /^vulkan +there/m.test((await runFile(NATIVE_TOOL, ['devices'])).stdout);
}

/**
 * A u8 IDX file.
 * @param {readonly number[]} dims
 * @param {Uint8Array} data
 */
export function formatIdx(dims, data) {
  const file = new Uint8Array(4 + 4 * dims.length + data.length);
  file.set([0, 0, 0x08, dims.length]);
  dims.forEach((dim, i) => new DataView(file.buffer).setUint32(4 + 4 * i, dim));
  file.set(data, 4 + 4 * dims.length);
  return file;
}

/**
 * Writes a folder of drawn digits, so that all programs read the very same ones.
 * @param {string} folder
 */
async function writeDrawnFolder(folder) {
  await mkdir(folder, { recursive: true });
  for (const [part, count, seed] of /** @type {const} */ ([['train', 10, 1], ['t10k', 1000, 2]])) {
    const set = drawDigits(count, seed);
    await writeFile(join(folder, `${part}-images-idx3-ubyte`), formatIdx([count, set.rows, set.cols], set.images));
    await writeFile(join(folder, `${part}-labels-idx1-ubyte`), formatIdx([count], set.labels));
  }
  return folder;
}

/**
 * The folders of digits to compare on: drawn ones, and those of TANDEM_DIGITS_DATA if that is set.
 * @param {string} temporary  a folder to write to
 * @returns {Promise<Record<string, string>>} by name
 */
export async function digitFolders(temporary) {
  const drawn = await writeDrawnFolder(join(temporary, 'drawn'));
  const data = process.env.TANDEM_DIGITS_DATA;
  return data ? { drawn, data } : { drawn };
}

/** @param {string} text  as formatPredictions and the native example write it */
function parsePredictions(text) {
  const [header, ...lines] = text.trimEnd().split('\n');
  assert.equal(header, 'label,predicted,p0,p1,p2,p3,p4,p5,p6,p7,p8,p9');
  return lines.map((line) => line.split(',').map(Number));
}

/**
 * The path of the native example's predictions, made now.
 * @param {string} weights
 * @param {string} data
 * @param {string} path
 */
export async function predictNatively(weights, data, path) {
  await runNative(['--load', weights, '--data', data, '--predictions', path]);
  return readFile(path, 'utf8');
}

/**
 * Fails unless both read the same digits, each in the same way, with probabilities no more than 1e-5 apart. Gives the
 * largest difference and how many were read rightly.
 * @param {string} actualText
 * @param {string} expectedText
 */
export function comparePredictions(actualText, expectedText) {
  const ours = parsePredictions(actualText);
  const theirs = parsePredictions(expectedText);
  assert.equal(ours.length, theirs.length, 'as many digits');
  let largest = 0;
  ours.forEach(([label, predicted, ...probabilities], i) => {
    const [theirLabel, theirPredicted, ...theirProbabilities] = theirs[i];
    assert.equal(label, theirLabel, `label of digit ${i}`);
    assert.equal(predicted, theirPredicted, `reading of digit ${i}, a ${label}`);
    probabilities.forEach((p, digit) => {
      const expected = theirProbabilities[digit];
      const difference = Math.abs(p - expected);
      assert.ok(difference <= 1e-5, `digit ${i}: probability of ${digit} is ${p}, expected ${expected}`);
      largest = Math.max(largest, difference);
    });
  });
  const correct = ours.filter(([label, predicted]) => label === predicted).length;
  return { largest, correct, total: ours.length };
}
