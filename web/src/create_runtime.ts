// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// createRuntime: what to load, with what the environment has and the user wants.

import type { Capabilities } from './capabilities.js';
import { dtypeCode } from './dtypes.js';
import { Engine } from './engine.js';
import type { EngineOptions } from './engine.js';
import { attribute, attributed, errorIn, TandemError, textOf } from './errors.js';
import type { GpuSource } from './gpu.js';
import { checkSimd, checkWebAssembly, instantiate, instantiateThreads } from './module.js';
import type { Execute, WasmInstance } from './module.js';
import { platform } from './platform.js';
import { Runtime } from './runtime.js';
import { describe } from './values.js';

/** What a runtime is made of. Everything has a default. */
export interface RuntimeOptions {
  /** Where ops run. 'auto', the default: WebGPU if this build and the environment have it, else the CPU. */
  device?: 'auto' | 'cpu' | 'webgpu';
  /**
   * How many threads compute. More than 1 needs the threaded module, and in browsers an isolated page; without them
   * there is 1, and `capabilities.reasons` says why. 'auto', the default: in isolated pages one for each core, else 1.
   */
  threads?: number | 'auto';
  /** Whether ops that the device lacks run on the CPU. Default: true. */
  fallback?: boolean;
  /** Bytes of tensor data beyond which ops fail with ResourceExhausted. By default what the module can have, 4 GB. */
  memoryLimit?: number;
  /** How many calls may be pending; more fail with ResourceExhausted. Default: 1,048,576. */
  pendingLimit?: number;
  /** Where tandem.wasm is, if not beside this package's code. The module has no threads. */
  wasmUrl?: string | URL;
  /** The compiled tandem.wasm. */
  wasmModule?: WebAssembly.Module;
  /** The bytes of tandem.wasm. */
  wasmBinary?: BufferSource;
  /** A GPUDevice to share with the program, which then destroys it. By default the runtime asks for one of its own. */
  gpuDevice?: object;
  /** The GPU object to ask for a device where it is not `navigator.gpu`: in Node that of the package `webgpu`. */
  gpu?: object;
  /** Is told each error of a call once, when it arises, also of those that nobody waits for. */
  onDiagnostic?: (error: TandemError) => void;
  /** Gets what printing ops print. By default standard output, or the console. */
  onPrint?: (text: string) => void;
  /**
   * Whether each call notes where in the program it was made, so that errors that come later say so. Costs more than a
   * small op. Default: false.
   */
  trackLocations?: boolean;
}

function invalid(name: string, expected: string, value: unknown): never {
  const got = typeof value === 'string' ? `'${value}'` : describe(value);
  throw errorIn('createRuntime', 'InvalidArgument', `expected ${name} to be ${expected}, got ${got}`);
}

const NAMES: readonly (keyof RuntimeOptions)[] = [
  'device', 'threads', 'fallback', 'memoryLimit', 'pendingLimit', 'wasmUrl', 'wasmModule', 'wasmBinary', 'gpuDevice',
  'gpu', 'onDiagnostic', 'onPrint', 'trackLocations',
];

function checkNumber(name: string, value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value !== 'number' || !(value > 0)) invalid(name, 'a number above 0', value);
  // Without a limit.
  return value === Infinity ? 0 : Math.floor(Math.max(value, 1));
}

function checkFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') invalid(name, 'a function', value);
}

function checkOptions(given: unknown, options: RuntimeOptions): Omit<EngineOptions, 'workers'> {
  if (typeof given !== 'object' || given === null) invalid('options', 'an object', given);
  const unknown = Object.keys(options).find((name) => !(NAMES as readonly string[]).includes(name));
  if (unknown !== undefined) invalid('the options', NAMES.join(', '), unknown);
  const { device = 'auto', threads = 'auto', onDiagnostic, onPrint, trackLocations = false } = options;
  if (!['auto', 'cpu', 'webgpu'].includes(device)) invalid('device', '\'auto\', \'cpu\' or \'webgpu\'', device);
  if (threads !== 'auto' && (!Number.isSafeInteger(threads) || threads < 1)) {
    invalid('threads', '\'auto\' or an integer from 1 on', threads);
  }
  checkFunction('onDiagnostic', onDiagnostic);
  checkFunction('onPrint', onPrint);
  const memoryLimit = checkNumber('memoryLimit', options.memoryLimit);
  const pendingLimit = checkNumber('pendingLimit', options.pendingLimit);
  return { memoryLimit, pendingLimit, onDiagnostic, onPrint, trackLocations };
}

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

