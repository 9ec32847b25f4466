// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Getting at the WebAssembly module: finding, compiling and instantiating it, with an error for each way to fail.

import { ABI_VERSION } from '../codes.js';
import { TandemError, textOf } from '../errors.js';
import type { Files, ModuleKind, WasmFile } from '../files.js';
import { MODULE_FILES, MODULE_PARTS } from '../module_files.js';
import type { ModuleOption, ModulePart } from '../module_files.js';
import { platform } from '../platform.js';
import type { ThreadsGlue } from '../platform.js';
import { JS_VERSION } from './layout.js';
import type { Export, FusionExport, KernelsExport, ProgramsExport } from './layout.js';
import { codeRunner } from './run_code.js';
import type { RunCode } from './run_code.js';

type Call = (...args: number[]) => number;

/**
 * The functions of the module. Addresses and sizes are numbers; results may have to be made unsigned by `>>> 0`. Those
 * of programs and of fusion are called after `WasmInstance.load` of these only; a module of one part has none of those
 * for kernels, and those for fusion from the start or not at all.
 */
export type WasmExports =
  Readonly<Record<Export | ProgramsExport, Call> & Partial<Record<FusionExport | KernelsExport, Call>>>;

/** An instance of the module, ready to be used. */
export interface WasmInstance {
  readonly exports: WasmExports;
  readonly memory: WebAssembly.Memory;
  /** Whether there are kernels of relaxed SIMD. */
  readonly relaxedSimd: boolean;
  /** Of the threaded module: ends its workers at once. */
  terminate(): void;
  /** Adds a part of the module. Throws as `createRuntime` does for the module. */
  load(part: ModulePart): Promise<void>;
}

/** Where parts of the module are, if not beside this package's code. */
export type PartUrls = Readonly<Partial<Record<ModulePart, URL>>>;

const OPTION_OF = { programs: 'programsUrl', kernels: 'kernelsUrl', fusion: 'fusionUrl' } as const;
// By which the threaded module's glue code knows them.
const NUMBER_OF = { programs: 0, kernels: 1, fusion: 2, relaxed: 3 } as const;

/** Where the module comes from; at most one of them. */
export interface WasmSource {
  wasmUrl?: string | URL | undefined;
  wasmModule?: WebAssembly.Module | undefined;
  wasmBinary?: BufferSource | undefined;
}

// A function that uses a v128 constant.
const SIMD_MODULE = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
];

/** Throws Unimplemented where there is no WebAssembly. */
export function checkWebAssembly(): void {
  if (typeof WebAssembly !== 'object') {
    throw new TandemError('Unimplemented', 'expected WebAssembly, which this environment does not have or does not ' +
      'allow; a content security policy must have \'wasm-unsafe-eval\' in script-src');
  }
}

/** Throws Unimplemented where WebAssembly has no SIMD, which is why no module can be compiled there. */
export function checkSimd(): void {
  if (!WebAssembly.validate(new Uint8Array(SIMD_MODULE))) {
    throw new TandemError('Unimplemented', 'expected WebAssembly SIMD, which this environment does not have; ' +
      'browsers have it since Chrome 91, Firefox 89 and Safari 16.4');
  }
}

async function compileBytes(bytes: BufferSource, name: string, option: ModuleOption): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    const policy = /unsafe-eval|content security policy/i.test(textOf(error));
    throw policy
      ? new TandemError('FailedPrecondition',
        `expected a content security policy with 'wasm-unsafe-eval' in script-src, got ${textOf(error)}`,
        { cause: error })
      : new TandemError('DataLoss', `expected the complete ${MODULE_FILES[option]} of this version of tandem-rt in ${
        name}, got ${bytes.byteLength} bytes that are no valid module: ${textOf(error)}`, { cause: error });
  }
}

// Compiled modules by URL: several runtimes share one.
const compiled = new Map<string, Promise<WebAssembly.Module>>();

// While it arrives, where the environment can.
async function fetchAndCompile(file: WasmFile, option: ModuleOption): Promise<WebAssembly.Module> {
  const found = await ('bytes' in file ? file.bytes() : platform.read(file, option));
  if (!('arrayBuffer' in found)) return compileBytes(found, file.href, option);
  try {
    return await WebAssembly.compileStreaming(found);
  } catch {
    // What is wrong is said of the bytes, of which this has left none: they are fetched once more.
    return compileBytes(await platform.readBytes(file as URL, option), file.href, option);
  }
}

