// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The stranger's project and a browser for the tests of a file, and what pages of it report there.

import { after, before } from 'mocha';
import { launchChromium, runPage } from '../browser/chromium.mjs';
import { serve } from '../browser/server.mjs';
import { strangersProject } from './stranger.mjs';

/** For a page, in milliseconds. */
export const pageTimeout = 60_000;

/**
 * Makes both before the tests of the block that this is called in, and closes the browser after them.
 * @param {(found: { folder: string, load: (name: string) => Promise<object>, browser: object }) => void} use is told
 *   of them before the first test
 */
export function inChromium(use) {
  let browser;
  before(async () => {
    const { folder, load } = await strangersProject();
    browser = await launchChromium();
    use({ folder, load, browser });
  });
  after(() => browser?.close());
}

/**
 * What a page reports that is served with these options of `serve`, and which paths were asked for.
 * @param {import('playwright-core').Browser} browser
 */
export async function reportOf(browser, options) {
  const server = await serve(options);
  try {
    return { ...await runPage(browser, `${server.url}/`, { timeout: pageTimeout }), requests: server.requests };
  } finally {
    await server.close();
  }
}
