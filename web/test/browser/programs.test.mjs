// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A program that is recorded on a page, on WebGPU, and run natively: on the CPU and by Vulkan.
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
});
