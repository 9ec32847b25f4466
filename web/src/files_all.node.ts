// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// All files beside the package's script in Node. The script of WebGPU is in the same file there.

import type { Files } from './files.js';
import { besidePackage, cpuFiles } from './files_cpu.node.js';
import type { ThreadsFactory } from './platform.js';
import * as webgpu from './wasm/webgpu/webgpu.js';

const parts = {
  webgpu: {
    kernels: () => besidePackage('tandem-webgpu-kernels.wasm', () => import('./tandem-webgpu-kernels.wasm')),
    programs: () => besidePackage('tandem-webgpu-programs.wasm', () => import('./tandem-webgpu-programs.wasm')),
    fusion: () => besidePackage('tandem-webgpu-fusion.wasm', () => import('./tandem-webgpu-fusion.wasm')),
  },
  threads: {
    kernels: () => new URL('./tandem-threads-kernels.wasm', import.meta.url),
    programs: () => new URL('./tandem-threads-programs.wasm', import.meta.url),
    fusion: () => new URL('./tandem-threads-fusion.wasm', import.meta.url),
  },
};

/** The files of the package's main entry. */
export const allFiles: Files = {
  module: (kind) => (kind === 'cpu' ? cpuFiles.module()
    : kind === 'webgpu' ? besidePackage('tandem-webgpu.wasm', () => import('./tandem-webgpu.wasm'))
    : new URL('./tandem-threads.wasm', import.meta.url)),
  part: (kind, part) => (kind === 'cpu' ? cpuFiles.part(part) : parts[kind][part]()),
  isLocal: cpuFiles.isLocal,
  importPrograms: cpuFiles.importPrograms,
  importWebgpu: () => Promise.resolve(webgpu),
  async importThreads() {
    const url = new URL('./tandem-threads-node.js', import.meta.url);
    const script = await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ url.href) as
      { default: ThreadsFactory };
    return { factory: script.default, url };
  },
};
