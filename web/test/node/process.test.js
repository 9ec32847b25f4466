// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The package in processes of their own: how they end, how they import it, and a wasm file that is not there.

import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { createRuntime, TandemError } from 'tandem-rt';
import { checkError, rejectionOf } from '../errors.js';
import { double, doubled } from '../program_calls.js';

const run = promisify(execFile);
const threads = Number(process.env.TANDEM_TEST_THREADS) || 1;
const web = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** What a module prints, run by Node; it must end by itself. */
async function output(code, flags = ['--input-type=module']) {
  const { stdout } = await run(process.execPath, [...flags, '--eval', code], { cwd: web, timeout: 60_000 });
  return stdout;
}

describe('a process of Node', () => {
  it('ends when nothing is pending, though the runtime lives', async () => {
    expect(await output(`
      import { createRuntime, add } from 'tandem-rt';
      const rt = await createRuntime({ threads: ${threads} });
      const x = rt.tensor([1]);
      console.log(await add(x, x).item());
    `)).to.equal('2\n');
  });

  it('has threads in a program that is given as text, too', async () => {
    expect(await output(`
      import { createRuntime } from 'tandem-rt';
      const rt = await createRuntime({ threads: 2 });
      console.log(rt.capabilities.threads);
    `)).to.equal('2\n');
  });

  it('ends not before what is pending has come', async () => {
    expect(await output(`
      import { createRuntime, matMul } from 'tandem-rt';
      createRuntime({ threads: ${threads} }).then((rt) => {
        const x = rt.fill([500, 500], 1);
        matMul(x, x).data().then((data) => console.log(data[0]));
      });
    `)).to.equal('500\n');
  });

  it('starts no threads for what it reads at once (AV-7)', async () => {
    expect(await output(`(async () => {
      const { createRuntime, fusedMatMul, softmax } = await import('tandem-rt');
      const rt = await createRuntime({ threads: 2 });
      const x = rt.fill([64, 784], 1);
      const w = rt.fill([784, 256], 1);
      const bias = rt.fill([256], 1);
      let started = 0;
      process.on('worker', () => ++started);
      const layer = () => softmax(fusedMatMul(x, w, [bias], { fusedOps: ['BiasAdd', 'Relu'] }));
      for (let i = 0; i < 100; ++i) layer().dataSync();
      await new Promise((resolve) => setTimeout(resolve, 50));
      console.log(rt.capabilities.threads, started);
    })()`, [])).to.equal('2 0\n');
  });

  it('has threads whatever the options of Node and V8', async () => {
    for (const flags of [['--max-old-space-size=1000'], ['--input-type=module', '--expose-gc'], ['--stack-trace-limit=5']]) {
      expect(await output(`import('tandem-rt').then(async ({ createRuntime }) => {
        const rt = await createRuntime({ threads: 2 });
        console.log(rt.capabilities.threads, rt.capabilities.reasons.threads);
        await rt.dispose();
      })`, flags), flags.join(' ')).to.equal('2 undefined\n');
    }
  });

  it('may require the package, where Node allows that of modules', async function () {
    const [major, minor] = process.versions.node.split('.').map(Number);
    if (major < 20 || (major === 20 && minor < 19)) this.skip();
    expect(await output(`
      const { createRuntime, add } = require('tandem-rt');
      createRuntime().then(async (rt) => console.log(await add(rt.tensor([1]), 1).array()));
    `, ['--input-type=commonjs', '--no-warnings'])).to.equal('[ 2 ]\n');
  });

  it('follows await in scopes and requests', async () => {
    expect(await output(`
      import { createRuntime, add } from 'tandem-rt';
      import { setTimeout } from 'node:timers/promises';
      const rt = await createRuntime();
      const x = rt.tensor([1]);
      let made;
      await rt.scope(async () => { await setTimeout(1); made = add(x, 1); await setTimeout(1); });
      const controller = new AbortController();
      let error;
      await rt.request({ signal: controller.signal }, async () => {
        await setTimeout(1);
        controller.abort(new Error('stop'));
        try { add(x, 1); } catch (e) { error = e; }
      }).catch(() => undefined);
      console.log(made.disposed, error.message);
    `)).to.equal('true stop\n');
  });
});

describe('a wasm file', () => {
  let folder;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tandem-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('that is missing is NotFound, with advice', async () => {
    const error = await rejectionOf(createRuntime({ wasmUrl: pathToFileURL(join(folder, 'none.wasm')) }));
    expect(error).to.be.instanceOf(TandemError);
    expect(error.code).to.equal('NotFound');
    expect(error.message).to.match(/none\.wasm.*ENOENT.*wasmUrl/);
  });

  it('that is cut off is DataLoss; put right, it works', async () => {
    const bytes = await readFile(join(web, 'dist/tandem.wasm'));
    const file = join(folder, 'tandem.wasm');
    await writeFile(file, bytes.subarray(0, bytes.length >> 1));
    const error = await rejectionOf(createRuntime({ wasmUrl: pathToFileURL(file).href }));
    expect(error).to.be.instanceOf(TandemError);
    expect(error.code).to.equal('DataLoss');
    await writeFile(file, bytes);
    for (const source of [{ wasmUrl: pathToFileURL(file) }, { wasmBinary: bytes },
      { wasmBinary: new Uint8Array(bytes).buffer }, { wasmModule: await WebAssembly.compile(bytes) }]) {
      const rt = await createRuntime(source);
      expect(await rt.scalar(3).item()).to.equal(3);
      await rt.dispose();
    }
  });

  it('of programs that is missing is NotFound, one that is cut off DataLoss; put right, it works', async () => {
    const wasmUrl = pathToFileURL(join(folder, 'copy.wasm'));
    const file = join(folder, 'copy-programs.wasm');
    await copyFile(join(web, 'dist/tandem.wasm'), fileURLToPath(wasmUrl));
    await copyFile(join(web, 'dist/tandem-fusion.wasm'), join(folder, 'copy-fusion.wasm'));
    const bytes = await readFile(join(web, 'dist/tandem-programs.wasm'));
    const rt = await createRuntime({ wasmUrl });
    checkError(await rejectionOf(rt.engine.loadPrograms()), 'NotFound',
      /tandem-programs\.wasm at .*copy-programs\.wasm.*ENOENT.*programsUrl/);
    await writeFile(file, bytes.subarray(0, bytes.length >> 1));
    checkError(await rejectionOf(rt.engine.loadPrograms()), 'DataLoss', /copy-programs\.wasm, got \d+ bytes/);
    await writeFile(file, bytes);
    await rt.engine.loadPrograms();
    expect(await double(rt, rt.scalar(7))).to.equal(doubled(7));
    await rt.dispose();
  });
});
