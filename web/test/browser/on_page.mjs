// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs one function of a test on a page that has the built package.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runPage } from './chromium.mjs';
import { serve } from './server.mjs';

/** The built package. */
export const dist = fileURLToPath(new URL('../../dist', import.meta.url));

/** The built module without threads. */
export const wasmFile = join(dist, 'tandem.wasm');

const html = '<!doctype html><html lang="en"><meta charset="utf-8"><title>test</title>' +
  '<script type="module" src="/script.js"></script></html>';

/**
 * Runs a function on a page, where /dist/ is the built package.
 * @param {import('playwright-core').Browser} browser
 * @param {Parameters<typeof serve>[0] & {timeout?: number}} options what to serve besides, and how long it may take at
 *   most in milliseconds, by default 60,000
 * @param {(tandem: object, parameter: unknown) => unknown} fn is sent as source, so it sees nothing but its arguments:
 *   the package's exports, and `parameter`, which is plain data. May return a promise; the result is plain data.
 * @returns {Promise<unknown>} what `fn` gave. Rejects as runPage does, and with the error that `fn` threw.
 */
export async function onPage(browser, { files, folders, timeout = 60_000, ...options }, fn, parameter = null) {
  const script = `import * as tandem from '/dist/index.js';
    const fn = ${fn};
    try {
      globalThis.report({ end: { result: await fn(tandem, ${JSON.stringify(parameter)}) } });
    } catch (error) {
      globalThis.report({ end: { thrown: error.stack ?? String(error) } });
    }`;
  const server = await serve({
    folders: { '/dist/': dist, ...folders },
    files: {
      '/': { type: 'text/html', body: html },
      '/script.js': { type: 'text/javascript', body: script },
      ...files,
    },
    ...options,
  });
  try {
    const { result, thrown } = await runPage(browser, `${server.url}/`, { timeout });
    if (thrown !== undefined) throw new Error(`on the page: ${thrown}`);
    return result;
  } finally {
    await server.close();
  }
}
