// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tandem-rt trim: packages with the ops of a list alone.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

const run = promisify(execFile);
const web = fileURLToPath(new URL('../..', import.meta.url));
const TEN = ['AddV2', 'MatMul', 'Mul', 'RealDiv', 'Relu', 'Reshape', 'Softmax', 'Sub', 'Sum', 'Transpose'];

const gzipOf = async (path) => gzipSync(await readFile(path), { level: 9 }).length;

describe('tandem-rt trim', function () {
  this.timeout(300000);
  let folder;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tandem-trim-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** The package with the ops of a list. */
  async function trim(name, list, ...options) {
    await writeFile(join(folder, `${name}.txt`), list);
    const output = join(folder, name);
    await run(process.execPath, [join(web, 'bin/tandem-rt.mjs'), 'trim', join(folder, `${name}.txt`), '-o', output,
      ...options]);
    return { output, package: await import(pathToFileURL(join(output, 'dist/index.node.js')).href) };
  }

  async function failureOf(...args) {
    try {
      await run(process.execPath, [join(web, 'bin/tandem-rt.mjs'), ...args]);
    } catch (error) {
      return error.stderr;
    }
    throw new Error('expected a failure');
  }

  it('gives a package whose op runs, and whose other ops say how to include them', async () => {
    const { output, package: tandem } = await trim('add', 'tf.AddV2 f32\n');
    const rt = await tandem.createRuntime();
    const x = rt.tensor([1, 2]);
    expect(await tandem.add(x, x).array()).to.deep.equal([2, 4]);
    expect(() => tandem.mul(x, x)).to.throw(tandem.TandemError, /op tf\.Mul was left out of this build .*tandem-rt trim/)
      .with.property('code', 'FailedPrecondition');
    const whole = rt.tensor([1, 2], { dtype: 'i32' });
    expect(() => tandem.add(whole, whole)).to.throw(/no kernel for dtype i32/).with.property('code', 'Unimplemented');
    await rt.dispose();
    expect(await gzipOf(join(output, 'dist/tandem.wasm'))).to.be.below(
      await gzipOf(join(web, 'dist/tandem.wasm')) * 0.6);
    expect((await stat(join(output, 'dist/types/index.d.ts'))).isFile()).to.equal(true);
  });

  it('gives the same results as the whole package', async () => {
    const { package: tandem } = await trim('ten', `dtypes f32\n${TEN.map((op) => `tf.${op}\n`).join('')}`);
    const compute = async ({ createRuntime, ...ops }) => {
      const rt = await createRuntime();
      const x = rt.tensor(Float32Array.from({ length: 64 * 48 }, (_, i) => Math.sin(i)), { shape: [64, 48] });
      const y = ops.softmax(ops.relu(ops.matMul(x, ops.transpose(x, [1, 0]))));
      const z = ops.reshape(ops.sub(ops.mul(y, 3), ops.realDiv(ops.sum(y, [0]), 7)), [32, 128]);
      const values = await ops.add(z, 1).data();
      await rt.dispose();
      return values;
    };
    expect(await compute(tandem)).to.deep.equal(await compute(await import('tandem-rt')));
  });

  it('takes what usedOps gives, and keeps programs if it is asked to', async () => {
    const { package: tandem } = await trim('used', JSON.stringify(['tf.AddV2', 'tf.Relu']), '--programs');
    const rt = await tandem.createRuntime();
    const program = await rt.record((x) => tandem.relu(tandem.add(x, 1)), { inputs: [rt.tensor([-3, 1])] });
    expect(await program.result.array()).to.deep.equal([0, 2]);
    await rt.dispose();
  });

  it('says what is wrong', async () => {
    const list = join(folder, 'wrong');
    const failure = async (text) => {
      await writeFile(list, text);
      return failureOf('trim', list, '-o', join(folder, 'none'));
    };
    expect(await failure('tf.AddV2\ntf.MatMull\n')).to.equal(`${list}:2: unknown op tf.MatMull, did you mean tf.MatMul\n`);
    expect(await failure('tf.AddV2 f33\n')).to.match(/:1: unknown dtype f33, did you mean/);
    expect(await failure('tf.AddV2\ntf.AddV2\n')).to.match(/:2: tf\.AddV2 is listed twice, first on line 1/);
    expect(await failure('{"tf.AddV2": 3}')).to.match(/:1: expected names of ops/);
    expect(await failure('[')).to.match(/:1: expected JSON/);
    expect(await failure('# none\n')).to.match(/:1: expected ops, got none/);
    expect(await failureOf('trim', join(folder, 'missing'), '-o', folder)).to.match(/missing: the list of ops cannot be/);
    expect(await failureOf('trim')).to.match(/usage: tandem-rt trim/);
    expect(await failureOf('trim', list, '--wrong')).to.match(/--wrong/);
  });
});
