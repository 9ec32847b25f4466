// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// An engine out of what the environment has and the user wants: which module, with how many threads, on what device.

import type { Capabilities } from '../capabilities.js';
import type { RuntimeOptions } from '../create_runtime.js';
import { dtypeCode } from '../dtypes.js';
import type { EngineOptions } from '../engine.js';
import { errorIn, TandemError, textOf } from '../errors.js';
import type { Files } from '../files.js';
import type { ModulePart } from '../module_files.js';
import { platform } from '../platform.js';
import { WasmEngine } from './engine.js';
import { checkSimd, checkWebAssembly, givenPartUrls, instantiate, instantiateThreads } from './module.js';
import type { Execute, WasmInstance } from './module.js';
import type { GpuSource } from './webgpu_source.js';

const MAX_THREADS = 64;

// Why there are no more threads than one; undefined if there are to be more.
function whyOneThread(options: RuntimeOptions, wanted: number): string | undefined {
  if (wanted === 1) {
    return options.threads === undefined || options.threads === 'auto'
      ? 'the module without threads is the default here; ask for createRuntime({ threads: n })'
      : 'one thread was asked for';
  }
  if (options.wasmUrl !== undefined || options.wasmModule !== undefined || options.wasmBinary !== undefined) {
    return 'wasmUrl, wasmModule and wasmBinary are of the module without threads';
  }
  return platform.whyNoThreads();
}

// Parts of the module that are fetched with it.
function partsToPreload(files: Files, { preload = [] }: RuntimeOptions): readonly ModulePart[] {
  return files.isLocal && !preload.includes('kernels') ? ['kernels', ...preload] : preload;
}

interface Loaded {
  readonly instance: WasmInstance;
  readonly threads: number;
  /** Why it is one. */
  readonly reason: string | undefined;
}

async function load(
  files: Files, options: RuntimeOptions, gpu: GpuSource | undefined, wake: () => void, execute: Execute,
  fail: (error: unknown) => void,
): Promise<Loaded> {
  const asked = options.threads ?? 'auto';
  // Where a GPU computes, threads are not worth the files that they take.
  const usual = gpu === undefined ? platform.defaultThreads : 1;
  const wanted = asked === 'auto' ? usual : Math.min(asked, MAX_THREADS);
  const urls = givenPartUrls(options);
  const early = partsToPreload(files, options);
  let reason = whyOneThread(options, wanted);
  if (reason === undefined) {
    try {
      const instance = await instantiateThreads(files, wanted, urls, early, wake, execute, fail);
      return { instance, threads: wanted, reason };
    } catch (error) {
      reason = `the threaded module could not be loaded: ${textOf(error)}`;
    }
  }
  const { wasmModule, wasmBinary, wasmUrl } = options;
  const instance = await instantiate(
    files, gpu ? 'webgpu' : 'cpu', { wasmUrl, wasmModule, wasmBinary }, urls, early, wake, execute);
  return { instance, threads: 1, reason };
}

const hasWebGpu = (): boolean => typeof globalThis.navigator === 'object' && 'gpu' in globalThis.navigator;

// The device, or why ops run on the CPU.
async function findGpu(files: Files, options: RuntimeOptions): Promise<GpuSource | string> {
  const { device = 'auto', gpu, gpuDevice } = options;
  if (device === 'cpu') return 'the CPU was asked for';
  if (device === 'auto' && !gpu && !gpuDevice && !hasWebGpu()) return 'the environment has no WebGPU';
  try {
    const { open } = await files.importWebgpu();
    return await open(options, { TandemError, dtypeCode });
  } catch (error) {
    if (device === 'webgpu' || (error as TandemError).code === 'InvalidArgument') throw error;
    return textOf(error);
  }
}

function capabilitiesOf(loaded: Loaded, gpu: GpuSource | string, version: string): Capabilities {
  const reasons: Record<string, string> = {};
  if (loaded.reason !== undefined) reasons['threads'] = loaded.reason;
  const onGpu = typeof gpu !== 'string';
  if (!onGpu) reasons['webgpu'] = gpu;
  else if (!gpu.capabilities.features.includes('timestamp-query')) {
    reasons['timestamp-query'] = "the device does not have it: traces have the host's times alone";
  }
  return Object.freeze({
    device: onGpu ? 'webgpu' : 'cpu',
    ...(onGpu && { gpu: gpu.capabilities }),
    version,
    simd: true,
    relaxedSimd: loaded.instance.relaxedSimd,
    threads: loaded.threads,
    threadsAvailable: platform.whyNoThreads() === undefined,
    crossOriginIsolated: platform.isIsolated(),
    webgpuAvailable: onGpu || hasWebGpu(),
    reasons: Object.freeze(reasons),
  });
}

/** An engine, and what it was made of. */
export interface LoadedEngine {
  readonly engine: WasmEngine;
  readonly capabilities: Capabilities;
}

/** Loads the module and makes an engine of it. `options` are a copy, and checked. Throws as `createRuntime` does. */
export async function loadEngine(
  files: Files, options: RuntimeOptions, checked: Omit<EngineOptions, 'workers'>,
): Promise<LoadedEngine> {
  checkWebAssembly();
  const { preload = [] } = options;
  let engine: WasmEngine | undefined;
  let gpu = await findGpu(files, options);
  let source = typeof gpu === 'string' ? undefined : gpu;
  try {
    const loading = load(files, options, source, () => engine?.events.wake(), (...batch) => engine?.gpu?.execute(...batch),
      (error) => engine?.trap(error));
    // While it is fetched. Without SIMD it cannot be compiled either, which nobody is told then.
    loading.catch(() => undefined);
    checkSimd();
    const loaded = await loading;
    if (source && !('tandem_webgpu_create' in loaded.instance.exports)) {
      gpu = 'the given module has no WebGPU, unlike tandem-webgpu.wasm';
      if (options.device === 'webgpu') throw errorIn('createRuntime', 'FailedPrecondition', gpu);
      source.close();
      source = undefined;
    }
    engine = new WasmEngine(files, loaded.instance, { ...checked, workers: loaded.threads > 1 ? loaded.threads : 0 });
    engine.gpu = source?.attach(engine, {
      fallback: options.fallback ?? true, memoryLimit: checked.memoryLimit,
    });
    if (preload.includes('programs')) {
      // Their script, too.
      await Promise.all([engine.loadPrograms(), files.importPrograms()]);
    }
    if (preload.includes('fusion')) await engine.loadFusion();
    if (preload.includes('kernels')) await engine.loadKernels();
    // What nobody asked for is told by the calls that need it.
    else if (files.isLocal) await engine.loadKernels().catch(() => undefined);
    // For what there was to do before anybody could be told.
    engine.events.wake();
    return { engine, capabilities: capabilitiesOf(loaded, gpu, engine.version()) };
  } catch (error) {
    engine?.dispose();
    source?.close();
    throw error;
  }
}
