// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Chromium for the tests of the pages, and what they look at on each of them.

import assert from 'node:assert/strict';

import { chromium } from 'playwright-core';

/** @typedef {import('playwright-core').Page} Page */

const FLAGS = [
  '--no-sandbox',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Give it WebGPU on a GPU that every machine has, since it is a program. */
export const WEBGPU_FLAGS = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];

/**
 * TANDEM_CHROMIUM in the environment names another browser than Debian's.
 * @param {readonly string[]} flags
 */
export function launch(...flags) {
  const executablePath = process.env.TANDEM_CHROMIUM ?? '/usr/bin/chromium';
  return chromium.launch({ executablePath, args: [...FLAGS, ...flags] });
}

/**
 * What errors the page has from now on. A file that is not there is for the page to tell.
 * @param {Page} page
 */
export function watch(page) {
  /** @type {string[]} */
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('404')) problems.push(message.text());
  });
  return problems;
}

/**
 * What a file has that a click has the page offer.
 * @param {Page} page
 * @param {string} selector
 */
export async function downloaded(page, selector) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator(selector).click()]);
  const text = Buffer.concat(await (await download.createReadStream()).toArray()).toString();
  return { name: download.suggestedFilename(), text };
}

/**
 * That nothing of the page is beyond the right edge of the window.
 * @param {Page} page
 */
export async function expectFits(page) {
  const [needed, given] = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return [scrollWidth, clientWidth];
  });
  assert.ok(needed <= given, `needs ${needed} of ${given} pixels`);
}

/**
 * That each button, field and picture has a name for those who cannot see it.
 * @param {Page} page
 */
export async function expectNamed(page) {
  const nameless = await page.evaluate(() => {
    const found = document.querySelectorAll('button, input, select, textarea, canvas, [role="img"], [role="textbox"]');
    return [...found].filter((element) => {
      const labels = element instanceof HTMLInputElement || element instanceof HTMLSelectElement ? element.labels : null;
      const text = [element.getAttribute('aria-label'), element.getAttribute('title'), element.textContent,
        element.hasAttribute('aria-labelledby') ? 'named' : '', element.hasAttribute('aria-hidden') ? 'hidden' : '',
        ...[...(labels ?? [])].map((label) => label.textContent)].join('').trim();
      return text === '';
    }).map((element) => element.outerHTML.slice(0, 120));
  });
  assert.deepEqual(nameless, []);
}
