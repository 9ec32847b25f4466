// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The package in headless Chromium, on a page that runs case files.

import { launchChromium, webgpuArguments } from '../../../web/test/browser/chromium.mjs';
import { serve } from '../../../web/test/browser/server.mjs';

const PAGE = '<!doctype html><meta charset="utf-8"><title>conformance</title>';

/**
 * { run(file, settings), close() } as of client.mjs. With several threads the page is isolated, else it is not.
 *
 * @param options { device, threads, exact, worker, conformance: this suite's folder, package: that of the built one }
 */
export async function openBrowser({ device, threads, exact, worker, ...folders }) {
  const server = await serve({
    folders: { '/conformance/': folders.conformance, '/package/': folders.package },
    files: { '/': { type: 'text/html', body: PAGE } },
    isolated: threads > 1,
  });
  let browser;
  const end = async () => {
    await browser?.close();
    await server.close();
  };
  try {
    browser = await launchChromium(device === 'webgpu' ? webgpuArguments : []);
    const page = await browser.newPage();
    const crashed = new Promise((_, reject) => page.on('crash', () => reject(new Error('the page crashed'))));
    crashed.catch(() => undefined);
    page.on('pageerror', (error) => console.error(`page: ${error.stack ?? error}`));
    await page.goto(server.url);
    const on = (fn, arg) => Promise.race([crashed, page.evaluate(fn, arg)]);
    await on(async (options) => {
      const { openClient } = await import('/conformance/js/client.mjs');
      globalThis.client = await openClient(options);
    }, { device, threads, exact, worker });
    return {
      run: (file, settings) => on((args) => globalThis.client.run(...args), [file, settings]),
      async close() {
        try {
          await on(() => globalThis.client.close());
        } finally {
          await end();
        }
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}
