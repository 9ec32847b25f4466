// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// WebAssembly that programs make for chains of ops (PR-5): the same results as those of the ops, with or without it.

import { expect } from 'chai';
import { describe, it } from 'mocha';

import { createRuntime } from 'tandem-rt';

const chainOf = (ops) => `func @main(%x0: !corert.tensorhandle, %y: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler "cpu"
${ops.map((op, i) => `  %x${i + 1} = corert.executeop(%cpu) "${op}"(%x${i}${op.endsWith('Neg') ? '' : ', %y'})`).join('\n')}
  tfrt.return %x${ops.length} : !corert.tensorhandle
}`;
const OPS = ['tf.AddV2', 'tf.Mul', 'tf.Sub', 'tf.Maximum', 'tf.Neg'];
// So many different ones.
const chain = (i) => chainOf(Array.from({ length: 5 }, (_, k) => OPS[Math.floor(i / 5 ** k) % 5]));

// How many modules are made on this thread while `fn` runs, by `make`.
async function counted(fn, make = (Module, code) => new Module(code)) {
  const { Module } = WebAssembly;
  let count = 0;
  WebAssembly.Module = function Counted(code) {
    ++count;
    return make(Module, code);
  };
  WebAssembly.Module.customSections = Module.customSections;
  WebAssembly.Module.imports = Module.imports;
  try {
    await fn();
  } finally {
    WebAssembly.Module = Module;
  }
  return count;
}

async function withRuntime(options, fn) {
  const rt = await createRuntime({ device: 'cpu', ...options });
  const inputs = (size, k = 1) => [1, 2].map((n) => (
    rt.tensor(Float32Array.from({ length: size }, (_, i) => Math.fround(Math.sin(i * n * k))), [size])));
  const check = async (text, given) => {
    const [fused, apart] = [await rt.loadProgram(text), await rt.loadProgram(text, { fuse: false })];
    const [[got], [wanted]] = [fused.run('main', given), apart.run('main', given)];
    expect(await got.data()).to.deep.equal(await wanted.data());
    for (const one of [got, wanted, fused, apart]) one.dispose();
  };
  try {
    await fn(rt, inputs, check);
  } finally {
    await rt.dispose();
  }
}

describe('Code that programs make', () => {
  for (const threads of [1, 3]) {
    it(`gives what the ops give, of any size, with ${threads} threads`, () => withRuntime({ threads }, async (rt, inputs, check) => {
      for (const size of [0, 1, 3, 1023, 1024, 1025, 1039, 65537, 300007]) {
        const given = inputs(size);
        await check(chain(size), given);
        for (const tensor of given) tensor.dispose();
      }
    }));
  }

  it('is made once for a chain, however many programs have it', () => withRuntime({ threads: 1 }, async (rt, inputs, check) => {
    const given = inputs(5000);
    expect(await counted(() => check(chain(1234), given))).to.equal(1);
    expect(await counted(() => check(chain(1234), given))).to.equal(0);
    const small = inputs(20);
    expect(await counted(() => check(chain(77), small)), 'of few elements').to.equal(0);
  }));

  it('is made again when it was forgotten for others', () => withRuntime({ threads: 1 }, async (rt, inputs, check) => {
    const given = inputs(1500);
    const made = await counted(async () => {
      for (let i = 0; i < 150; ++i) await check(chain(i), given);
    });
    expect(made).to.equal(150);
    expect(await counted(() => check(chain(0), given))).to.equal(1);
  }));

  it('is done without where the engine refuses it', () => withRuntime({ threads: 1 }, async (rt, inputs, check) => {
    const given = inputs(70001);
    const refuse = () => {
      throw new RangeError('no room for code');
    };
    expect(await counted(() => check(chain(99), given), refuse)).to.equal(1);
    expect(await counted(() => check(chain(99), given)), 'it is asked once').to.equal(0);
  }));
});
