// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the stranger's project computes, and what its builds hold.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';

/**
 * Expects what compute.js gives; a a^T - 11 = [[-6, 0], [0, 14]], 0.5 + 0.5, and 3 x + 1 by its own op.
 *
 * @param {object} options
 * @param {boolean} [options.threaded] whether there is to be more than one thread
 * @param {[number, number, number]} [options.fetched] how many WebAssembly files were fetched before more kernels were
 *   needed, after that, and after the code of programs was, which comes with that of fusion: by default a page's
 */
export function expectComputed(computed, { threaded = false, fetched = [1, 2, 4] } = {}) {
  expect(computed).to.be.an('object');
  expect(computed.values).to.deep.equal([0, 0, 0, 14]);
  expect(computed.error).to.deep.equal({
    name: 'TandemError',
    code: 'InvalidArgument',
    op: 'tf.MatMul',
    message: computed.error.message,
  });
  const text = '[tf.MatMul] inner dimensions must agree, got a: f32[2,2], b: f32[3,1]';
  expect(computed.error.message.slice(0, text.length)).to.equal(text);
  expect(computed.one).to.deep.equal([1]);
  if (threaded) expect(computed.threads).to.be.above(1);
  else expect(computed.threads).to.equal(1);
  expect(computed.wasmFiles).to.deep.equal(fetched);
  expect(computed.custom, 'DL3: an op of its own').to.deep.equal([[4, 7], [10, 13]]);
}

/** A page of no more than a tag, as the option `files` of `serve`. */
export function scriptPage(tag) {
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>app</title>${tag}</head></html>`;
  return { '/': { type: 'text/html', body } };
}

/** Expects that no file of a folder has the content of another. */
export async function expectNothingTwice(folder) {
  const seen = new Map();
  const twice = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const hash = createHash('sha256').update(await readFile(path)).digest('hex');
    if (seen.has(hash)) twice.push(`${seen.get(hash)} and ${path}`);
    seen.set(hash, path);
  }
  expect(twice).to.deep.equal([]);
}

/** The WebAssembly files in a folder, without the hashes that bundlers give them, sorted. */
export async function modulesIn(folder) {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.wasm'));
  const known = ['tandem-threads', 'tandem-webgpu', 'tandem'].flatMap(
    (name) => [`${name}-fusion`, `${name}-kernels`, `${name}-programs`, name]);
  return names.map((name) => known.find((its) => name.includes(its)) ?? name).sort();
}