function compileFile(file: WasmFile, option: ModuleOption): Promise<WebAssembly.Module> {
  let module = compiled.get(file.href);
  if (module === undefined) {
    module = fetchAndCompile(file, option);
    compiled.set(file.href, module);
    // The next runtime tries again.
    module.catch(() => compiled.delete(file.href));
  }
  return module;
}

function toUrl(url: string | URL, option: ModuleOption): URL {
  try {
    return new URL(url, platform.baseUrl());
  } catch (error) {
    throw new TandemError('InvalidArgument', `expected ${option} to be a URL, got ${String(url)}`, { cause: error });
  }
}

/** The module that the source says, or the one of this kind of the package. */
async function compile(source: WasmSource, files: Files, kind: ModuleKind): Promise<WebAssembly.Module> {
  const given = Object.values(source).filter((value) => value !== undefined).length;
  if (given > 1) {
    throw new TandemError('InvalidArgument', `expected one of wasmUrl, wasmModule and wasmBinary, got ${given}`);
  }
  if (source.wasmModule !== undefined) {
    if (Object.prototype.toString.call(source.wasmModule) === '[object WebAssembly.Module]') return source.wasmModule;
    throw new TandemError('InvalidArgument', `expected wasmModule to be a WebAssembly.Module, got ${
      Object.prototype.toString.call(source.wasmModule)}`);
  }
  if (source.wasmBinary !== undefined) {
    const kind = Object.prototype.toString.call(source.wasmBinary);
    if (ArrayBuffer.isView(source.wasmBinary) || /^\[object (Shared)?ArrayBuffer\]$/.test(kind)) {
      return compileBytes(source.wasmBinary, 'wasmBinary', 'wasmUrl');
    }
    throw new TandemError('InvalidArgument', `expected wasmBinary to be an ArrayBuffer or a view of one, got ${kind}`);
  }
  return compileFile(
    source.wasmUrl === undefined ? files.module(kind) : toUrl(source.wasmUrl, 'wasmUrl'), 'wasmUrl');
}

// Which build a module is of, by the section that says so; "none" without.
function buildOf(module: WebAssembly.Module, section: string): string {
  const [build] = WebAssembly.Module.customSections(module, section);
  return build === undefined ? 'none' : new TextDecoder().decode(build);
}

// Whether parts of it are elsewhere: what `tandem-rt trim` makes has one.
function isSplit(module: WebAssembly.Module): boolean {
  return buildOf(module, 'tandem.build') !== 'none';
}

// A part shares the memory and the table of the module, and fills its places in the table.
async function addPart(
  module: WebAssembly.Module, exports: WebAssembly.Exports, code: WebAssembly.Module, part: ModulePart, file: WasmFile,
): Promise<void> {
  const option = OPTION_OF[part];
  const wanted = buildOf(module, 'tandem.build');
  const got = buildOf(code, `tandem.${part}`);
  if (wanted !== got || wanted === 'none') {
    throw new TandemError('FailedPrecondition', `expected the ${MODULE_FILES[option]} that goes with the module ` +
      `(build ${wanted}) at ${file.href}, got one of build ${got}; say where it is by createRuntime({ ${option} })`);
  }
  try {
    await WebAssembly.instantiate(code, { primary: exports });
  } catch (error) {
    throw new TandemError('ResourceExhausted', `expected memory for ${part}, got ${textOf(error)}`, { cause: error });
  }
}

/** Where parts are by what the user has said, else beside `wasmUrl`. */
export function givenPartUrls(options: Partial<Record<ModuleOption, string | URL>>): PartUrls {
  const urls: Partial<Record<ModulePart, URL>> = {};
  for (const part of MODULE_PARTS) {
    const given = options[OPTION_OF[part]];
    if (given !== undefined) {
      urls[part] = toUrl(given, OPTION_OF[part]);
    } else if (options.wasmUrl !== undefined) {
      const url = urls[part] = toUrl(options.wasmUrl, 'wasmUrl');
      url.pathname = url.pathname.replace(/(\.wasm)?$/, `-${part}$1`);
    }
  }
  return urls;
}

