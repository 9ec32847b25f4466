// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The files of the package beside its script: WebAssembly modules, and scripts that not every program needs. Each entry
// of the package has its own way to them.

import type { DType } from './dtypes.js';
import { TandemError } from './errors.js';
import type { ErrorCode } from './errors.js';
import type { ModulePart } from './module_files.js';
import type { ThreadsFactory } from './platform.js';
import type { Programs, ProgramsPackage } from './programs.js';
import type { WasmEngine } from './wasm/engine.js';
import type { GpuSource } from './wasm/webgpu_source.js';
import type { DeviceSource } from './wasm/webgpu/open_device.js';

/** A WebAssembly file: where it is, or what gives its bytes, by a name that no other file has. */
export type WasmFile = URL | { readonly href: string; bytes(): Promise<ArrayBuffer> };

/** What a module is for; each has parts of its own. */
export type ModuleKind = 'cpu' | 'webgpu' | 'threads';

/** The functions and classes of the package that the script of WebGPU would otherwise have a copy of. */
export interface WebgpuPackage {
  readonly TandemError: typeof TandemError;
  dtypeCode(dtype: DType): number;
}

/** The script of WebGPU. */
export interface WebgpuScript {
  /** Throws TandemError: InvalidArgument for what is no device or GPU, Unavailable without one that can be used. */
  open(source: DeviceSource, common: WebgpuPackage): Promise<GpuSource>;
}

/** The script of programs. */
export interface ProgramsScript {
  open(engine: WasmEngine, common: ProgramsPackage): Programs;
}

/** The script that starts threads. */
export interface ThreadsScript {
  readonly factory: ThreadsFactory;
  /** What the threads run: the script's own place. */
  readonly url: URL;
}

/** The files of an entry of the package; what it does not have, it throws FailedPrecondition or Unavailable for. */
export interface Files {
  /** The module of this kind. */
  module(kind: ModuleKind): WasmFile;
  /** A part of it. */
  part(kind: ModuleKind, part: ModulePart): WasmFile;
  /** Whether none is fetched from a network: then kernels are loaded with the module. */
  readonly isLocal: boolean;
  importPrograms(): Promise<ProgramsScript>;
  importWebgpu(): Promise<WebgpuScript>;
  importThreads(): Promise<ThreadsScript>;
}

/** The files of an entry with one module. */
export interface OneModule extends Partial<Omit<Files, 'module' | 'part' | 'isLocal'>> {
  module(): WasmFile;
  part(part: ModulePart): WasmFile;
  readonly isLocal: boolean;
}

/** The files of `entry`, whose module is of the kind `own`; that with WebGPU is one for the CPU, too. */
export function filesOfOne(entry: string, own: ModuleKind, files: OneModule): Files {
  const missing = (code: ErrorCode, what: string): never => {
    throw new TandemError(code, `${entry} has no ${what}; import from tandem-rt instead`);
  };
  return {
    importPrograms: () => missing('Unimplemented', 'programs'),
    importWebgpu: async () => missing('Unavailable', 'WebGPU'),
    importThreads: async () => missing('Unavailable', 'module with threads'),
    ...files,
    module: (kind) => (kind === 'threads' ? missing('FailedPrecondition', 'module with threads') : files.module()),
    part: (kind, part) => (kind === own ? files.part(part)
      : missing('FailedPrecondition', `code of ${part} for the given module, which is of ${kind}`)),
  };
}
