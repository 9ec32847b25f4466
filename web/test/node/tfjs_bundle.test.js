// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tandem-rt/tfjs in a bundle: with all kernels, or with those alone that a program registers.

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { build } from 'esbuild';
import { describe, it } from 'mocha';

const web = new URL('../../', import.meta.url).pathname;

/** The text of a bundle of a program, without TensorFlow.js and the package itself. */
async function bundled(program) {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: web },
    bundle: true, write: false, format: 'esm', minify: true,
    plugins: [{
      name: 'others',
      setup: ({ onResolve }) => onResolve({ filter: /^(@tensorflow\/tfjs-core|tandem-rt)$/ }, ({ path }) => (
        { path, external: true })),
    }],
  });
  return outputFiles[0].text;
}

describe('tandem-rt/tfjs in a bundle', () => {
  it('has the kernels that a program registers, and no others', async () => {
    const text = await bundled(`
      import { Add, registerBackends, registerKernels } from 'tandem-rt/tfjs/custom';
      registerBackends();
      registerKernels([Add]);`);
    expect(text).to.include('"Add"');
    for (const name of ['Conv2D', 'RaggedGather', 'RotateWithOffset', 'StringSplit']) expect(text).to.not.include(name);
    expect(text.length).to.be.below(12_500);
  });

  it('has all of them by one import', async () => {
    const text = await bundled('import "tandem-rt/tfjs";');
    const names = readFileSync(new URL('../../node_modules/@tensorflow/tfjs-core/dist/kernel_names.d.ts', import.meta.url), 'utf8');
    const all = [...names.matchAll(/export declare const \w+ = "(\w+)"/g)].map(([, name]) => name);
    expect(all).to.have.length.above(170);
    // Nobody calls a kernel Pool; pixels TensorFlow.js reads itself, for backends that have no better way.
    expect(all.filter((name) => !text.includes(`"${name}"`))).to.deep.equal(['Pool', 'FromPixels']);
  });
});