function otherVersion(got: string): TandemError {
  return new TandemError('FailedPrecondition', `expected the tandem.wasm of this version of tandem-rt (interface ${
    ABI_VERSION}.${JS_VERSION}), got ${got}; take the file from the package's dist folder`);
}

/** Throws FailedPrecondition if the functions are not those of this version. */
export function checkVersion(exports: Partial<WasmExports>): WasmExports {
  const { tandem_abi_version: abi, tandem_js_version: js } = exports;
  if (typeof abi !== 'function' || typeof js !== 'function') throw otherVersion('another module');
  if (abi() !== ABI_VERSION || js() !== JS_VERSION) throw otherVersion(`one of interface ${abi()}.${js()}`);
  return exports as WasmExports;
}

/** Who carries out what a module with WebGPU says. */
export type Execute = (batch: number, words: number, count: number, arena: number, arenaBytes: number) => void;

// The module of relaxed SIMD within a module, in engines that have it.
function relaxedCode(module: WebAssembly.Module): ArrayBuffer | undefined {
  const [code] = WebAssembly.Module.customSections(module, 'tandem.relaxed');
  return code && WebAssembly.validate(code) ? code : undefined;
}

// What the module asks of its environment. It has no files and no arguments; a write is of what it prints.
function importsOf(
  memory: () => WebAssembly.Memory, wake: () => void, execute: Execute, runCode: RunCode, runRelaxed: Call,
): Record<string, Record<string, Call>> {
  const view = (): DataView => new DataView(memory().buffer);
  const zeros = (...addresses: number[]): number => {
    for (const address of addresses) view().setUint32(address, 0, true);
    return 0;
  };
  const BAD_FILE = 8;
  return {
    tandem: {
      wake: () => (wake(), 0), webgpu_execute: execute as Call, run_code: runCode as Call, run_relaxed: runRelaxed,
    },
    env: { emscripten_notify_memory_growth: () => 0 },
    wasi_snapshot_preview1: {
      clock_time_get: ((clock: number, _precision: bigint, result: number): number => {
        const milliseconds = clock === 0 ? Date.now() : performance.now();
        view().setBigUint64(result, BigInt(Math.round(milliseconds * 1e6)), true);
        return 0;
      }) as unknown as Call,
      fd_write: (_file, vectors, count, written) => {
        let size = 0;
        let text = '';
        for (let i = 0; i < count!; ++i) {
          const address = view().getUint32(vectors! + 8 * i, true);
          const length = view().getUint32(vectors! + 8 * i + 4, true);
          text += new TextDecoder().decode(new Uint8Array(memory().buffer, address, length));
          size += length;
        }
        if (text !== '') platform.print(text);
        view().setUint32(written!, size, true);
        return 0;
      },
      fd_close: () => 0,
      fd_seek: () => BAD_FILE,
      fd_read: () => BAD_FILE,
      fd_fdstat_get: () => BAD_FILE,
      environ_sizes_get: (count, size) => zeros(count!, size!),
      environ_get: () => 0,
      args_sizes_get: (count, size) => zeros(count!, size!),
      args_get: () => 0,
      random_get: (address, size) => {
        crypto.getRandomValues(new Uint8Array(memory().buffer, address, size));
        return 0;
      },
      proc_exit: (code) => {
        throw new WebAssembly.RuntimeError(`the module ended itself with ${code}`);
      },
    },
  };
}

/**
 * An instance of the module without threads. `wake` is told when there is something to do. Parts that are `early` are
 * fetched with the module, so that `load` need not.
 */
