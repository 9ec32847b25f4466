// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tests of the example: that it learns, that its files are the native example's, and what it says to wrong input.
// usage: node test.mjs
//   TANDEM_DIGITS=FILE       the native example, if not where the preset release builds it
//   TANDEM_TOOL=FILE         the tool that runs programs, likewise
//   TANDEM_DIGITS_DATA=DIR   a folder in MNIST's format to compare on, besides drawn digits

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { createRuntime, loadSafetensors, saveSafetensors, softmax } from 'tandem-rt';

import { drawDigits } from 'digits-js/drawn-digits.js';
import { Network } from 'digits-js/network.js';
import { Pcg32 } from 'digits-js/pcg32.js';
import { picturesOf } from 'digits-js/predictions.js';
import {
  NATIVE_WEIGHTS,
  comparePredictions,
  digitFolders,
  formatIdx,
  hasNativeVulkan,
  predictNatively,
  runNative,
  runProgramNatively,
} from 'digits-js/testing.js';

const PROGRAM = fileURLToPath(new URL('./digits.js', import.meta.url));

let folder = '';
/** @type {Record<string, string>} */
let data = {};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'node-digits-'));
  data = await digitFolders(folder);
});
after(() => rm(folder, { recursive: true }));

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
// The package webgpu comes with what builds tandem-rt; Debian's Chromium brings a software adapter for it.
const WEBGPU_FOLDER = join(ROOT, 'web');
const SOFTWARE_ADAPTER = '/usr/lib/chromium/vk_swiftshader_icd.json';

/**
 * @param {readonly string[]} args
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
function run(...args) {
  return runIn({}, ...args);
}

/**
 * @param {import('node:child_process').SpawnOptionsWithoutStdio} options
 * @param {readonly string[]} args
 * @returns {ReturnType<typeof run>}
 */
function runIn(options, ...args) {
  const child = spawn(process.execPath, [PROGRAM, ...args], options);
  const outcome = { code: /** @type {number | null} */ (null), stdout: '', stderr: '' };
  child.stdout.on('data', (text) => (outcome.stdout += text));
  child.stderr.on('data', (text) => (outcome.stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...outcome, code }));
  });
}

/** @param {readonly string[]} args */
async function succeed(...args) {
  const { code, stdout, stderr } = await run(...args);
  assert.equal(code, 0, stderr);
  return stdout;
}

/**
 * In percent, from what either program prints at its end.
 * @param {string} output
 */
function accuracyOf(output) {
  const [, percent] = /test accuracy: ([\d.]+) % /.exec(output) ?? [];
  assert.ok(percent, `an accuracy in\n${output}`);
  return Number(percent);
}

/**
 * @param {readonly string[]} args
 * @param {RegExp} message
 */
async function fail(args, message) {
  // Drawing digits only to refuse the rest would take a second each time.
  const { code, stderr } = await run('--data', data.drawn, ...args);
  assert.equal(code, 1, `exit status of ${args.join(' ')}: ${stderr}`);
  assert.match(stderr, message);
  assert.equal(stderr.trimEnd().split('\n').length, 1, `one line, no stack, got ${stderr}`);
}

test('Pcg32 gives the numbers that its authors publish', () => {
  const random = new Pcg32(42, 54);
  const numbers = Array.from({ length: 6 }, () => random.next());
  assert.deepEqual(numbers, [0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b, 0xcbed606e]);
});

test('learns drawn digits, and its saved weights are as good, here and natively', async () => {
  const weights = join(folder, 'trained.safetensors');
  const again = join(folder, 'again.safetensors');
  const trained = await succeed('--epochs', '2', '--digits', '2000', '--save', weights);
  assert.ok(accuracyOf(trained) >= 90, trained);
  assert.equal(accuracyOf(await succeed('--load', weights)), accuracyOf(trained));
  const ours = join(folder, 'trained.csv');
  await succeed('--load', weights, '--data', data.drawn, '--predictions', ours);
  const expected = await predictNatively(weights, data.drawn, join(folder, 'native.csv'));
  comparePredictions(await readFile(ours, 'utf8'), expected);
  await runNative(['--load', weights, '--data', data.drawn, '--save', again]);
  assert.deepEqual(await readFile(again), await readFile(weights), 'natively loaded and saved, the file is the same');
});

