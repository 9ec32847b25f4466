// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the package does on pages where something is missing: its module, SIMD, threads, or what the site's policy
// allows.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { launchChromium } from './chromium.mjs';
import { dist, onPage, wasmFile } from './on_page.mjs';
import { contentSecurityPolicy } from './server.mjs';

const wasmType = 'application/wasm';

/** On the page: creates a runtime and computes, or says which TandemError it got instead; then tries a good module. */
async function tryRuntime({ add, createRuntime, TandemError }, { options, goodUrl }) {
  const compute = async (how) => {
    const rt = await createRuntime(how);
    const { capabilities } = rt;
    const values = Array.from(await add(rt.tensor([1, 2]), 1).data());
    await rt.dispose();
    return { values, capabilities };
  };
  const result = {};
  try {
    result.first = await compute(options);
  } catch (error) {
    result.error = { ours: error instanceof TandemError, code: error.code, message: error.message };
  }
  if (goodUrl) result.then = (await compute({ wasmUrl: goodUrl })).values;
  return result;
}

/** A module in which tandem_abi_version and tandem_js_version give `version`, at most 63, and which has a memory. */
function moduleOfVersion(version) {
  const name = (text) => [text.length, ...Buffer.from(text)];
  const section = (id, bytes) => [id, bytes.length, ...bytes];
  return Buffer.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 0, 1, 0x7f]), // one type: () -> i32
    ...section(3, [1, 0]), // one function of it
    ...section(5, [1, 0, 1]), // a memory of a page
    ...section(7, [3, ...name('memory'), 2, 0, ...name('tandem_abi_version'), 0, 0, ...name('tandem_js_version'), 0, 0]),
    ...section(10, [1, 4, 0, 0x41, version, 0x0b]), // it returns the constant
  ]);
}

describe('tandem-rt on a page where something is wrong', () => {
  let browser;
  let wasm;

  before(async () => {
    browser = await launchChromium();
    wasm = await readFile(wasmFile);
  });

  after(() => browser.close());

  /** What comes of a page on which the module is `file`; a good one is at another place. */
  function withModule(file, options) {
    const files = { '/dist/tandem.wasm': file, '/good.wasm': { type: wasmType, body: wasm } };
    return onPage(browser, { files }, tryRuntime, { options, goodUrl: '/good.wasm' });
  }

  function expectError({ error, first, then }, code, message) {
    expect(first).to.equal(undefined);
    expect(error).to.deep.equal({ ours: true, code, message: error.message });
    expect(error.message).to.match(message);
    expect(then, 'a runtime from a good module, afterwards').to.deep.equal([2, 3]);
  }

  it('a module that is missing is NotFound, which says where it was sought and how to say where it is', async () => {
    const result = await withModule({ status: 404, body: 'not found' });
    const text = /tandem\.wasm at http:\/\/127\.0\.0\.1:\d+\/dist\/tandem\.wasm, got status 404;.*wasmUrl/;
    expectError(result, 'NotFound', text);
  });

  it('a server that cannot be reached is Unavailable', async () => {
    const policy = contentSecurityPolicy.replace('connect-src \'self\'', 'connect-src *');
    const files = { '/good.wasm': { type: wasmType, body: wasm } };
    // Port 9 is one that browsers never connect to.
    const parameter = { options: { wasmUrl: 'http://127.0.0.1:9/tandem.wasm' }, goodUrl: '/good.wasm' };
    const result = await onPage(browser, { files, policy }, tryRuntime, parameter);
    expectError(result, 'Unavailable', /tandem\.wasm at .*wasmUrl/);
  });

  it('a module with the wrong MIME type is used', async () => {
    const { error, first } = await withModule({ type: 'text/plain', body: wasm });
    expect(error).to.equal(undefined);
    expect(first.values).to.deep.equal([2, 3]);
  });

  it('a page in its place, as servers of single-page apps give, is DataLoss', async () => {
    const result = await withModule({ type: 'text/html', body: '<!doctype html><title>app</title>' });
    expectError(result, 'DataLoss', /expected the complete tandem\.wasm .* got 33 bytes that are no valid module/);
  });

  it('a module that is truncated is DataLoss', async () => {
    const result = await withModule({ type: wasmType, body: wasm.subarray(0, wasm.length >> 1) });
    expectError(result, 'DataLoss', /expected the complete tandem\.wasm/);
  });

  it('an empty file is DataLoss', async () => {
    expectError(await withModule({ type: wasmType, body: '' }), 'DataLoss', /got 0 bytes/);
  });

  it('a module of another version is FailedPrecondition, which says both versions', async () => {
    const result = await withModule({ type: wasmType, body: moduleOfVersion(42) });
    expectError(result, 'FailedPrecondition', /expected the tandem\.wasm of this version .* got one of interface 42\.42/);
  });

  it('another program\'s module is FailedPrecondition', async () => {
    const result = await withModule({ type: wasmType, body: Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]) });
    expectError(result, 'FailedPrecondition', /got another module/);
  });

  it('the code of programs that is truncated is DataLoss, as it is no part of what a runtime needs', async () => {
    const code = await readFile(join(dist, 'tandem-programs.wasm'));
    const files = { '/dist/tandem-programs.wasm': { type: wasmType, body: code.subarray(0, code.length >> 1) } };
    const load = async ({ createRuntime }) => {
      const rt = await createRuntime({ threads: 1 });
      const { code, message } = await rt.engine.loadPrograms().catch((error) => error);
      return { code, message, value: await rt.scalar(2).item() };
    };
    const { code: got, message, value } = await onPage(browser, { files }, load);
    expect(message).to.match(/expected the complete tandem-programs\.wasm .* got \d+ bytes that are no valid module/);
    expect(got).to.equal('DataLoss');
    expect(value).to.equal(2);
  });

  it('a page that is not isolated has one thread, and its capabilities say why', async () => {
    for (const options of [undefined, { threads: 4 }]) {
      const { first } = await onPage(browser, { isolated: false }, tryRuntime, { options });
      expect(first.values).to.deep.equal([2, 3]);
      expect(first.capabilities).to.deep.include({ threads: 1, threadsAvailable: false, crossOriginIsolated: false });
      expect(first.capabilities.reasons.threads).to.match(/Cross-Origin-Opener-Policy.*Cross-Origin-Embedder-Policy/);
    }
  });

  it('an isolated page has threads without asking', async () => {
    const { first } = await onPage(browser, { isolated: true }, tryRuntime, {});
    expect(first.values).to.deep.equal([2, 3]);
    expect(first.capabilities).to.deep.include({ threadsAvailable: true, crossOriginIsolated: true });
    expect(first.capabilities.threads).to.be.at.least(1);
    expect(first.capabilities.reasons).to.not.have.property('threads');
  });

  it('a policy that forbids WebAssembly is an error that says what to allow', async () => {
    const policy = contentSecurityPolicy.replace(' \'wasm-unsafe-eval\'', '');
    const { error } = await onPage(browser, { policy }, tryRuntime, {});
    expect(error).to.deep.include({ ours: true });
    expect(error.message).to.match(/'wasm-unsafe-eval' in script-src/);
  });

  it('no SIMD is Unimplemented, which says which browsers have it', async () => {
    const oldBrowser = await launchChromium(['--js-flags=--no-enable-ssse3']);
    try {
      const { error } = await onPage(oldBrowser, {}, tryRuntime, {});
      expect(error).to.deep.include({ ours: true, code: 'Unimplemented' });
      expect(error.message).to.match(/WebAssembly SIMD.*Chrome/);
    } finally {
      await oldBrowser.close();
    }
  });
});
