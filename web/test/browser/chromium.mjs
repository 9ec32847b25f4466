// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Headless Chromium for tests: started with what works without a screen, a GPU and a sandbox, and never waited for
// longer than a limit.

import { chromium } from 'playwright-core';

/** The browser that tests use: Debian's, or the one that TANDEM_CHROMIUM names. */
export const executablePath = process.env.TANDEM_CHROMIUM ?? '/usr/bin/chromium';

const baseArguments = ['--headless=new', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** What gives it WebGPU on a software adapter. */
export const webgpuArguments = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];

/**
 * Starts Chromium. It ends with this process.
 * @param {string[]} [extraArguments] further arguments of its command line
 */
export async function launchChromium(extraArguments = []) {
  try {
    return await chromium.launch({
      executablePath,
      chromiumSandbox: false,
      args: [...baseArguments, ...extraArguments],
      timeout: 60_000,
    });
  } catch (error) {
    throw new Error(`chromium did not start from ${executablePath}: install it with tools/setup.sh, or set ` +
      'TANDEM_CHROMIUM to a Chromium or Chrome', { cause: error });
  }
}

/**
 * Loads a page of a test and gives what it reports. The page calls `report(value)` with plain data, as often as it
 * likes; a value with a member `end` is the last.
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {object} options
 * @param {number} options.timeout in milliseconds, for everything from the start of the loading on
 * @param {(value: object) => void} [options.onReport] sees each value as it comes
 * @param {(text: string) => void} [options.onPageError] sees each error that nothing on the page handled; without it,
 *   such an error is the end
 * @returns {Promise<object>} the member `end` of the last value. Rejects if the page crashes, throws outside of any
 *   handler, violates its Content-Security-Policy, or does not end in time; the error says what the page last said.
 */
export async function runPage(browser, url, { timeout, onReport = () => {}, onPageError }) {
  const context = await browser.newContext();
  let timer;
  try {
    const page = await context.newPage();
    let last = 'nothing';
    return await new Promise((resolve, reject) => {
      const fail = (what) => reject(new Error(`${url}: ${what}; the last that it said was: ${last}`));
      timer = setTimeout(() => fail(`no end within ${timeout / 1000} s`), timeout);
      browser.once('disconnected', () => fail('the browser has gone'));
      page.on('crash', () => fail('the page has crashed'));
      page.on('pageerror', (error) => {
        const text = `an error that nothing handled: ${error.stack ?? error}`;
        if (onPageError) onPageError(text);
        else fail(text);
      });
      page.on('console', (message) => {
        last = `console.${message.type()}: ${message.text()}`;
        if (/Content[ -]Security[ -]Policy/i.test(message.text())) fail(message.text());
      });
      page.exposeFunction('report', (value) => {
        last = JSON.stringify(value).slice(0, 500);
        if (value.end !== undefined) resolve(value.end);
        else onReport(value);
      }).then(() => page.goto(url, { timeout })).catch(reject);
    });
  } finally {
    clearTimeout(timer);
    await context.close().catch(() => {});
  }
}