test('reads natively trained weights as the native example does, and saves them as they were', async (t) => {
  const again = join(folder, 'kept.safetensors');
  const ours = join(folder, 'ours.csv');
  for (const [name, path] of Object.entries(data)) {
    const expected = await predictNatively(NATIVE_WEIGHTS, path, join(folder, 'expected.csv'));
    for (const threads of ['1', '2']) {
      const files = ['--load', NATIVE_WEIGHTS, '--data', path, '--predictions', ours, '--save', again];
      await succeed(...files, '--threads', threads);
      const { largest, correct, total } = comparePredictions(await readFile(ours, 'utf8'), expected);
      const apart = `probabilities at most ${largest.toExponential(1)} apart`;
      t.diagnostic(`${name}, threads: ${threads}: ${correct} of ${total} right; ${apart}`);
      assert.deepEqual(await readFile(again), await readFile(NATIVE_WEIGHTS));
    }
  }
});

test('reads them the same on WebGPU, and traces a reading', async (t) => {
  if (!existsSync(join(WEBGPU_FOLDER, 'node_modules/webgpu'))) return t.skip('the package webgpu is not in web');
  const software = existsSync(SOFTWARE_ADAPTER) ? { VK_ICD_FILENAMES: SOFTWARE_ADAPTER } : {};
  const options = { cwd: WEBGPU_FOLDER, env: { ...software, ...process.env } };
  const [ours, trace] = [join(folder, 'webgpu.csv'), join(folder, 'trace.json')];
  const files = ['--load', NATIVE_WEIGHTS, '--data', data.drawn, '--predictions', ours, '--trace', trace];
  const { code, stdout, stderr } = await runIn(options, '--device', 'webgpu', ...files);
  assert.equal(code, 0, stderr);
  const expected = await predictNatively(NATIVE_WEIGHTS, data.drawn, join(folder, 'expected.csv'));
  const { largest } = comparePredictions(await readFile(ours, 'utf8'), expected);
  t.diagnostic(`${stdout.trimEnd().split('\n').at(-2)}; probabilities at most ${largest.toExponential(1)} apart`);
  /** @type {{ traceEvents: { name: string, args?: { device?: string } }[] }} */
  const { traceEvents } = JSON.parse(await readFile(trace, 'utf8'));
  const onGpu = traceEvents.filter(({ args }) => args?.device === 'webgpu').map(({ name }) => name);
  assert.ok(onGpu.includes('tf.Conv2D') && onGpu.includes('tf.Softmax'), onGpu.join());
});

test('a recorded reading runs natively, on any device', async (t) => {
  const rt = await createRuntime({ device: 'cpu' });
  const network = await Network.load(rt, NATIVE_WEIGHTS);
  const file = (/** @type {string} */ name) => join(folder, `recorded.${name}`);
  const set = drawDigits(50, 7);
  const pictures = picturesOf(rt, set);
  const read = (/** @type {import('tandem-rt').Tensor} */ x) => rt.scope(() => softmax(network.forward(x)));
  // Of one picture: the program reads as many as there are.
  const one = picturesOf(rt, drawDigits(1, 1));
  const { program, weights } = await rt.record(read, { inputs: [one], maxInlineBytes: 1024 });
  await writeFile(file('tdp'), program.toBytes());
  await saveSafetensors(weights, { path: file('weights') });
  await saveSafetensors({ pictures }, { path: file('input.safetensors') });
  const expected = /** @type {Float32Array} */ (await read(pictures).data());
  const files = [file('tdp'), '--weights', file('weights'), '--input', file('input.safetensors')];
  for (const device of ['cpu', ...((await hasNativeVulkan()) ? ['vulkan'] : [])]) {
    await runProgramNatively([...files, '--output', file('output.safetensors'), '--device', device]);
    const output = await loadSafetensors(rt, file('output.safetensors'));
    const actual = await output.get('output0').data();
    const largest = Math.max(...expected.map((value, i) => Math.abs(value - Number(actual[i]))));
    assert.ok(actual.length === expected.length && largest <= 1e-5, `${device}: ${largest}`);
    t.diagnostic(`${device}: probabilities at most ${largest.toExponential(1)} apart`);
  }
  const likeliest = Array.from(set.labels, (_, i) => {
    const chances = expected.slice(10 * i, 10 * i + 10);
    return chances.indexOf(Math.max(...chances));
  });
  const correct = likeliest.filter((digit, i) => digit === set.labels[i]).length;
  assert.ok(correct >= 45, `${correct} of 50 right`);
  await rt.dispose();
});

