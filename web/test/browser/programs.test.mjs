// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs that are recorded on a page, and run natively: a network on WebGPU, on the CPU and by Vulkan; a training
// step in exact mode, by the CPU, to the same bits.
//   TANDEM_TOOL=FILE  the tool that runs programs, if not where the preset release builds it

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { createRuntime, loadSafetensors } from 'tandem-rt';
import { launchChromium, webgpuArguments } from './chromium.mjs';
import { onPage } from './on_page.mjs';

const tool = process.env.TANDEM_TOOL ??
  fileURLToPath(new URL('../../../build/release/native/tool/tandem', import.meta.url));
const runTool = async (...args) => (await promisify(execFile)(tool, args)).stdout;

/** On the page: records a network for pictures of digits, with weights that are made up. */
async function recordNetwork(tandem) {
  const { biasAdd, conv2d, createRuntime: create, matMul, maxPool, relu, reshape, saveSafetensors, softmax } = tandem;
  const rt = await create({ device: 'webgpu' });
  let state = 1;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647 - 0.5;
  const values = (...shape) => rt.tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b) }, random), shape);
  const [kernel, bias, weight] = [values(3, 3, 1, 8), values(8), values(14 * 14 * 8, 10)];
  const network = (x) => {
    const seen = relu(biasAdd(conv2d(reshape(x, [-1, 28, 28, 1]), kernel, [1, 1, 1, 1], 'SAME'), bias));
    return softmax(matMul(reshape(maxPool(seen, [1, 2, 2, 1], [1, 2, 2, 1], 'VALID'), [-1, 14 * 14 * 8]), weight));
  };
  const { program, weights } = await rt.record(network, { inputs: [values(1, 28 * 28)], maxInlineBytes: 1024 });
  const x = values(5, 28 * 28);
  const [y] = program.run('main', [x]);
  const files = {
    program: program.toBytes(),
    weights: await saveSafetensors(weights),
    input: await saveSafetensors({ x }),
    output: await saveSafetensors({ eager: network(x), replayed: y }),
  };
  const device = y.device;
  await rt.dispose();
  return { device, files: Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, Array.from(bytes)])) };
}

/** On the page: records a training step, of softmax regression with a hidden layer and momentum, and takes it often. */
async function recordTraining(tandem, steps) {
  const { add, createRuntime: create, matMul, mul, relu, reluGrad, saveSafetensors, softmax, sub } = tandem;
  const rt = await create({ device: 'cpu', exact: true });
  let state = 1;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647 - 0.5;
  const values = (...shape) => rt.tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b) }, random), shape);
  const step = (x, labels, w1, w2, v1, v2) => {
    const hidden = relu(matMul(x, w1));
    const gradient = sub(softmax(matMul(hidden, w2)), labels);
    const g2 = matMul(hidden, gradient, { transposeA: true });
    const g1 = matMul(x, reluGrad(matMul(gradient, w2, { transposeB: true }), hidden), { transposeA: true });
    const [n1, n2] = [add(mul(v1, 0.9), g1), add(mul(v2, 0.9), g2)];
    return [sub(w1, mul(n1, 0.01)), sub(w2, mul(n2, 0.01)), n1, n2];
  };
  const x = values(16, 9);
  const labels = rt.tensor(Array.from({ length: 16 }, (_, i) => [0, 1, 2].map((j) => Number(i % 3 === j))));
  const begin = [values(9, 12), values(12, 3), rt.zeros([9, 12]), rt.zeros([12, 3])];
  const { program } = await rt.record(step, { inputs: [x, labels, ...begin], name: 'step' });
  let trained = begin;
  for (let i = 0; i < steps; ++i) trained = step(x, labels, ...trained);
  const named = (tensors) => Object.fromEntries(tensors.map((tensor, i) => [`t${i}`, tensor]));
  const [input, output] = [
    await saveSafetensors(named([x, labels, ...begin])), await saveSafetensors(named(trained))];
  const text = program.toText();
  await rt.dispose();
  return { text, input: Array.from(input), output: Array.from(output) };
}

