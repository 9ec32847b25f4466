// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The WebGPU that tests use: the browser's, or in Node that of the package webgpu on a software adapter; and devices
// that fail where a test wants them to.

import { createRuntime as create } from '../create_runtime.js';

const isNode = typeof globalThis.process?.versions?.node === 'string';
// Debian's Chromium brings it.
const SOFTWARE = '/usr/lib/chromium/vk_swiftshader_icd.json';

async function loadGpu() {
  if (!isNode) return globalThis.navigator.gpu;
  const { existsSync } = await import('node:fs');
  if (process.env.VK_ICD_FILENAMES === undefined && existsSync(SOFTWARE)) process.env.VK_ICD_FILENAMES = SOFTWARE;
  try {
    return (await import('webgpu')).create([]);
  } catch (error) {
    console.warn(`the package webgpu does not load: ${error.message}`);
    return undefined;
  }
}

let loading;

/** The GPU object; undefined if there is none, or no adapter. */
export async function findGpu() {
  loading ??= (async () => {
    const gpu = await loadGpu();
    return await gpu?.requestAdapter() ? gpu : undefined;
  })();
  return loading;
}

/** Leaves a suite out where there is no adapter: the argument of `before`. */
export async function needGpu() {
  if (await findGpu() === undefined) this.skip();
}

/** A runtime on webgpu. */
export async function createRuntime(options = {}) {
  return create({ device: 'webgpu', gpu: await findGpu(), ...options });
}

/** A device of its own, as a program has that shares it. */
export async function createDevice() {
  const adapter = await (await findGpu()).requestAdapter();
  return adapter.requestDevice();
}

/** The device with other methods, given as functions of the device that give them. */
export function changedDevice(device, changes) {
  const methods = Object.fromEntries(Object.entries(changes).map(([name, change]) => [name, change(device)]));
  return new Proxy(device, {
    get(target, name) {
      const value = methods[name] ?? target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A device that has no memory for a buffer where `isFull(descriptor)` says so. */
export function fullDevice(device, isFull) {
  const scopes = [];
  return changedDevice(device, {
    pushErrorScope: (of) => (filter) => {
      scopes.push({ filter });
      of.pushErrorScope(filter);
    },
    popErrorScope: (of) => () => {
      const { error } = scopes.pop();
      const popped = of.popErrorScope();
      return error ? popped.then(() => error) : popped;
    },
    createBuffer: (of) => (descriptor) => {
      if (!isFull(descriptor)) return of.createBuffer(descriptor);
      const scope = scopes.findLast(({ filter }) => filter === 'out-of-memory');
      scope.error ??= { message: 'the test has taken it all' };
      // Without any usage it is none.
      of.pushErrorScope('validation');
      const buffer = of.createBuffer({ ...descriptor, usage: 0 });
      of.popErrorScope();
      return buffer;
    },
  });
}