interface Loaded {
  readonly instance: WasmInstance;
  readonly threads: number;
  /** Why it is one. */
  readonly reason: string | undefined;
}

async function load(
  options: RuntimeOptions, gpu: GpuSource | undefined, wake: () => void, execute: Execute,
  fail: (error: unknown) => void,
): Promise<Loaded> {
  const asked = options.threads ?? 'auto';
  const wanted = asked === 'auto' ? platform.defaultThreads : Math.min(asked, MAX_THREADS);
  let reason = whyOneThread(options, wanted);
  if (reason === undefined) {
    try {
      return { instance: await instantiateThreads(wanted, wake, execute, fail), threads: wanted, reason };
    } catch (error) {
      reason = `the threaded module could not be loaded: ${textOf(error)}`;
    }
  }
  const { wasmModule, wasmBinary } = options;
  const wasmUrl = options.wasmUrl ?? (wasmModule ?? wasmBinary ? undefined : gpu?.wasmUrl());
  return { instance: await instantiate({ wasmUrl, wasmModule, wasmBinary }, wake, execute), threads: 1, reason };
}

const hasWebGpu = (): boolean => typeof globalThis.navigator === 'object' && 'gpu' in globalThis.navigator;

// The device, or why ops run on the CPU.
async function findGpu(options: RuntimeOptions): Promise<GpuSource | string> {
  const { device = 'auto', gpu, gpuDevice } = options;
  if (device === 'cpu') return 'the CPU was asked for';
  if (device === 'auto' && !gpu && !gpuDevice && !hasWebGpu()) return 'the environment has no WebGPU';
  try {
    const { open } = await import('./webgpu/webgpu.js');
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
  return Object.freeze({
    device: onGpu ? 'webgpu' : 'cpu',
    ...(onGpu && { gpu: gpu.capabilities }),
    version,
    simd: true,
    threads: loaded.threads,
    threadsAvailable: platform.whyNoThreads() === undefined,
    crossOriginIsolated: platform.isIsolated(),
    webgpuAvailable: onGpu || hasWebGpu(),
    reasons: Object.freeze(reasons),
  });
}

/**
 * Loads the module and makes a runtime of it.
 *
 * @throws TandemError InvalidArgument for wrong options; Unimplemented without WebAssembly SIMD; NotFound, Unavailable,
 * DataLoss or FailedPrecondition for a wasm file that is missing, cannot be fetched, is damaged, or is of another
 * version; Unavailable for a device that is not there.
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  // Workers that start do not keep a process running by themselves.
  const starting = {};
  let source: GpuSource | undefined;
  platform.stayAlive(starting, true);
  try {
    // A copy, since getters may give something else the next time.
    const own = attributed(createRuntime, () => ({ ...options }));
    const checked = attributed(createRuntime, () => checkOptions(options, own));
    checkWebAssembly();
    let engine: Engine | undefined;
    let gpu = await findGpu(own);
    if (typeof gpu !== 'string') source = gpu;
    const loading = load(own, source, () => engine?.events.wake(), (...batch) => engine?.gpu?.execute(...batch),
      (error) => engine?.trap(error));
    // While it is fetched. Without SIMD it cannot be compiled either, which nobody is told then.
    loading.catch(() => undefined);
    checkSimd();
    const loaded = await loading;
    if (source && !('tandem_webgpu_create' in loaded.instance.exports)) {
      gpu = 'the given module has no WebGPU, unlike tandem-webgpu.wasm';
      if (own.device === 'webgpu') throw errorIn('createRuntime', 'FailedPrecondition', gpu);
      source.close();
      source = undefined;
    }
    engine = new Engine(loaded.instance, { ...checked, workers: loaded.threads > 1 ? loaded.threads : 0 });
    engine.gpu = source?.attach(engine, { fallback: own.fallback ?? true, memoryLimit: checked.memoryLimit });
    // For what there was to do before anybody could be told.
    engine.events.wake();
    const version = engine.heap.cString(loaded.instance.exports.tandem_version());
    return new Runtime(engine, capabilitiesOf(loaded, gpu, version));
  } catch (error) {
    source?.close();
    throw error instanceof TandemError ? attribute(error, createRuntime) : error;
  } finally {
    platform.stayAlive(starting, false);
  }
}