export async function instantiate(
  files: Files, kind: ModuleKind, source: WasmSource, urls: PartUrls, early: readonly ModulePart[], wake: () => void,
  execute: Execute,
): Promise<WasmInstance> {
  for (const part of early) {
    // What is wrong with it is told by `load`. A given module may be of another kind, and so may an entry's only one.
    const isKnown = urls[part] !== undefined || (source.wasmModule ?? source.wasmBinary) === undefined;
    const fetching = async (): Promise<unknown> =>
      isKnown && compileFile(urls[part] ?? files.part(kind, part), OPTION_OF[part]);
    fetching().catch(() => undefined);
  }
  const module = await compile(source, files, kind);
  let memory: WebAssembly.Memory | undefined;
  let runCode: RunCode | undefined;
  let relaxed: Call | undefined;
  const imports = importsOf(() => memory!, wake, execute, (...args) => (runCode ??= codeRunner(memory!))(...args),
    (call) => (relaxed ? (call && relaxed(call), 1) : 0));
  const unknown = WebAssembly.Module.imports(module).find(
    (entry) => entry.kind !== 'function' || imports[entry.module]?.[entry.name] === undefined);
  if (unknown !== undefined) throw otherVersion(`one that imports ${unknown.module}.${unknown.name}`);
  let instance: WebAssembly.Instance;
  try {
    instance = await WebAssembly.instantiate(module, imports);
  } catch (error) {
    throw new TandemError('ResourceExhausted', `expected memory for a runtime, got ${textOf(error)}`, { cause: error });
  }
  const functions = instance.exports as unknown as Partial<WasmExports> & { _initialize?(): void };
  memory = instance.exports['memory'] as WebAssembly.Memory | undefined;
  if (memory === undefined) throw otherVersion('another module');
  const code = relaxedCode(module);
  if (code) relaxed = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } }).exports['f'] as Call;
  functions._initialize?.();
  const { exports } = instance;
  return {
    exports: checkVersion(functions),
    memory,
    relaxedSimd: code !== undefined,
    terminate: () => undefined,
    async load(part) {
      if (!isSplit(module)) {
        if ('tandem_program_run' in exports || part !== 'programs') return;
        throw new TandemError('FailedPrecondition',
          'expected programs in the module, which were left out of it; tandem-rt trim --programs keeps them');
      }
      const file = urls[part] ?? files.part('tandem_webgpu_create' in exports ? 'webgpu' : 'cpu', part);
      await addPart(module, exports, await compileFile(file, OPTION_OF[part]), part, file);
    },
  };
}

/** The same with so many workers. `fail` is told if one of them fails later. */
export async function instantiateThreads(
  files: Files, workers: number, urls: PartUrls, early: readonly ModulePart[], wake: () => void, execute: Execute,
  fail: (error: unknown) => void,
): Promise<WasmInstance> {
  const read = async (part: ModulePart): Promise<ArrayBuffer> =>
    platform.readBytes(urls[part] ?? files.part('threads', part) as URL, OPTION_OF[part]);
  const coming = new Map(early.map((part) => [part, read(part)]));
  for (const bytes of coming.values()) bytes.catch(() => undefined);
  const { factory, url: workerUrl } = await files.importThreads();
  const module = await compileFile(files.module('threads'), 'wasmUrl');
  let memory: WebAssembly.Memory | undefined;
  let exports: WebAssembly.Exports | undefined;
  const glue = await new Promise<ThreadsGlue>((resolve, reject) => {
    factory({
      // One more, for waiting.
      numThreads: workers + 1,
      workerUrl,
      onTandemWake: wake,
      onTandemExecute: execute,
      onTandemFailure(error) {
        reject(error);
        fail(error);
      },
      instantiateWasm(imports, receive) {
        memory = imports['env']!['memory'] as WebAssembly.Memory;
        WebAssembly.instantiate(module, imports).then((instance) => {
          exports = instance.exports;
          receive(instance, module);
        }, reject);
        return {};
      },
    }).then(resolve, reject);
  });
  const share = (part: keyof typeof NUMBER_OF, code: ArrayBuffer): void => {
    if (glue.tandemShare(NUMBER_OF[part], new Uint8Array(code))) return;
    throw new TandemError('ResourceExhausted', `expected memory for ${part}, got none`);
  };
  const relaxed = relaxedCode(module);
  if (relaxed) share('relaxed', relaxed);
  return {
    exports: checkVersion(exports as unknown as Partial<WasmExports>),
    memory: memory!,
    relaxedSimd: relaxed !== undefined,
    terminate: () => glue.tandemTerminate(),
    async load(part) {
      const file = urls[part] ?? files.part('threads', part) as URL;
      const reading = coming.get(part) ?? read(part);
      coming.delete(part);
      const bytes = await reading;
      await addPart(module, exports!, await compileBytes(bytes, file.href, OPTION_OF[part]), part, file);
      // Workers compile it when they need it.
      share(part, bytes);
    },
  };
}
