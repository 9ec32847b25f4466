// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A site of Next with tandem-rt in a component of the browser, in a page of the server and in a route. Takes a minute,
// so it runs only where TANDEM_TEST_FULL is set.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it } from 'mocha';
import { launchChromium } from '../browser/chromium.mjs';
import { expectComputed } from './expectations.mjs';
import { run, strangersProject } from './stranger.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

describe('tandem-rt in a site of Next', function () {
  this.timeout(300_000);
  let browser;
  let server;
  let url;

  before(async function () {
    if (!process.env.TANDEM_TEST_FULL) this.skip();
    const { folder: project, tarball } = await strangersProject();
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'tandem-next-')));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    await cp(join(here, 'next'), folder, { recursive: true, filter: (source) => !source.includes('node_modules') });
    await cp(join(project, 'src', 'compute.js'), join(folder, 'app', 'compute.js'));
    await run('npm', ['ci', '--prefer-offline', '--ignore-scripts'], folder);
    await run('npm', ['install', '--prefer-offline', '--ignore-scripts', tarball], folder);
    const next = join(folder, 'node_modules', 'next', 'dist', 'bin', 'next');
    process.env.NEXT_TELEMETRY_DISABLED = '1';
    await run(process.execPath, [next, 'build'], folder);
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    server = spawn(process.execPath, [next, 'start', '-p', String(port), '-H', '127.0.0.1'], {
      cwd: folder, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_ENV: 'production' },
    });
    for await (const text of server.stdout) if (String(text).includes('Ready')) break;
    server.stdout.resume();
    browser = await launchChromium();
  });

  after(async () => {
    await browser?.close();
    server?.kill();
  });

  // What a page shows when it has computed it.
  async function shown(path) {
    const page = await browser.newPage();
    await page.goto(`${url}${path}`);
    const result = page.locator('#result', { hasText: /./ });
    const text = await result.textContent({ timeout: 60_000 });
    await page.close();
    return JSON.parse(text);
  }

  it('computes in the browser', async () => expectComputed(await shown('/')));

  it('computes in a page of the server', async () => expectComputed(await shown('/server'), { fetched: [0, 0, 0] }));

  it('computes in a route', async () => {
    expectComputed(await (await fetch(`${url}/api/compute`)).json(), { fetched: [0, 0, 0] });
  });
});
