// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tests of the page in Chromium, built by Vite: it reads digits drawn by mouse, finger and keyboard, and all of a test
// set as the native example does, with and without isolation, on the CPU and on WebGPU. Writes screenshots to
// build/web-digits of the repository.
// usage: node test.mjs
//   TANDEM_CHROMIUM=FILE     the browser, /usr/bin/chromium by default
//   TANDEM_DIGITS=FILE       the native example, if not where the preset release builds it
//   TANDEM_DIGITS_DATA=DIR   a folder in MNIST's format to compare on, besides drawn digits

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

import { NATIVE_WEIGHTS, comparePredictions, digitFolders, predictNatively } from 'digits-js/testing.js';

import { WEBGPU_FLAGS, downloaded, expectFits, expectNamed, launch, watch } from 'web-common/browser.js';
import { serve } from 'web-common/serve.js';

import { SIZE, normalize } from './src/normalize.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./src/strokes.js').Point} Point */

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const DIST = join(ROOT, 'dist');
const SCREENSHOTS = join(ROOT, '../../build/web-digits');

/** @param {readonly (readonly [number, number])[]} pairs */
function line(...pairs) {
  return pairs.map(([x, y]) => ({ x, y }));
}

/** @type {Point[][][]} each digit's strokes, in parts of the pad's side */
const DRAWINGS = [
  [Array.from({ length: 17 }, (_, i) => ({ x: 0.5 - 0.2 * Math.sin(i / 2.5), y: 0.5 - 0.32 * Math.cos(i / 2.5) }))],
  [line([0.5, 0.15], [0.5, 0.85])],
];
DRAWINGS[7] = [line([0.25, 0.2], [0.75, 0.2], [0.45, 0.85])];

let folder = '';
/** @type {Record<string, string>} */
let data = {};
/** @type {import('playwright-core').Browser} */
let browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'web-digits-'));
  data = await digitFolders(folder);
  await mkdir(SCREENSHOTS, { recursive: true });
  await build({ root: ROOT, logLevel: 'warn' });
  browser = await launch('--disable-gpu');
});
after(async () => {
  await browser?.close();
  await rm(folder, { recursive: true });
});

/**
 * Opens the page and waits until it reads.
 * @param {Page} page
 * @param {string} url
 */
async function openPage(page, url) {
  await page.goto(url);
  await page.locator('#bars li, #problem:not([hidden])').first().waitFor();
  if (await page.locator('#problem').isVisible()) assert.fail((await page.locator('#problem').textContent()) ?? '');
}

/**
 * Checks that the page at `url` reads the digits of each set as the native example does.
 * @param {Page} page
 * @param {(query: string) => string} url
 * @param {import('node:test').TestContext} t
 */
async function expectSameReadings(page, url, t) {
  for (const [name, path] of Object.entries(data)) {
    await openPage(page, url(`data=/${name}`));
    await page.locator('#predictions').waitFor();
    const { text } = await downloaded(page, '#predictions');
    const expected = await predictNatively(NATIVE_WEIGHTS, path, join(folder, `${name}.csv`));
    const { largest, correct, total } = comparePredictions(text, expected);
    const result = (await page.locator('#result').textContent()) ?? '';
    assert.match(result, new RegExp(`\\(${correct} of ${total}\\)`));
    t.diagnostic(`${name}: ${result}; probabilities at most ${largest.toExponential(1)} apart`);
  }
}

/**
 * The names of the calls in a trace that were for a device. What that did for them has rows of its own.
 * @param {string} text
 * @param {string} device
 */
function eventsOf(text, device) {
  /** @type {{ traceEvents: { cat?: string, name: string, args: { device?: string } }[] }} */
  const { traceEvents } = JSON.parse(text);
  return traceEvents.filter(({ cat, args }) => cat === 'op' && args.device === device).map(({ name }) => name);
}

/**
 * A point of the pad, in pixels of the window.
 * @param {Page} page
 * @param {Point} point
 */
async function onPad(page, { x, y }) {
  const box = await page.locator('#pad').boundingBox();
  assert.ok(box);
  return { x: box.x + x * box.width, y: box.y + y * box.height };
}

/**
 * Draws with the mouse; the button stays down at the end if `isUnfinished`.
 * @param {Page} page
 * @param {readonly Point[][]} strokes
 * @param {{ isUnfinished?: boolean }} [options]
 */
async function draw(page, strokes, { isUnfinished = false } = {}) {
  for (const stroke of strokes) {
    const [first, ...rest] = await Promise.all(stroke.map((point) => onPad(page, point)));
    await page.mouse.move(first.x, first.y);
    await page.mouse.down();
    for (const { x, y } of rest) await page.mouse.move(x, y, { steps: 4 });
    if (!isUnfinished) await page.mouse.up();
  }
}

