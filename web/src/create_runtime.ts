// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What createRuntime of each entry does: what the user wants, checked, and a runtime of it.

import type { EngineOptions } from './engine.js';
import { attribute, attributed, errorIn, TandemError } from './errors.js';
import type { Entry } from './errors.js';
import type { Files } from './files.js';
import { MODULE_PARTS } from './module_files.js';
import type { ModulePart } from './module_files.js';
import { platform } from './platform.js';
import type { Layer } from './programs.js';
import { Runtime } from './runtime.js';
import { Tensor } from './tensor.js';
import { describe } from './values.js';
import { loadEngine } from './wasm/load_engine.js';

/** What a runtime is made of. Everything has a default. */
export interface RuntimeOptions {
  /** Where ops run. 'auto', the default: WebGPU if this build and the environment have it, else the CPU. */
  device?: 'auto' | 'cpu' | 'webgpu';
  /**
   * How many threads compute. More than 1 needs the threaded module, and in browsers an isolated page; without them
   * there is 1, and `capabilities.reasons` says why. 'auto', the default: in isolated pages one for each core, else 1,
   * as on webgpu.
   */
  threads?: number | 'auto';
  /** Whether ops that the device lacks run on the CPU. Default: true. */
  fallback?: boolean;
  /** Bytes of tensor data beyond which ops fail with ResourceExhausted. By default what the module can have, 4 GB. */
  memoryLimit?: number;
  /** How many calls may be pending; more fail with ResourceExhausted. Default: 1,048,576. */
  pendingLimit?: number;
  /**
   * Whether results of the CPU are the same bits everywhere: in every browser and in Node, with any number of threads,
   * and natively on any processor; only a NaN may be another NaN. Slower. What runs on WebGPU is as ever: for results
   * that are all exact, ask for `device: 'cpu'`. Default: false.
   */
  exact?: boolean;
  /**
   * Whether calls of element-wise ops that follow each other may be computed as one. Results are the same, bit for bit;
   * what is in between takes no memory if nobody has it any more, as after `scope`. The code for that is fetched when
   * calls on 16,384 elements or more, on WebGPU on 4,096, first follow each other. Default: true.
   */
  fuse?: boolean;
  /** Where tandem.wasm is, if not beside this package's code. The module has no threads. */
  wasmUrl?: string | URL;
  /** The compiled tandem.wasm. */
  wasmModule?: WebAssembly.Module;
  /** The bytes of tandem.wasm. */
  wasmBinary?: BufferSource;
  /**
   * Where the module's code of programs is, which is fetched when a program is first asked for: tandem-programs.wasm,
   * tandem-webgpu-programs.wasm or tandem-threads-programs.wasm, as the module is. By default beside `wasmUrl`, under
   * the same name with `-programs`, or beside this package's code.
   */
  programsUrl?: string | URL;
  /**
   * Where the module's code of ops and dtypes that few programs need is, which is fetched when one is first called:
   * tandem-kernels.wasm and so on, found as that of programs is.
   */
  kernelsUrl?: string | URL;
  /**
   * Where the module's code that computes several calls as one is, which is fetched when it would first be of use, and
   * with that of programs: tandem-fusion.wasm and so on, found as that of programs is. Without it calls are computed one
   * by one, which is no error.
   */
  fusionUrl?: string | URL;
  /**
   * Parts of the module that are fetched beside it, and are there when the runtime is, rather than when a call first
   * needs one: 'kernels', of ops and dtypes that few programs need, 'programs', and 'fusion', which computes several
   * calls as one. Default: none; in Node and where the module is in the script, kernels are there anyway.
   */
  preload?: readonly ModulePart[];
  /** A GPUDevice to share with the program, which then destroys it. By default the runtime asks for one of its own. */
  gpuDevice?: object;
  /** The GPU object to ask for a device where it is not `navigator.gpu`: in Node that of the package `webgpu`. */
  gpu?: object;
  /** Is told each error of a call once, when it arises, also of those that nobody waits for. */
  onDiagnostic?: (error: TandemError) => void;
  /** Gets what printing ops print. By default standard output, or the console. */
  onPrint?: (text: string) => void;
  /** Layers that ops pass through on their way to the device, as `setLayers` takes them. By default none. */
  layers?: readonly Layer[];
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
  'device', 'threads', 'fallback', 'memoryLimit', 'pendingLimit', 'exact', 'fuse', 'wasmUrl', 'wasmModule',
  'wasmBinary', 'programsUrl', 'kernelsUrl', 'fusionUrl', 'preload', 'gpuDevice', 'gpu', 'onDiagnostic', 'onPrint', 'layers', 'trackLocations',
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
  const { device = 'auto', threads = 'auto', exact = false, fuse = true, trackLocations = false } = options;
  const { onDiagnostic, onPrint, preload = [] } = options;
  if (!['auto', 'cpu', 'webgpu'].includes(device)) invalid('device', '\'auto\', \'cpu\' or \'webgpu\'', device);
  if (threads !== 'auto' && (!Number.isSafeInteger(threads) || threads < 1)) {
    invalid('threads', '\'auto\' or an integer from 1 on', threads);
  }
  if (typeof exact !== 'boolean') invalid('exact', 'true or false', exact);
  if (typeof fuse !== 'boolean') invalid('fuse', 'true or false', fuse);
  if (!Array.isArray(preload) || preload.some((part) => !MODULE_PARTS.includes(part))) {
    invalid('preload', 'a list of \'kernels\', \'programs\' and \'fusion\'', preload);
  }
  checkFunction('onDiagnostic', onDiagnostic);
  checkFunction('onPrint', onPrint);
  const memoryLimit = checkNumber('memoryLimit', options.memoryLimit);
  const pendingLimit = checkNumber('pendingLimit', options.pendingLimit);
  return { memoryLimit, pendingLimit, exact, fuse, onDiagnostic, onPrint, trackLocations };
}

/** The runtime that `entry` gives, the createRuntime of an entry of the package. Throws as it does. @internal */
export async function openRuntime(files: Files, options: RuntimeOptions, entry: Entry): Promise<Runtime> {
  // Workers that start do not keep a process running by themselves.
  const starting = {};
  let runtime: Runtime | undefined;
  platform.stayAlive(starting, true);
  try {
    // A copy, since getters may give something else the next time.
    const own = attributed(entry, () => ({ ...options }));
    const checked = attributed(entry, () => checkOptions(options, own));
    const { capabilities, engine } = await loadEngine(files, own, checked);
    platform.showTensors?.(Tensor.prototype);
    runtime = new Runtime(engine, capabilities);
    if (own.layers !== undefined) await runtime.setLayers(own.layers);
    return runtime;
  } catch (error) {
    void runtime?.dispose();
    throw error instanceof TandemError ? attribute(error, entry) : error;
  } finally {
    platform.stayAlive(starting, false);
  }
}