test('says what is missing for WebGPU', async () => {
  const { code, stderr } = await runIn({ cwd: folder }, '--device', 'webgpu', '--load', NATIVE_WEIGHTS);
  assert.equal(code, 1);
  assert.match(stderr, /^digits: --device webgpu needs the npm package webgpu, .*: run npm install/);
});

test('draws the digits that the native example draws', async () => {
  const native = join(folder, 'native_drawn.csv');
  const ours = join(folder, 'our_drawn.csv');
  await runNative(['--load', NATIVE_WEIGHTS, '--predictions', native]);
  await succeed('--load', NATIVE_WEIGHTS, '--predictions', ours);
  const [expected, actual] = (await Promise.all([native, ours].map((path) => readFile(path, 'utf8')))).map((text) =>
    text.split('\n').map((line) => line.split(',').slice(0, 2)),
  );
  assert.deepEqual(actual.map(([label]) => label), expected.map(([label]) => label));
  // Pixels may differ by rounding, and a digit on the edge may then be read otherwise.
  const differing = actual.filter(([, predicted], i) => predicted !== expected[i][1]);
  assert.ok(differing.length <= 5, `${differing.length} read otherwise`);
});

test('says what is wrong with an option', async () => {
  await fail(['--frobnicate'], /^digits: Unknown option '--frobnicate'/);
  await fail(['somewhere'], /^digits: Unexpected argument 'somewhere'/);
  await fail(['--save'], /^digits: Option '--save <value>' argument missing/);
  await fail(['--model', 'huge'], /^digits: --model must be one of cnn, deep, perceptron, got 'huge'/);
  await fail(['--device', 'tpu'], /^digits: --device must be one of cpu, webgpu, got 'tpu'/);
  await fail(['--epochs', '0'], /^digits: --epochs must be a whole number from 1 to 10000, got '0'/);
  await fail(['--batch', '2.5'], /^digits: --batch must be a whole number from 1 to 65536, got '2.5'/);
  await fail(['--seed', '4294967296'], /^digits: --seed must be a whole number from 0 to 4294967295, got/);
  await fail(['--learning-rate', 'fast'], /^digits: --learning-rate must be a number above 0, got 'fast'/);
  await fail(['--layers', 'conv3:4'], /^digits: layers must end with a dense layer, got 'conv3:4'/);
  await fail(['--layers', 'conv33:4 dense:10'], /^digits: layers must be convK:C, pool or dense:N/);
  await fail(['--layers', 'dense:4 pool dense:10'], /^digits: layer 1 must not be a pool because a dense layer/);
  await fail(['--layers', 'pool pool pool pool pool dense:10'], /^digits: a picture must have at least 2x2 pixels/);
  await fail(['--layers', 'dense:16777216 dense:10'], /^digits: a layer must have at most 2\^24 weights, got 784 x/);
  await fail(['--layers', 'dense:3'], /^digits: the network must take pictures of 28x28 and .*, got 28x28 and 3$/m);
});

