// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The entries of the package in bundles: none makes a bundler warn.

import { expect } from 'chai';
import { build } from 'esbuild';
import { describe, it } from 'mocha';

const web = new URL('../../', import.meta.url).pathname;

describe('an entry in a bundle', () => {
  for (const entry of ['tandem-rt', 'tandem-rt/cpu', 'tandem-rt/docs', 'tandem-rt/methods', 'tandem-rt/static',
    'tandem-rt/static/cpu']) {
    for (const platform of ['browser', 'node']) {
      it(`makes esbuild warn of nothing: ${entry} for ${platform}`, async () => {
        const { warnings } = await build({
          stdin: { contents: `export * from '${entry}';`, resolveDir: web },
          bundle: true, write: false, format: 'esm', platform, logLevel: 'silent',
        });
        expect(warnings.map(({ text }) => text)).to.deep.equal([]);
      });
    }
  }
});
