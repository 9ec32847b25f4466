// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tests of the page in Chromium, built by Vite: programs run, show tensors and pictures, fail on their line, and are
// stopped; the reference finds ops and puts them into the program; the trace has what ran. On the CPU and on WebGPU.
// Writes screenshots to build/web-playground of the repository.
// usage: node test.mjs
//   TANDEM_CHROMIUM=FILE     the browser, /usr/bin/chromium by default

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

import { WEBGPU_FLAGS, downloaded, expectFits, expectNamed, launch, watch } from 'web-common/browser.js';
import { serve } from 'web-common/serve.js';

import { EXAMPLES } from './src/examples.js';

/** @typedef {import('playwright-core').Page} Page */

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const DIST = join(ROOT, 'dist');
const SCREENSHOTS = join(ROOT, '../../build/web-playground');

/** @type {Awaited<ReturnType<typeof serve>>} */
let server;

before(async () => {
  await mkdir(SCREENSHOTS, { recursive: true });
  await build({ root: ROOT, logLevel: 'error' });
  server = await serve({ page: DIST }, true);
});
after(() => server?.close());

/** @param {Page} page */
async function open(page) {
  await page.goto(`${server.url}/page/`);
  await page.locator('#run:enabled').waitFor();
}

/**
 * Writes a program in place of the one that is there, runs it, and waits for its end.
 * @param {Page} page
 * @param {string} code
 */
async function run(page, code) {
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(code);
  await page.keyboard.press('Control+Enter');
  await ended(page);
}

/** @param {Page} page */
async function ended(page) {
  await page.waitForFunction(() => /^(Ran|It did not)/.test(document.getElementById('status')?.textContent ?? ''));
}

/** @param {Page} page */
function shown(page) {
  return page.locator('.result').evaluateAll((results) => results.map((result) => ({
    title: result.querySelector('h3')?.textContent ?? '',
    text: result.querySelector('pre')?.textContent ?? '',
    picture: result.querySelector('canvas')?.width ?? 0,
    isError: result.classList.contains('error'),
  })));
}

/** @param {Page} page @param {string} name */
const screenshot = (page, name) => page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });

