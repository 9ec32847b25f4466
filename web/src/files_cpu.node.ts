// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Files beside the package's script in Node: those for the CPU. The script of programs is in the same file there.

import { readFile } from 'node:fs/promises';
import type { ProgramsScript, WasmFile } from './files.js';
import type { ModulePart } from './module_files.js';
import { unpack } from './unpack.js';
import type { EmbeddedFile } from './unpack.js';
import * as programs from './wasm/programs/programs.js';

const here = import.meta.url as string | undefined;

/**
 * A file beside this one. A bundle, which need not have it there, has it as a script instead. Its URL is in no form that
 * bundlers know, or they would have the file twice.
 */
export function besidePackage(name: string, embedded: () => Promise<{ default: EmbeddedFile }>): WasmFile {
  return {
    href: URL.canParse(name, here) ? new URL(name, here).href : name,
    async bytes() {
      let bytes: Buffer;
      try {
        bytes = await readFile(new URL(name, here));
      } catch {
        return unpack((await embedded()).default);
      }
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    },
  };
}

const parts = {
  kernels: () => besidePackage('tandem-kernels.wasm', () => import('./tandem-kernels.wasm')),
  programs: () => besidePackage('tandem-programs.wasm', () => import('./tandem-programs.wasm')),
  fusion: () => besidePackage('tandem-fusion.wasm', () => import('./tandem-fusion.wasm')),
};

/** The files of the CPU. */
export const cpuFiles = {
  module: () => besidePackage('tandem.wasm', () => import('./tandem.wasm')),
  part: (part: ModulePart) => parts[part](),
  isLocal: true,
  importPrograms: (): Promise<ProgramsScript> => Promise.resolve(programs),
};
