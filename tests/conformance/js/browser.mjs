// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The package in headless Chromium: a server for it and the runner, and a page that runs case files.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join, normalize } from 'node:path';

const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
const PAGE = '<!doctype html><title>conformance</title><link rel="icon" href="data:,">' +
  '<script type="module" src="/conformance/js/client.mjs"></script>';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Serves folders by the first part of the path, and the page at /. Isolated: with what SharedArrayBuffer needs. */
async function serve(folders, isIsolated) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const [, first, ...rest] = normalize(decodeURIComponent(pathname)).split('/');
    if (isIsolated) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    try {
      const body = pathname === '/' ? PAGE : await readFile(join(folders[first], ...rest));
      response.setHeader('Content-Type', pathname === '/' ? 'text/html' : TYPES[extname(pathname)] ?? 'text/plain');
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/**
 * { run(file, settings), close() } as in client.mjs.
 *
 * @param options { device, threads, worker, conformance: folder, package: folder, web: folder with playwright-core }
 */
export async function openBrowser(options) {
  const { chromium } = createRequire(join(options.web, 'package.json'))('playwright-core');
  const folders = { conformance: options.conformance, package: options.package };
  const server = await serve(folders, options.threads > 1);
  let browser;
  const close = async () => {
    await browser?.close();
    server.close();
  };
  try {
    const executablePath = process.env.TANDEM_CHROMIUM ?? '/usr/bin/chromium';
    browser = await chromium.launch({ executablePath, args: FLAGS });
    const page = await browser.newPage();
    page.on('pageerror', (error) => console.error(`page: ${error}`));
    page.on('crash', () => console.error('page: it crashed'));
    await page.goto(`http://127.0.0.1:${server.address().port}/${options.worker ? '?worker' : ''}`);
    await page.waitForFunction(() => 'conformance' in globalThis);
    const { device, threads } = options;
    await page.evaluate(async (arg) => (await globalThis.conformance).open(arg), { device, threads });
    return {
      run: (file, settings) =>
        page.evaluate(async (args) => (await globalThis.conformance).run(...args), [file, settings]),
      async close() {
        await page.evaluate(async () => (await globalThis.conformance).close());
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