/** @param {Page} page */
async function probabilities(page) {
  return page.locator('#bars li').evaluateAll((rows) => rows.map((row) => Number(row.dataset.probability)));
}

/**
 * Waits until the words say that it is this digit, and checks that its bar is the highest.
 * @param {Page} page
 * @param {number} digit
 */
async function expectReading(page, digit) {
  await page.waitForFunction(() => document.getElementById('words')?.textContent !== '');
  const found = await probabilities(page);
  assert.equal(found.indexOf(Math.max(...found)), digit, `bars: ${found}`);
  assert.ok(Math.abs(found.reduce((sum, p) => sum + p, 0) - 1) < 1e-5, `probabilities that add up to 1: ${found}`);
  assert.match((await page.locator('#words').textContent()) ?? '', new RegExp(`an? ${digit} \\(`));
  assert.equal(await page.locator('#answer').textContent(), String(digit));
  const widths = await page.locator('.bar').evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
  assert.equal(widths.indexOf(Math.max(...widths)), digit, `widths: ${widths}`);
}

/** @param {Page} page */
async function expectCleared(page) {
  await page.waitForFunction(() => document.getElementById('answer')?.textContent === '?');
  assert.deepEqual(await probabilities(page), new Array(10).fill(0));
}

for (const isIsolated of [false, true]) {
  describe(isIsolated ? 'isolated page' : 'page that is not isolated', () => {
    /** @type {Awaited<ReturnType<typeof serve>>} */
    let server;
    /** @type {Page} */
    let page;
    /** @type {string[]} */
    let problems = [];

    const screenshot = (/** @type {string} */ name) =>
      join(SCREENSHOTS, `${isIsolated ? 'isolated' : 'plain'}-${name}.png`);
    const open = (query = '') => openPage(page, `${server.url}/page/${query}`);

    before(async () => {
      server = await serve({ page: DIST, ...data, missing: folder }, isIsolated);
      page = await browser.newPage({ viewport: { width: 960, height: 800 }, hasTouch: true });
      problems = watch(page);
      await open();
    });
    after(async () => {
      await page?.close();
      server?.close();
    });

    test('says what it runs on', async (t) => {
      assert.equal(await page.evaluate(() => crossOriginIsolated), isIsolated);
      assert.ok(await page.locator('#on-cpu').isChecked());
      const cores = await page.evaluate(() => navigator.hardwareConcurrency);
      const threads = Number(await page.locator('#threads').textContent());
      assert.ok(isIsolated && cores > 1 ? threads > 1 : threads === 1, `${threads} threads on ${cores} cores`);
      t.diagnostic(`threads: ${threads}`);
    });

    test('says why WebGPU cannot be chosen', async (t) => {
      await page.locator('#no-webgpu:not([hidden])').waitFor();
      assert.ok(await page.locator('#on-webgpu').isDisabled());
      const reason = (await page.locator('#no-webgpu').textContent()) ?? '';
      assert.match(reason, /^No WebGPU: .*adapter/);
      t.diagnostic(reason);
    });

    test('saves a trace of one reading', async () => {
      const { name, text } = await downloaded(page, '#trace');
      assert.equal(name, 'digit-cpu.json');
      const ops = eventsOf(text, 'cpu');
      assert.equal(ops.length, Number(await page.locator('#ops').textContent()), ops.join());
      assert.ok(ops.includes('tf.Conv2D') && ops.at(-1) === 'tf.Softmax', ops.join());
    });

    for (const digit of [1, 0, 7]) {
      test(`reads a ${digit} drawn with the mouse`, async (t) => {
        await page.locator('#clear').click();
        await expectCleared(page);
        await draw(page, DRAWINGS[digit]);
        await expectReading(page, digit);
        const percent = (100 * (await probabilities(page))[digit]).toFixed(1);
        t.diagnostic(`${digit}: ${percent} %, ${await page.locator('#time-cpu').textContent()} a reading`);
        await page.screenshot({ path: screenshot(String(digit)) });
      });
    }

    test('moves its bars while the pen is still down', async () => {
      await page.locator('#clear').click();
      await expectCleared(page);
      await draw(page, [line([0.25, 0.2], [0.7, 0.2])], { isUnfinished: true });
      await page.waitForFunction(() => document.getElementById('answer')?.textContent !== '?');
      const early = await probabilities(page);
      const end = await onPad(page, { x: 0.45, y: 0.85 });
      await page.mouse.move(end.x, end.y, { steps: 8 });
      await page.waitForFunction(() => document.getElementById('answer')?.textContent === '7');
      assert.notDeepEqual(await probabilities(page), early);
      assert.equal(await page.locator('#words').textContent(), '', 'no words before the pen is up');
      await page.mouse.up();
      await expectReading(page, 7);
    });

    test('reads a 1 drawn with a finger, and ignores a second finger', async () => {
      await page.locator('#clear').click();
      await expectCleared(page);
      const session = await page.context().newCDPSession(page);
      const second = { ...(await onPad(page, { x: 0.1, y: 0.5 })), id: 2 };
      const from = await onPad(page, { x: 0.5, y: 0.15 });
      const to = await onPad(page, { x: 0.5, y: 0.85 });
      await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ ...from, id: 1 }] });
      for (let i = 1; i <= 10; ++i) {
        const first = { x: from.x, y: from.y + ((to.y - from.y) * i) / 10, id: 1 };
        const touchPoints = [first, { ...second, x: second.x + 5 * i }];
        await session.send('Input.dispatchTouchEvent', { type: i === 1 ? 'touchStart' : 'touchMove', touchPoints });
      }
      await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
      await expectReading(page, 1);
    });

    test('reads a 1 drawn with the keyboard, which clears it, too', async () => {
      await page.locator('#clear').focus();
      await page.keyboard.press('Enter');
      await expectCleared(page);
      await page.locator('#pad').focus();
      await page.keyboard.press(' ');
      for (let i = 0; i < 15; ++i) await page.keyboard.press('ArrowDown');
      await page.keyboard.press(' ');
      await expectReading(page, 1);
      await page.keyboard.press('Delete');
      await expectCleared(page);
    });

    test('reads every digit of a set as the native example does', (t) =>
      expectSameReadings(page, (query) => `${server.url}/page/?${query}`, t));

    test('trains a network, reads with it while it learns, and goes back', async (t) => {
      await open();
      const weights = await page.locator('#weights').textContent();
      await draw(page, DRAWINGS[1]);
      await page.locator('#train').click();
      await page.waitForFunction(() => /Step \d+/.test(document.getElementById('learned')?.textContent ?? ''));
      assert.notEqual(await page.locator('#weights').textContent(), weights);
      await page.waitForFunction(() => document.getElementById('train')?.textContent === 'Train again', null,
        { timeout: 120_000 });
      const words = (await page.locator('#learned').textContent()) ?? '';
      t.diagnostic(words);
      assert.ok(Number(/, (\d+) % of/.exec(words)?.[1]) >= 80, words);
      await expectReading(page, 1);
      const points = (await page.locator('#curve polyline').getAttribute('points')) ?? '';
      const heights = points.split(' ').map((point) => Number(point.split(',')[1]));
      // Down in the picture is more.
      assert.ok(heights.length > 100 && heights[heights.length - 1] > heights[0] + 50, heights.join());
      await page.screenshot({ path: screenshot('trained'), fullPage: true });
      await page.locator('#back').click();
      assert.equal(await page.locator('#weights').textContent(), weights);
      await expectReading(page, 1);
      await page.locator('#clear').click();
    });

    test('says what is wrong with files, and goes on', async () => {
      await open('?data=/missing');
      const result = page.locator('#result');
      await page.waitForFunction(() => document.getElementById('result')?.textContent !== '');
      assert.match((await result.textContent()) ?? '', /expected a file t10k-images-.* or .*\.gz, got neither$/);
      const images = join(folder, 'images-broken');
      const labels = join(folder, 'labels-broken');
      await writeFile(images, Buffer.from([0, 0, 8, 3, 0, 0]));
      await writeFile(labels, Buffer.from([0, 0, 8, 1, 0, 0, 0, 1, 5]));
      await page.locator('#files').setInputFiles([images, labels]);
      await page.waitForFunction(() => document.getElementById('result')?.textContent?.startsWith('images-broken'));
      assert.match((await result.textContent()) ?? '', /expected 16 bytes of header, got 6 and the end of the file$/);
      await draw(page, DRAWINGS[0]);
      await expectReading(page, 0);
    });

    test('says so where its weights or the module cannot be had', async () => {
      for (const [pattern, message] of /** @type {const} */ ([
        ['**/*.safetensors', /\.safetensors: expected a file, got status 404/],
        ['**/*.wasm', /\.wasm/],
      ])) {
        const broken = await browser.newPage();
        await broken.route(pattern, (route) => route.fulfill({ status: 404 }));
        await broken.goto(`${server.url}/page/`);
        const problem = broken.locator('#problem');
        await problem.waitFor();
        assert.match((await problem.textContent()) ?? '', message);
        await broken.close();
      }
    });

    test('fits a narrow window and the dark', async () => {
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize({ width: 360, height: 740 });
      await open();
      await draw(page, DRAWINGS[7]);
      await expectReading(page, 7);
      await expectFits(page);
      await expectNamed(page);
      await page.screenshot({ path: screenshot('dark'), fullPage: true });
    });

    test('has pad and answer on a small screen at once', async () => {
      await page.setViewportSize({ width: 360, height: 640 });
      for (const id of ['pad', 'answer', 'clear']) {
        const box = await page.locator(`#${id}`).boundingBox();
        assert.ok(box && box.y >= 0 && box.y + box.height <= 640, `${id} is at ${JSON.stringify(box)}`);
      }
    });

    test('had no problems', () => assert.deepEqual(problems, []));
  });
}