test('says what is wrong with a file of weights', async () => {
  const whole = await readFile(NATIVE_WEIGHTS);
  const path = join(folder, 'broken.safetensors');
  const headerEnd = 8 + Number(whole.readBigUInt64LE());
  const load = async (/** @type {Uint8Array} */ bytes, /** @type {RegExp} */ message) => {
    await writeFile(path, bytes);
    await fail(['--load', path], message);
  };
  const withHeader = (/** @type {(text: string) => string} */ change) => {
    const header = Buffer.from(change(whole.toString('utf8', 8, headerEnd)));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    return Buffer.concat([length, header, whole.subarray(headerEnd)]);
  };
  await fail(['--load', join(folder, 'nothing')], /nothing: expected a file, got none of this name$/m);
  await fail(['--load', folder], /: expected an ordinary file, got a folder$/m);
  await load(whole.subarray(0, 5), /: expected 8 bytes of header length, got 5$/m);
  await load(Buffer.alloc(64, 0xff), /: byte 0: expected a header of at most 100000000 bytes, got a length of 184467/);
  await load(whole.subarray(0, 100), /: byte 0: expected a header within the file of 100 bytes, got a length of/);
  await load(whole.subarray(0, whole.length - 4), /: expected data_offsets within the data of/);
  await load(Buffer.concat([whole, Buffer.from('x')]), /: expected the end of the file .* got 1 more bytes$/m);
  await load(withHeader(() => '{"a":'), /: tensor "a": byte 13: expected an object .*, got the end of the text$/m);
  await load(withHeader((text) => text.replace('"F32"', '"F8"')), /: expected a dtype of the format, .*, got "F8"$/m);
  await load(withHeader((text) => text.replace('"28"}', '"0"}')), /rows of .* must be in \[1, 4096\], got '0'$/m);
  await load(withHeader((text) => text.replace('"layers"', '"x"')), /must have 'layers' in its metadata, got none$/m);
  await load(withHeader((text) => text.replace('dense:64', 'dense:32')), /must be f32\[432,32\], got f32\[432,64\]$/m);
});

test('says what is wrong with a folder of digits', async () => {
  const path = join(folder, 'broken');
  const images = 't10k-images-idx3-ubyte';
  const labels = 't10k-labels-idx1-ubyte';
  const load = async (/** @type {string} */ name, /** @type {Uint8Array} */ bytes, /** @type {RegExp} */ message) => {
    await rm(path, { recursive: true, force: true });
    await cp(data.drawn, path, { recursive: true });
    await writeFile(join(path, name), bytes);
    await fail(['--load', NATIVE_WEIGHTS, '--data', path], message);
  };
  await fail(['--data', join(folder, 'nowhere')], /nowhere: expected a folder with MNIST's files, got no folder$/m);
  await mkdir(join(folder, 'empty'));
  await fail(['--data', join(folder, 'empty')], /: expected a file train-images-idx3-ubyte or .*\.gz, got neither$/m);
  await load(images, Buffer.from([1, 0, 8, 3]), /: expected 16 bytes of header, got 4 and the end of the file$/m);
  await load(images, Buffer.alloc(16, 1), /: byte 0: expected 0, as every IDX file starts, got 1$/m);
  await load(images, formatIdx([2, 28, 0], new Uint8Array()), /: byte 12: expected dimension 2 of at least 1, got 0$/m);
  await load(images, formatIdx([2, 28, 28], new Uint8Array(9)), /: byte 25: expected 1568 elements, got 9 and the end/);
  await load(images, formatIdx([1, 2, 2], new Uint8Array(5)), /: expected the end of the data .*, got more$/m);
  await load(images, formatIdx([1000, 2, 2], new Uint8Array(4000)), /: expected test images of 28x28 .*, got 2x2$/m);
  await load(images, Buffer.from([0x1f, 0x8b, 1, 2, 3, 4]), /: expected gzip data that can be unpacked, got: /);
  await load(labels, formatIdx([999], new Uint8Array(999)), /: byte 4: expected 1000 labels, .*, got 999$/m);
  await load(labels, formatIdx([1000], new Uint8Array(1000).fill(10)), /: byte 8: expected a label .*, got 10$/m);
});
