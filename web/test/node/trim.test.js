// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tandem-rt trim: packages with the ops of a list alone. test/browser/trim.test.mjs runs them on pages.

import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import * as whole from 'tandem-rt';

import {
  digitsWeights, downloadOf, entryOf, LIST_OF_TEN, runAdd, runCommand, runDigits, runTen, TrimmedPackages,
} from './trimmed.js';

const KB = 1000;

/** How many modules of relaxed SIMD a trimmed package has within its own. */
async function countRelaxed(output) {
  const module = await WebAssembly.compile(await readFile(join(output, 'dist/tandem.wasm')));
  return WebAssembly.Module.customSections(module, 'tandem.relaxed').length;
}

describe('tandem-rt trim', function () {
  this.timeout(300000);
  let packages;
  before(async () => {
    packages = await TrimmedPackages.create();
  });
  after(() => packages.remove());

  async function failureOf(...args) {
    try {
      await runCommand(...args);
    } catch (error) {
      return error.stderr;
    }
    throw new Error('expected a failure');
  }

  it('gives a package whose op runs, and whose other ops say how to include them', async () => {
    const output = await packages.trim('add', 'tf.AddV2 f32\n');
    const tandem = await import(entryOf(output));
    expect(await runAdd(tandem)).to.deep.equal([2, 4]);
    const rt = await tandem.createRuntime();
    const x = rt.tensor([1, 2]);
    expect(() => tandem.mul(x, x)).to.throw(tandem.TandemError, /op tf\.Mul was left out of this build .*tandem-rt trim/)
      .with.property('code', 'FailedPrecondition');
    const integers = rt.tensor([1, 2], { dtype: 'i32' });
    expect(() => tandem.add(integers, integers)).to.throw(/no kernel for dtype i32/)
      .with.property('code', 'Unimplemented');
    expect(() => tandem.add(x, rt.tensor([1, 2, 3]))).to.throw(/shapes must be broadcast compatible, got x: f32\[2\]/);
    await rt.dispose();
    expect((await stat(join(output, 'dist/types/index.d.ts'))).isFile()).to.equal(true);
    expect(await downloadOf(output, ['add', 'createRuntime'])).to.be.below(145 * KB);
    // Which is for products and exponentials alone.
    expect(await countRelaxed(output)).to.equal(0);
  });

  it('gives the same results as the whole package', async () => {
    const output = await packages.trim('ten', LIST_OF_TEN);
    expect(await runTen(await import(entryOf(output)))).to.deep.equal(await runTen(whole));
    const names = ['add', 'createRuntime', 'matMul', 'mul', 'realDiv', 'relu', 'reshape', 'softmax', 'sub', 'sum',
      'transpose'];
    expect(await downloadOf(output, names)).to.be.below(180 * KB);
    expect(await countRelaxed(output)).to.equal(1);
  });

  it('gives the digits example what it uses, and the same results', async () => {
    const weights = await digitsWeights();
    const expected = await runDigits(
      whole, await packages.importDigits('whole', import.meta.resolve('tandem-rt')), weights);
    const output = await packages.trim('digits', ['dtypes f32 i32', ...expected.ops].join('\n'));
    const trimmed = await runDigits(
      await import(entryOf(output)), await packages.importDigits('trimmed', entryOf(output)), weights);
    expect(trimmed).to.deep.equal(expected);
    expect(await downloadOf(output, ['createRuntime', 'loadSafetensors', 'softmax'])).to.be.below(230 * KB);
  });

  it('takes what usedOps gives, and keeps programs if it is asked to', async () => {
    const output = await packages.trim('used', JSON.stringify(['tf.AddV2', 'tf.Relu']), '--programs');
    const tandem = await import(entryOf(output));
    const rt = await tandem.createRuntime();
    const program = await rt.record((x) => tandem.relu(tandem.add(x, 1)), { inputs: [rt.tensor([-3, 1])] });
    expect(await program.result.array()).to.deep.equal([0, 2]);
    // Calls that wait for each other are one kernel from the start.
    const x = rt.tensor(Float32Array.from({ length: 1 << 20 }, (_, i) => i - 3));
    rt.trace.start();
    const sums = await rt.scope(() => tandem.relu(tandem.add(tandem.add(x, 1), x))).data();
    rt.trace.stop();
    expect(sums.subarray(0, 4)).to.deep.equal(Float32Array.of(0, 0, 0, 1));
    expect(rt.trace.json()).to.contain('"tandem.Fused(tf.AddV2, tf.AddV2, tf.Relu)"');
    await rt.dispose();
  });

  it('says what is wrong', async () => {
    const list = join(packages.folder, 'wrong');
    const failure = async (text) => {
      await writeFile(list, text);
      return failureOf('trim', list, '-o', join(packages.folder, 'none'));
    };
    expect(await failure('tf.AddV2\ntf.MatMull\n')).to.equal(`${list}:2: unknown op tf.MatMull, did you mean tf.MatMul\n`);
    expect(await failure('tf.AddV2 f33\n')).to.match(/:1: unknown dtype f33, did you mean/);
    expect(await failure('tf.AddV2\ntf.AddV2\n')).to.match(/:2: tf\.AddV2 is listed twice, first on line 1/);
    expect(await failure('{"tf.AddV2": 3}')).to.match(/:1: expected names of ops/);
    expect(await failure('[')).to.match(/:1: expected JSON/);
    expect(await failure('# none\n')).to.match(/:1: expected ops, got none/);
    expect(await failureOf('trim', join(packages.folder, 'missing'), '-o', packages.folder))
      .to.match(/missing: the list of ops cannot be/);
    expect(await failureOf('trim')).to.match(/usage: tandem-rt trim/);
    expect(await failureOf('trim', list, '--wrong')).to.match(/--wrong/);
  });
});
