// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs the tests of test/*.test.* in headless Chromium against dist/: on the page and in a module worker, isolated and
// not; and those of test/webgpu/ with a software adapter. Files named *.node.test.* are for Node alone. Exits with 1 if a
// test failed, the browser crashed or it hung.
// usage: node scripts/test_browser.mjs [--report FILE] [--grep TEXT] [--only WAY]
//   WAY: page, worker, page-isolated, worker-isolated, or one of these with -webgpu behind it
//   TANDEM_CHROMIUM=FILE          the browser, by default /usr/bin/chromium
//   TANDEM_TEST_TIMEOUT=SECONDS   for each way, by default 600

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { launchChromium, runPage, webgpuArguments } from '../test/browser/chromium.mjs';
import { serve } from '../test/browser/server.mjs';

const web = join(dirname(fileURLToPath(import.meta.url)), '..');
const { values: options } = parseArgs({
  options: { report: { type: 'string' }, only: { type: 'string' }, grep: { type: 'string' } },
});
const timeout = 1000 * Number(process.env.TANDEM_TEST_TIMEOUT ?? 600);
const all = ['', '-webgpu'].flatMap((device) => [
  { name: `page${device}`, where: 'page', isolated: false, device },
  { name: `worker${device}`, where: 'worker', isolated: false, device },
  { name: `page-isolated${device}`, where: 'page', isolated: true, device },
  { name: `worker-isolated${device}`, where: 'worker', isolated: true, device },
]);
const ways = all.filter(({ name }) => !options.only || options.only === name);
if (!ways.length) throw new Error(`--only wants one of ${all.map(({ name }) => name).join(', ')}, given ${options.only}`);

/** One script of all test files of a folder; 'tandem-rt' stays the built package, so that it is dist/ that is tested. */
async function bundleTests(folder, outfile) {
  const names = (await readdir(folder)).filter((name) => /\.test\.[mc]?[jt]s$/.test(name));
  const files = names.filter((name) => !/\.node\.test\./.test(name)).sort();
  if (!files.length) throw new Error(`there are no test files in ${folder}`);
  await build({
    stdin: { contents: files.map((name) => `import './${name}';`).join('\n'), resolveDir: folder },
    outfile,
    bundle: true,
    ignoreAnnotations: true, // "sideEffects": false of package.json is about dist/, not about tests
    format: 'esm',
    target: 'es2022',
    sourcemap: 'inline',
    logLevel: 'warning',
    external: ['webgpu', 'node:*'], // of Node alone
    plugins: [{
      name: 'served',
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /^tandem-rt(\/(docs|methods))?$/ }, ({ path }) => (
          { path: `/dist/${path === 'tandem-rt' ? 'index' : path.slice(10)}.js`, external: true }));
        onResolve({ filter: /^mocha$/ }, () => ({ path: 'mocha', namespace: 'page' }));
        onLoad({ filter: /.*/, namespace: 'page' }, () => ({
          contents: 'export const { describe, it, before, after, beforeEach, afterEach } = globalThis;',
        }));
      },
    }],
  });
}

/** Runs all tests in one way; the counts, where a page that never ended counts as one failed test. */
async function runWay(browser, { name, where, isolated }, folders) {
  const server = await serve({ folders, isolated });
  const start = performance.now();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const failures = [];
  let running = 'no test';
  const onReport = ({ begin, pass, skip, fail, error }) => {
    if (begin) running = begin;
    if (pass) counts.passed += 1;
    if (skip) counts.skipped += 1;
    if (fail) {
      counts.failed += 1;
      failures.push({ test: fail, error });
    }
  };
  const onPageError = (error) => {
    counts.failed += 1;
    failures.push({ test: `${name}, while ${running} was running`, error });
  };
  const query = new URLSearchParams({ in: where, ...(options.grep && { grep: options.grep }) });
  try {
    const end = await runPage(browser, `${server.url}/page.html?${query}`, { timeout, onReport, onPageError });
    if (end.error) throw new Error(end.error);
    if (!counts.passed && !counts.failed && !options.grep) throw new Error('no test ran');
  } catch (error) {
    counts.failed += 1;
    failures.push({ test: `${name}, while ${running} was running`, error: error.stack });
  } finally {
    await server.close();
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped in ${seconds} s`);
  for (const { test, error } of failures) console.log(`  FAILED ${test}\n    ${error.replaceAll('\n', '\n    ')}`);
  return { way: name, ...counts, failures };
}

const out = join(web, '..', 'build', 'web', 'browser_tests');
await mkdir(out, { recursive: true });
await bundleTests(join(web, 'test'), join(out, 'tests.js'));
await bundleTests(join(web, 'test', 'webgpu'), join(out, 'webgpu', 'tests.js'));
const foldersFor = (device) => ({
  '/': join(web, 'test', 'browser'),
  '/dist/': join(web, 'dist'),
  '/tests/': device ? join(out, 'webgpu') : out,
  '/mocha/': join(web, 'node_modules', 'mocha'),
});
const results = [];
for (const way of ways) {
  const browser = await launchChromium(way.device ? webgpuArguments : []);
  try {
    results.push(await runWay(browser, way, foldersFor(way.device)));
  } finally {
    await browser.close();
  }
}
const total = { passed: 0, failed: 0, skipped: 0, ways: results };
for (const result of results) for (const key of ['passed', 'failed', 'skipped']) total[key] += result[key];
console.log(`Chromium: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (options.report) await writeFile(options.report, JSON.stringify(total, null, 2));
process.exitCode = total.failed ? 1 : 0;
