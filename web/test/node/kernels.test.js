// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The module's second part where it comes late.

import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, createRuntime } from 'tandem-rt';
import { checkError, rejectionOf } from '../errors.js';

describe('kernels of the second part', () => {
  let folder;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tandem-kernels-'));
  });
  after(() => rm(folder, { recursive: true }));

  for (const asks of ['a call', 'loadKernels']) {
    it(`that could not be had can be had later, by ${asks}`, async () => {
      const file = join(folder, `${asks.replaceAll(' ', '-')}.wasm`);
      const rt = await createRuntime({ device: 'cpu', threads: 1, kernelsUrl: pathToFileURL(file) });
      const x = rt.tensor([1, 2], { dtype: 'f64' });
      const error = checkError(await rejectionOf(add(x, x).data()), 'NotFound', /tandem-kernels\.wasm/);
      expect(error.op).to.equal('tf.AddV2');
      expect(error.message).to.include(pathToFileURL(file).href);
      await copyFile(new URL('../../dist/tandem-kernels.wasm', import.meta.url), file);
      if (asks === 'loadKernels') await rt.loadKernels();
      const y = add(x, x);
      if (asks === 'loadKernels') expect(y.state).to.equal('available');
      expect(await y.array()).to.deep.equal([2, 4]);
      await rt.dispose();
    });
  }
});