// The text of a program that has @step, with a function @train that calls it so many times.
function withTraining(text, steps) {
  const types = (count) => Array(count).fill('!corert.tensorhandle').join(', ');
  const names = ['x', 'labels', 'w1', 'w2', 'v1', 'v2'];
  const calls = Array.from({ length: steps }, (_, i) => {
    const state = i === 0 ? '%w1, %w2, %v1, %v2' : [0, 1, 2, 3].map((k) => `%s${i - 1}#${k}`).join(', ');
    return `  %s${i}:4 = tfrt.call @step(%x, %labels, ${state})`;
  });
  const results = [0, 1, 2, 3].map((k) => `%s${steps - 1}#${k}`).join(', ');
  return `${text}
func @train(${names.map((name) => `%${name}: !corert.tensorhandle`).join(', ')}) -> (${types(4)}) {
${calls.join('\n')}
  tfrt.return ${results} : ${types(4)}
}
`;
}

describe('programs that are recorded on a page', () => {
  let browser;
  let folder;
  before(async function () {
    // Whoever works on the package alone has not built it.
    if (!existsSync(tool)) this.skip();
    browser = await launchChromium(webgpuArguments);
    folder = await mkdtemp(join(tmpdir(), 'tandem-'));
  });
  after(async () => {
    await browser?.close();
    if (folder) await rm(folder, { recursive: true });
  });

  it('PR-4: run natively on any device', async () => {
    const { device, files } = await onPage(browser, {}, recordNetwork);
    expect(device).to.equal('webgpu');
    const file = (name) => join(folder, `${name}.safetensors`);
    for (const [name, bytes] of Object.entries(files)) await writeFile(file(name), Buffer.from(bytes));
    const rt = await createRuntime({ device: 'cpu' });
    const output = await loadSafetensors(rt, Buffer.from(files.output));
    const expected = await output.get('eager').data();
    const expectNear = (actual) => {
      expect(actual).to.have.length(expected.length);
      actual.forEach((value, i) => expect(value).to.be.closeTo(expected[i], 1e-5));
    };
    expectNear(await output.get('replayed').data());
    const hasVulkan = /^vulkan +there/m.test(await runTool('devices'));
    for (const target of hasVulkan ? ['cpu', 'vulkan'] : ['cpu']) {
      await runTool('run', file('program'), '--weights', file('weights'), '--input', file('input'),
        '--output', file('result'), '--device', target);
      const result = await loadSafetensors(rt, await readFile(file('result')));
      expectNear(await result.get('output0').data());
    }
    await rt.dispose();
  });

  it('PR-4: train natively for 100 steps to the same bits in exact mode', async () => {
    const steps = 100;
    const { text, input, output } = await onPage(browser, {}, recordTraining, steps);
    const [program, given, result] = ['train.mlir', 'given.safetensors', 'trained.safetensors'].map(
      (name) => join(folder, name));
    await writeFile(program, withTraining(text, steps));
    await writeFile(given, Buffer.from(input));
    await runTool('run', program, '--function', 'train', '--exact', '--input', given, '--output', result);
    const rt = await createRuntime({ device: 'cpu' });
    const [expected, before] = [
      await loadSafetensors(rt, Buffer.from(output)), await loadSafetensors(rt, Buffer.from(input))];
    const actual = await loadSafetensors(rt, await readFile(result));
    const bits = async (tensor) => new Uint32Array((await tensor.data()).slice().buffer);
    for (let i = 0; i < 4; ++i) {
      expect(await bits(actual.get(`output${i}`))).to.deep.equal(await bits(expected.get(`t${i}`)));
      expect(await bits(actual.get(`output${i}`))).to.not.deep.equal(await bits(before.get(`t${i + 2}`)));
    }
    await rt.dispose();
  });
});
