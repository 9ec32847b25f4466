// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Making backends and kernels known to TensorFlow.js, and tensors of one to the other.

import { engine, findBackend, registerBackend, registerKernel } from '@tensorflow/tfjs-core';
import type { Tensor as TfTensor } from '@tensorflow/tfjs-core';
import { createRuntime, TandemError } from 'tandem-rt';
import type { Runtime, RuntimeOptions, Tensor } from 'tandem-rt';

import { TandemBackend } from './backend.js';
import type { Kernel } from './kernel.js';

/** The backend on the CPU, and the one on WebGPU. */
export type BackendName = 'tandem' | 'tandem-webgpu';

const NAMES: readonly BackendName[] = ['tandem', 'tandem-webgpu'];
// Those of TensorFlow.js: webgpu 3, webgl and wasm 2, cpu 1. The highest one that there is becomes the backend of a
// program that chooses none, which may read at once: one that answers later is chosen by name alone.
const PRIORITIES: Readonly<Record<BackendName, number>> = { 'tandem': 2.5, 'tandem-webgpu': 0 };

let options: RuntimeOptions = {};

/**
 * How the runtimes of backends are made that are not yet: threads, where the wasm files are, the GPU object in Node.
 * `device` is what the name of the backend says.
 */
export function setRuntimeOptions(given: Omit<RuntimeOptions, 'device'>): void {
  options = { ...given };
}

// A runtime that computes what is read at once, and so cannot wait for code of kernels that is still to come.
function makeHost(given: RuntimeOptions): Promise<Runtime> {
  return createRuntime({ ...given, preload: ['kernels', ...given.preload ?? []], device: 'cpu' });
}

async function makeBackend(name: BackendName): Promise<TandemBackend> {
  if (name === 'tandem') {
    const runtime = await makeHost(options);
    return new TandemBackend(runtime, runtime);
  }
  const { gpu, gpuDevice, wasmBinary, wasmModule, wasmUrl, ...others } = options;
  const made = await Promise.allSettled([
    createRuntime({ ...options, device: 'webgpu' }),
    // The module of the given file has no less than that for the CPU.
    makeHost({ ...others, ...(wasmBinary && { wasmBinary }), ...(wasmModule && { wasmModule }),
      ...(wasmUrl && { wasmUrl }), threads: 1 }),
  ]);
  for (const each of made) {
    if (each.status === 'fulfilled') continue;
    for (const other of made) if (other.status === 'fulfilled') void other.value.dispose();
    throw each.reason;
  }
  const [runtime, host] = made.map((each) => (each as PromiseFulfilledResult<Runtime>).value);
  return new TandemBackend(runtime!, host!);
}

/** Makes the backends known to TensorFlow.js, which makes them when they are chosen: `await tf.setBackend('tandem')`. */
export function registerBackends(): void {
  for (const name of NAMES) registerBackend(name, () => makeBackend(name), PRIORITIES[name]);
}

/** Makes kernels known to TensorFlow.js for both backends. A program that uses few can leave the others out. */
export function registerKernels(kernels: readonly Kernel[]): void {
  for (const { kernelFunc, kernelName } of kernels) {
    for (const backendName of NAMES) registerKernel({ kernelName, backendName, kernelFunc });
  }
}

function backendOf(name: string): TandemBackend {
  const backend = findBackend(name);
  if (backend instanceof TandemBackend) return backend;
  throw new TandemError('FailedPrecondition',
    `expected the backend tandem or tandem-webgpu to be in use, got ${name}; await tf.setBackend('tandem') first`);
}

/** The runtime of a backend, by default of the one in use. */
export function runtimeOf(name: string = engine().backendName): Runtime {
  return backendOf(name).runtime;
}

/** The runtime's tensor of one of TensorFlow.js: another reference to the same elements, to be disposed of by itself. */
export function toTandem(tensor: TfTensor): Tensor {
  return backendOf(engine().backendName).tensorOf(tensor).clone();
}

/**
 * A tensor of TensorFlow.js with the elements of one of the runtime of the backend in use: f32, i32, bool, c64 or string.
 * It is another reference: each is disposed of by itself.
 */
export function fromTandem(tensor: Tensor): TfTensor {
  const backend = backendOf(engine().backendName);
  if (tensor.runtime !== backend.runtime) {
    throw new TandemError('InvalidArgument',
      'expected a tensor of the runtime of the backend in use, which is runtimeOf(), got one of another');
  }
  return engine().makeTensorFromTensorInfo(backend.adopt(tensor.clone()), backend);
}
