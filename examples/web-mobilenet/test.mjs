// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tests of the page in Chromium, built by Vite, with a small picture and few steps: all backends give the same results,
// training lowers the loss, and what is not there is said. Writes screenshots to build/web-mobilenet of the repository.
// usage: node test.mjs
//   TANDEM_CHROMIUM=FILE     the browser, /usr/bin/chromium by default

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

import { WEBGPU_FLAGS, expectFits, expectNamed, launch, watch } from 'web-common/browser.js';
import { serve } from 'web-common/serve.js';

/** @typedef {import('playwright-core').Page} Page */

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const SCREENSHOTS = join(ROOT, '../../build/web-mobilenet');
const LIGHT = '?size=64&rounds=2&steps=12';

/** @type {Awaited<ReturnType<typeof serve>>} */
let server;
/** @type {import('playwright-core').Browser} */
let browser;

before(async () => {
  await mkdir(SCREENSHOTS, { recursive: true });
  await build({ root: ROOT, logLevel: 'error', build: { reportCompressedSize: false } });
  server = await serve({ page: join(ROOT, 'dist') }, true);
  browser = await launch('--disable-gpu');
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** @param {Page} page */
async function measure(page) {
  await page.locator('#start').click();
  await page.waitForFunction(() => /^(Done|Failed)/.test(document.getElementById('status')?.textContent ?? ''), null,
    { timeout: 240_000 });
  assert.equal(await page.locator('#problem').isVisible(), false);
}

/** The cells of each row, by backend. @param {Page} page */
function table(page) {
  return page.locator('#times tbody tr').evaluateAll((rows) => Object.fromEntries(rows.map((row) => (
    [row.dataset.backend, [...row.querySelectorAll('td')].map((cell) => cell.textContent ?? '')]))));
}

/** How the losses fall: the last points of each line are below the first one. @param {Page} page */
async function expectLearned(page) {
  await page.waitForTimeout(100);
  const lines = await page.locator('#losses polyline').evaluateAll((all) => all.map((line) => (
    (line.getAttribute('points') ?? '').split(' ').map((point) => Number(point.split(',')[1])))));
  assert.ok(lines.length > 0);
  // Down in the picture is more.
  for (const heights of lines) assert.ok(heights.length === 12 && heights[11] > heights[0], heights.join());
}

test('measures the backends of the CPU, which give the same results', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const problems = watch(page);
  await page.goto(`${server.url}/page/${LIGHT}`);
  await page.locator('input[name="tandem-webgpu"]').uncheck();
  await page.locator('input[name="webgpu"]').uncheck();
  await measure(page);
  const rows = await table(page);
  assert.deepEqual(Object.keys(rows), ['tandem', 'wasm']);
  for (const [name, [first, median, dense, conv, apart]] of Object.entries(rows)) {
    for (const time of [first, median, dense]) assert.match(time, /^[\d.]+$/);
    // TensorFlow.js's own cannot, for want of a kernel.
    assert.match(conv, name === 'tandem' ? /^[\d.]+$/ : /^(cannot|[\d.]+)$/);
    assert.ok(Number(apart) < 1e-4, `${name}: ${apart}`);
  }
  assert.equal(rows.tandem[4], '0');
  assert.notEqual(rows.wasm[4], '0');
  await expectLearned(page);
  await expectNamed(page);
  await page.screenshot({ path: join(SCREENSHOTS, 'wide.png'), fullPage: true });
  await page.setViewportSize({ width: 360, height: 640 });
  await expectFits(page);
  const [needed, given] = await page.locator('.wide').evaluate((box) => [box.scrollWidth, box.clientWidth]);
  assert.ok(needed <= given, `the table needs ${needed} of ${given} pixels`);
  await page.screenshot({ path: join(SCREENSHOTS, 'narrow.png'), fullPage: true });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.screenshot({ path: join(SCREENSHOTS, 'narrow-dark.png'), fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
});

test('says what is not there, measures the rest, and can be stopped', async () => {
  const page = await browser.newPage({ viewport: { width: 360, height: 640 } });
  await page.goto(`${server.url}/page/${LIGHT}`);
  for (const name of ['tandem', 'tandem-webgpu']) await page.locator(`input[name="${name}"]`).check();
  for (const name of ['wasm', 'webgpu']) await page.locator(`input[name="${name}"]`).uncheck();
  await measure(page);
  const rows = await table(page);
  assert.equal(rows['tandem-webgpu'].length, 1, 'a reason');
  assert.match(rows['tandem-webgpu'][0], /\w/);
  assert.match(rows.tandem[3], /^[\d.]+$/);
  await expectFits(page);
  await page.screenshot({ path: join(SCREENSHOTS, 'narrow-without.png'), fullPage: true });
  await page.locator('#start').click();
  await page.locator('#stop').click();
  assert.equal(await page.locator('#status').textContent(), 'Stopped.');
  assert.ok(await page.locator('#start').isEnabled());
  for (const name of ['tandem', 'tandem-webgpu']) await page.locator(`input[name="${name}"]`).uncheck();
  await page.locator('#start').click();
  assert.equal(await page.locator('#status').textContent(), 'Choose a backend.');
  await page.close();
});

test('measures the backends of WebGPU', async () => {
  const withGpu = await launch(...WEBGPU_FLAGS);
  try {
    const page = await withGpu.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${server.url}/page/?size=32&rounds=1&steps=4`);
    await page.locator('input[name="wasm"]').uncheck();
    await measure(page);
    const rows = await table(page);
    assert.deepEqual(Object.keys(rows), ['tandem', 'tandem-webgpu', 'webgpu']);
    for (const name of ['tandem-webgpu', 'webgpu']) {
      assert.match(rows[name][3], /^[\d.]+$/, `${name}: ${rows[name].join(' | ')}`);
      assert.ok(Number(rows[name][4]) < 1e-3, rows[name][4]);
    }
    await page.screenshot({ path: join(SCREENSHOTS, 'wide-webgpu.png'), fullPage: true });
  } finally {
    await withGpu.close();
  }
});
