// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// All files beside the package's script, in browsers; the build for Node has files_all.node.ts in place of this file.
// This is a file of its own, since bundlers copy what a file names, used or not.

import type { Files, ThreadsScript, WebgpuScript } from './files.js';
import { cpuFiles, importScript, placeOf } from './files_cpu.js';
import type { ThreadsFactory } from './platform.js';

const parts = {
  webgpu: {
    kernels: () => placeOf(
      'tandem-webgpu-kernels.wasm', () => new URL('./tandem-webgpu-kernels.wasm', import.meta.url)),
    programs: () => placeOf(
      'tandem-webgpu-programs.wasm', () => new URL('./tandem-webgpu-programs.wasm', import.meta.url)),
    fusion: () => placeOf(
      'tandem-webgpu-fusion.wasm', () => new URL('./tandem-webgpu-fusion.wasm', import.meta.url)),
  },
  threads: {
    kernels: () => placeOf(
      'tandem-threads-kernels.wasm', () => new URL('./tandem-threads-kernels.wasm', import.meta.url)),
    programs: () => placeOf(
      'tandem-threads-programs.wasm', () => new URL('./tandem-threads-programs.wasm', import.meta.url)),
    fusion: () => placeOf(
      'tandem-threads-fusion.wasm', () => new URL('./tandem-threads-fusion.wasm', import.meta.url)),
  },
};

/** The files of the package's main entry. */
export const allFiles: Files = {
  module: (kind) => (kind === 'cpu' ? cpuFiles.module()
    : kind === 'webgpu' ? placeOf('tandem-webgpu.wasm', () => new URL('./tandem-webgpu.wasm', import.meta.url))
    : placeOf('tandem-threads.wasm', () => new URL('./tandem-threads.wasm', import.meta.url))),
  part: (kind, part) => (kind === 'cpu' ? cpuFiles.part(part) : parts[kind][part]()),
  isLocal: cpuFiles.isLocal,
  importPrograms: cpuFiles.importPrograms,
  importWebgpu: (): Promise<WebgpuScript> => importScript(
    placeOf('tandem-webgpu.js', () => new URL('./tandem-webgpu.js', import.meta.url)), 'webgpu'),
  async importThreads(): Promise<ThreadsScript> {
    const url = placeOf('tandem-threads-web.js', () => new URL('./tandem-threads-web.js', import.meta.url));
    return { factory: await importScript<ThreadsFactory>(url, 'threads'), url };
  },
};