describe('the playground', () => {
  /** @type {import('playwright-core').Browser} */
  let browser;
  /** @type {Page} */
  let page;
  /** @type {string[]} */
  let problems = [];

  before(async () => {
    browser = await launch('--disable-gpu');
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    problems = watch(page);
    await open(page);
  });
  after(() => browser?.close());

  test('shows tensors, and what is no tensor, in the order of the program', async () => {
    await run(page, `const x = rt.tensor([[1, 2], [3, 4]]);
      show(matMul(x, x), 'product');
      console.log('text', 3);
      show(rt.tensor([1n, 2n]));
      show(rt.tensor(['a']));
      return x.add(1).relu();`);
    assert.deepEqual((await shown(page)).map(({ title, text }) => [title, text]), [
      ['product · f32[2, 2] on the CPU', '[[7, 10],\n [15, 22]]'],
      ['', 'text'],
      ['', '3'],
      ['i64[2] on the CPU', '[1, 2]'],
      ['string[1] on the CPU', '["a"]'],
      ['f32[2, 2] on the CPU', '[[2, 3],\n [4, 5]]'],
    ]);
  });

  for (const { name } of EXAMPLES) {
    test(`runs the example “${name}”`, async () => {
      await page.locator('#examples').selectOption(name);
      await page.waitForFunction(() => document.getElementById('status')?.textContent !== 'Running…');
      await ended(page);
      const results = await shown(page);
      assert.ok(results.length > 0);
      assert.equal(results.some(({ isError }) => isError), name.includes('error'), JSON.stringify(results));
      assert.equal(results.some(({ picture }) => picture > 0), /Picture|Mandelbrot/.test(name));
      await screenshot(page, `wide-${name.toLowerCase().replaceAll(/\W+/g, '-')}`);
    });
  }

  test('marks the line of an error, also of one that comes late', async () => {
    await run(page, 'const a = rt.ones([2, 3]);\n\nshow(matMul(a, a));');
    let [error] = await shown(page);
    assert.match(error.text, /inner dimensions must agree[^]*line 3$/);
    assert.equal(await page.locator('.cm-line').evaluateAll((lines) => lines.findIndex((line) => line.classList.contains('cm-wrong'))), 2);
    await run(page, 'const i = rt.tensor([7], { dtype: "i32" });\nshow(gather(rt.ones([2]), i));');
    [error] = await shown(page);
    assert.match(error.text, /tf\.Gather[^]*line 2$/);
    await run(page, 'const = 3;');
    [error] = await shown(page);
    assert.match(error.text, /^SyntaxError/);
  });

  test('stops a program that does not end, and runs another', async () => {
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('for (;;) ;');
    await page.locator('#run').click();
    await page.locator('#stop:enabled').click();
    assert.equal(await page.locator('#status').textContent(), 'Stopped.');
    await page.locator('#run:enabled').waitFor();
    await run(page, 'show(1);');
    assert.equal((await shown(page))[0].text, '1');
  });

  test('finds ops in the reference, and puts one into the program', async () => {
    const entries = page.locator('#ops details:not([hidden])');
    assert.ok((await entries.count()) > 200);
    await page.locator('#search').fill('product MATRICES');
    const number = await entries.count();
    assert.ok(number >= 1 && number < 10, `${number} ops`);
    const entry = entries.filter({ has: page.getByText('matMul', { exact: true }) });
    await entry.locator('summary').click();
    // The browser tells of what is opened in a task of its own.
    await entry.getByText('matMul(a, b, { transposeA, transposeB })').waitFor();
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    await entry.getByRole('button', { name: 'Insert matMul' }).click();
    assert.equal(await page.locator('.cm-content').textContent(), 'matMul(a, b)');
    await screenshot(page, 'wide-reference');
    await page.locator('#search').fill('no such op');
    assert.match((await page.locator('#found').textContent()) ?? '', /^0 of \d+ ops$/);
    await page.locator('#search').fill('');
  });

  test('names the functions of all ops that have one', async () => {
    const names = await page.locator('#ops summary').evaluateAll((all) => all.map((one) => one.firstChild?.textContent ?? ''));
    const without = names.filter((name) => name.includes('.'));
    assert.ok(without.length < 8, `without a function: ${without.join(', ')}`);
  });

  test('shows and saves the trace of the last run', async () => {
    await run(page, 'const x = rt.ones([300, 300]);\nshow(sum(matMul(x, x)));');
    await page.locator('#trace summary').click();
    await page.locator('#by-op tbody tr').first().waitFor();
    const ops = await page.locator('#by-op tbody td:first-child').allTextContents();
    assert.ok(ops.includes('tf.MatMul') && ops.includes('tf.Sum'), ops.join());
    assert.ok((await page.locator('.lane span').count()) >= 2);
    const { name, text } = await downloaded(page, '#save-trace');
    assert.equal(name, 'playground-trace.json');
    assert.match(text, /tf\.MatMul/);
    await screenshot(page, 'wide-trace');
  });

  test('shows the trace of a run of very many ops', async () => {
    await run(page, 'const x = rt.ones([1]);\nfor (let i = 0; i < 130_000; ++i) x.neg().dispose();');
    assert.match((await page.locator('#status').textContent()) ?? '', /^Ran in/);
    assert.match((await page.locator('#trace-words').textContent()) ?? '', /^\d{6} ops in .*; the first 2000 are shown$/);
    assert.equal(await page.locator('.lane span').count(), 2000);
  });

  test('says why there is no WebGPU, and goes on', async () => {
    await page.locator('input[value="webgpu"]').check();
    await run(page, 'show(1);');
    const [error] = await shown(page);
    assert.ok(error.isError);
    assert.match(error.text, /adapter/);
    await page.locator('input[value="cpu"]').check();
    await run(page, 'show(2);');
    assert.equal((await shown(page))[0].text, '2');
  });

  test('has names for all that one uses', () => expectNamed(page));

  test('fits a narrow window and the dark', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 640 });
    await open(page);
    await page.locator('#examples').selectOption({ index: 1 });
    await ended(page);
    await expectFits(page);
    await page.locator('#ops summary').first().click();
    await screenshot(page, 'narrow-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await screenshot(page, 'narrow');
  });

  test('had no problems', () => assert.deepEqual(problems, []));
});

describe('the playground with WebGPU', () => {
  test('runs the examples on it', async () => {
    const browser = await launch(...WEBGPU_FLAGS);
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      const problems = watch(page);
      await open(page);
      await page.locator('input[value="webgpu"]').check();
      await run(page, 'const x = rt.tensor([[1, 2], [3, 4]]);\nshow(matMul(x, x));');
      const [{ title, text }] = await shown(page);
      assert.deepEqual([title, text], ['f32[2, 2] on WebGPU', '[[7, 10],\n [15, 22]]']);
      await page.locator('#examples').selectOption({ index: 1 });
      await page.waitForFunction(() => document.querySelectorAll('.result').length === 3);
      assert.ok((await shown(page)).every(({ picture }) => picture === 128));
      await ended(page);
      assert.match((await page.locator('#status').textContent()) ?? '', /on WebGPU/);
      assert.deepEqual(problems, []);
    } finally {
      await browser.close();
    }
  });
});
