// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// From navigation to the first result of a minimal page, in a fresh browser context, and what the page fetches.

import { build } from 'esbuild';
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const EXPECTED = [0.0024726, 0.9975274, 8.3e-7, 0.9999992];
// Bytes a second and the latency in ms, as the browser's own throttling takes them; undefined: as fast as it goes.
const NETWORKS = { local: undefined, '10 Mbit/s, 40 ms': { throughput: 1.25e6, latency: 40 } };

/** Bundles the pages of `libraries` below `folder`: <library>/index.html with what it may fetch beside it. */
export async function buildFirstPages(libraries, { folder, sources, tandemDist, tfjsDist, ortDist }) {
  const assets = { tandem: tandemDist, 'tfjs-wasm': tfjsDist, 'ort-web': ortDist };
  for (const library of libraries) {
    const to = join(folder, library);
    await mkdir(to, { recursive: true });
    for (const file of await readdir(assets[library])) {
      const worker = library === 'tandem' && file.endsWith('.js') && !file.startsWith('index');
      if (file.endsWith('.wasm') || worker) await copyFile(join(assets[library], file), join(to, file));
    }
    await build({
      entryPoints: [join(sources, 'first', `${library}.mjs`)],
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      alias: { 'tandem-rt': join(tandemDist, 'index.js') },
      outfile: join(to, 'main.js'),
      logLevel: 'error',
    });
    const icon = '<link rel="icon" href="data:,">';
    const html = `<!doctype html><meta charset="utf-8">${icon}<script type="module" src="main.js"></script>\n`;
    await writeFile(join(to, 'index.html'), html);
  }
}

async function visit(browser, server, library, network) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const failures = [];
  page.on('pageerror', (error) => failures.push(error));
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
  if (network) {
    const { throughput, latency } = network;
    const rates = { downloadThroughput: throughput, uploadThroughput: throughput };
    await devtools.send('Network.emulateNetworkConditions', { offline: false, latency, ...rates });
  }
  server.takeBytes();
  await page.goto(`${server.url}/first/${library}/`);
  await page.waitForFunction(() => window.first, undefined, { timeout: 60_000 }).catch((error) => {
    throw failures[0] ?? error;
  });
  const { at, values } = await page.evaluate(() => window.first);
  await context.close();
  const right = values.length === 4 && values.every((value, i) => Math.abs(value - EXPECTED[i]) < 1e-4);
  if (!right) throw new Error(`the first page of ${library} computed ${values}`);
  return { at, bytes: server.takeBytes() };
}

/** Visits the pages in turn. @returns rows { id, title, best, median (ms), bytes (gzip) }, each by library's name. */
export async function measureFirstResult(browser, server, libraries, { rounds }) {
  const rows = [];
  for (const [name, network] of Object.entries(NETWORKS)) {
    const times = Object.fromEntries(libraries.map((library) => [library, []]));
    const row = { id: `first ${name}`, title: `first result, network ${name}`, best: {}, median: {}, bytes: {} };
    for (let round = 0; round <= rounds; ++round) {
      for (const library of libraries) {
        const { at, bytes } = await visit(browser, server, library, network);
        if (round > 0) times[library].push(at);
        row.bytes[library] = bytes;
      }
    }
    for (const library of libraries) {
      times[library].sort((a, b) => a - b);
      row.best[library] = times[library][0];
      row.median[library] = times[library][rounds >> 1];
    }
    rows.push(row);
  }
  return rows;
}
