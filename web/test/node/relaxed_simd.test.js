// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The tests of relaxed SIMD where Node has that by an option alone.

import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect } from 'chai';
import { describe, it } from 'mocha';

const run = promisify(execFile);
const OPTION = '--experimental-wasm-relaxed-simd';

describe('relaxed SIMD by an option of Node', () => {
  it('passes its tests', async function test() {
    const isThere = await run(process.execPath, [OPTION, '--version']).then(() => true, () => false);
    if (!isThere) this.skip();
    const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
    const tests = fileURLToPath(new URL('../relaxed_simd.test.js', import.meta.url));
    const { stdout } = await run(process.execPath, [OPTION, mocha, '--timeout', '60000', '--reporter', 'json', tests]);
    const { stats } = JSON.parse(stdout);
    expect(stats.failures).to.equal(0);
    expect(stats.passes).to.be.greaterThan(65);
  });
});