for (const isIsolated of [false, true]) {
  describe(isIsolated ? 'isolated page with WebGPU' : 'page with WebGPU', () => {
    /** @type {Awaited<ReturnType<typeof serve>>} */
    let server;
    /** @type {import('playwright-core').Browser} */
    let gpuBrowser;
    /** @type {Page} */
    let page;
    /** @type {string[]} */
    let problems = [];

    before(async () => {
      server = await serve({ page: DIST, ...data }, isIsolated);
      gpuBrowser = await launch(...WEBGPU_FLAGS);
      page = await gpuBrowser.newPage({ viewport: { width: 960, height: 860 } });
      problems = watch(page);
      await openPage(page, `${server.url}/page/`);
    });
    after(async () => {
      await gpuBrowser?.close();
      server?.close();
    });

    test('switches between the devices, which read the same', async (t) => {
      await page.locator('#on-webgpu:enabled').waitFor();
      await draw(page, DRAWINGS[7]);
      await expectReading(page, 7);
      const onCpu = await probabilities(page);
      await page.evaluate(() => document.getElementById('words')?.replaceChildren());
      await page.locator('#on-webgpu').check();
      await expectReading(page, 7);
      const onGpu = await probabilities(page);
      onGpu.forEach((p, digit) => assert.ok(Math.abs(p - onCpu[digit]) <= 1e-5, `${digit}: ${p}, ${onCpu[digit]}`));
      const times = await page.locator('#devices b').allTextContents();
      times.forEach((time) => assert.match(time, /^\d+\.\d\d ms$/));
      t.diagnostic(`a reading on cpu, webgpu: ${times.join(', ')}`);
      await page.screenshot({ path: join(SCREENSHOTS, `${isIsolated ? 'isolated' : 'plain'}-webgpu.png`) });
    });

    test('saves a trace of one reading on the device', async () => {
      const { name, text } = await downloaded(page, '#trace');
      assert.equal(name, 'digit-webgpu.json');
      const ops = eventsOf(text, 'webgpu');
      assert.ok(ops.filter((op) => op === 'tf.Conv2D').length === 3 && ops.includes('tf.Softmax'), ops.join());
    });

    test('reads every digit of a set as the native example does', (t) =>
      expectSameReadings(page, (query) => `${server.url}/page/?device=webgpu&${query}`, t));

    test('had no problems', () => assert.deepEqual(problems, []));
  });
}

test('normalize makes the larger side 20 pixels and puts the centre of mass in the middle', () => {
  for (const strokes of [DRAWINGS[0], DRAWINGS[1], DRAWINGS[7], [line([0.1, 0.1], [0.3, 0.2])]]) {
    const ink = normalize(strokes);
    const at = (/** @type {number} */ i) => ({ x: i % SIZE, y: Math.floor(i / SIZE) });
    const inked = [...ink.keys()].filter((i) => ink[i] > 0.5).map(at);
    const spread = (/** @type {number[]} */ values) => Math.max(...values) - Math.min(...values) + 1;
    const side = Math.max(spread(inked.map(({ x }) => x)), spread(inked.map(({ y }) => y)));
    assert.ok(Math.abs(side - 20) <= 1, `${side} pixels`);
    const sum = ink.reduce((total, value) => total + value, 0);
    for (const axis of /** @type {const} */ (['x', 'y'])) {
      const mean = ink.reduce((total, value, i) => total + value * (at(i)[axis] + 0.5), 0) / sum;
      assert.ok(Math.abs(mean - SIZE / 2) < 0.1, `centre of mass at ${mean}`);
    }
  }
});
