// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the executor of WebGPU's commands tells of a device that fails or is lost (ER-5), with a device that plays each
// order of events: loss is told by the device, not by which of its errors comes first. The executor is bundled by
// itself, without a module.

import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const SOURCE = join(dirname(fileURLToPath(import.meta.url)), '../../src/wasm/webgpu/executor.ts');
// Records, as in layout.ts.
const CREATE_BUFFER = 1;
const CREATE_PIPELINE = 4;
const DOWNLOAD = 13;
const INVALID_ARGUMENT = 3;
const INTERNAL = 11;

/** A device with just what the executor uses. `behaviour` says how it fails once `isLost`, or `isFailing`. */
class PlayedDevice {
  isLost = false;
  isFailing = false;
  limits = { maxBufferSize: 2 ** 28 };
  queue = { submit: () => undefined, onSubmittedWorkDone: async () => undefined, writeBuffer: () => undefined };

  constructor(behaviour) {
    this.behaviour = behaviour;
  }

  pushErrorScope() {}

  popErrorScope() {
    return this.isLost ? this.behaviour.scope() : Promise.resolve(null);
  }

  createBuffer({ size, usage }) {
    const fails = (of) => this.isLost || (this.isFailing && of > 4);
    return {
      size, usage, destroy: () => undefined, unmap: () => undefined,
      getMappedRange: () => new ArrayBuffer(size),
      mapAsync: async () => {
        if (fails(size)) throw Object.assign(new Error('it was aborted'), { name: 'AbortError' });
      },
    };
  }

  createShaderModule() {
    return { getCompilationInfo: async () => ({ messages: [] }) };
  }

  async createComputePipelineAsync() {
    const { reason } = this.behaviour;
    if (this.isLost || this.isFailing) throw Object.assign(new Error('no pipeline'), { reason });
    return {};
  }

  createBindGroupLayout() { return {}; }
  createPipelineLayout() { return {}; }
  createCommandEncoder() { return { copyBufferToBuffer: () => undefined, finish: () => ({}) }; }
}

/** What the module would be told. Closes the executor when the device is lost, as the runtime does. */
function playedListener(events) {
  return {
    onBatchDone: () => undefined,
    onBatchFailed: (batch, word, code) => events.push(`batch ${code}`),
    onBufferFailed: () => events.push('buffer'),
    onPipelineDone: (number, code) => events.push(`pipeline ${code}`),
    onEnd: (number, code) => events.push(`end ${code}`),
    onDeviceLost() {
      events.push('lost');
      this.executor.close();
    },
  };
}

const SCOPES = {
  'that say nothing': async () => null,
  'with an internal error': async () => ({ message: 'the device was removed' }),
  'that reject': () => Promise.reject(new Error('gone')),
};

describe('the executor of WebGPU', () => {
  let Executor;
  before(async () => {
    const { outputFiles } = await esbuild.build({
      entryPoints: [SOURCE], bundle: true, format: 'esm', write: false, target: 'es2022',
    });
    ({ Executor } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`));
  });

  function play(behaviour) {
    const events = [];
    const listener = playedListener(events);
    const device = new PlayedDevice(behaviour);
    const u32 = new Uint32Array(64);
    const memory = { u8: new Uint8Array(u32.buffer), u32, renew: () => undefined, text: () => 'shader' };
    const executor = new Executor(device, memory, listener);
    listener.executor = executor;
    const run = (...words) => {
      u32.set(words);
      executor.execute(1, 0, words.length, 0, 0);
    };
    run(CREATE_BUFFER, 1, 16);
    return { device, events, executor, run };
  }

  async function settled({ executor }) {
    for (let turn = 0; turn < 5; ++turn) {
      await executor.finished();
      await new Promise((resolve) => void setImmediate(resolve));
    }
  }

  const commands = {
    'a read': [DOWNLOAD, 1, 0, 0, 16, 7],
    'a shader': [CREATE_PIPELINE, 1, 1, 0, 0, 0, 0],
    'a read and a shader': [DOWNLOAD, 1, 0, 0, 16, 7, CREATE_PIPELINE, 1, 1, 0, 0, 0, 0],
    'commands': [CREATE_BUFFER, 2, 16],
  };
  for (const [name, scope] of Object.entries(SCOPES)) {
    for (const [what, words] of Object.entries(commands)) {
      for (const reason of ['internal', 'validation']) {
        it(`tells of the loss alone: ${what} first, ${reason} reasons, scopes ${name}`, async () => {
          const played = play({ scope, reason });
          await settled(played);
          played.device.isLost = true;
          played.run(...words);
          await settled(played);
          // Commands whose scopes say nothing have not failed: the device tells itself.
          const isSilent = what === 'commands' && name !== 'with an internal error';
          expect(played.events).to.deep.equal(isSilent ? [] : ['lost']);
        });
      }
    }
  }

  it('tells of failures of a device that is there', async () => {
    const played = play({ scope: async () => null, reason: 'internal' });
    played.device.isFailing = true;
    played.run(...commands['a read and a shader']);
    await settled(played);
    expect(played.events.sort()).to.deep.equal([`end ${INTERNAL}`, `pipeline ${INTERNAL}`]);
    const invalid = play({ scope: async () => null, reason: 'validation' });
    invalid.device.isFailing = true;
    invalid.run(...commands['a shader']);
    await settled(invalid);
    expect(invalid.events).to.deep.equal([`pipeline ${INVALID_ARGUMENT}`]);
  });
});
