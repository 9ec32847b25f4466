// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The memory scenario: each library in a process, and a browser, of its own, since it may end badly.

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @returns { made, peak, error?, works? }; `peak` is the largest resident size of the process in bytes. */
export function memoryInNode(sources, options) {
  return new Promise((resolve) => {
    const stdio = ['ignore', 'ignore', 'ignore', 'ipc'];
    const child = fork(join(sources, 'memory', 'node.mjs'), [JSON.stringify(options)], { stdio });
    let outcome = { made: 0 };
    child.on('message', (message) => {
      outcome = { ...outcome, ...message };
    });
    child.on('close', (code, signal) => {
      if (!outcome.ended) outcome.error = `the process ended with ${signal ?? `exit status ${code}`}`;
      delete outcome.ended;
      resolve(outcome);
    });
  });
}

// The largest resident size so far of the browser's renderer processes, in bytes; 0 where /proc does not say it.
async function rendererPeak(browser) {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send('SystemInfo.getProcessInfo');
  let peak = 0;
  for (const { type, id } of processInfo) {
    if (type !== 'renderer') continue;
    try {
      const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'));
      peak = Math.max(peak, kilobytes * 1024);
    } catch {
      // Not Linux, or the process is gone.
    }
  }
  await devtools.detach();
  return peak;
}

/** The same in a page of a fresh browser; `launch` starts one. */
export async function memoryInChromium(launch, url, options) {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    const crashed = new Promise((_, reject) => page.on('crash', () => reject(new Error('the page crashed'))));
    await page.goto(url);
    const outcome = await Promise.race([page.evaluate((given) => window.runMemory(given), options), crashed]);
    return { ...outcome, peak: await rendererPeak(browser) };
  } catch (error) {
    return { made: undefined, error: String(error).split('\n')[0], peak: await rendererPeak(browser) };
  } finally {
    await browser.close();
  }
}
