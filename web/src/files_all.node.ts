// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// All files beside the package's script in Node. The script of WebGPU is in the same file there.

import type { Files } from './files.js';
import { besidePackage, cpuFiles } from './files_cpu.node.js';
import type { ThreadsFactory } from './platform.js';
import * as webgpu from './wasm/webgpu/webgpu.js';

/** The files of the package's main entry. */
export const allFiles: Files = {
  module: (kind) => (kind === 'cpu' ? cpuFiles.module()
    : kind === 'webgpu' ? besidePackage('tandem-webgpu.wasm', () => import('./tandem-webgpu.wasm'))
    : new URL('./tandem-threads.wasm', import.meta.url)),
  part: (kind, part) => (kind === 'cpu' ? cpuFiles.part(part)
    : kind === 'webgpu'
      ? part === 'kernels'
        ? besidePackage('tandem-webgpu-kernels.wasm', () => import('./tandem-webgpu-kernels.wasm'))
        : part === 'fusion'
          ? besidePackage('tandem-webgpu-fusion.wasm', () => import('./tandem-webgpu-fusion.wasm'))
          : besidePackage('tandem-webgpu-programs.wasm', () => import('./tandem-webgpu-programs.wasm'))
      : part === 'kernels'
        ? new URL('./tandem-threads-kernels.wasm', import.meta.url)
        : part === 'fusion'
          ? new URL('./tandem-threads-fusion.wasm', import.meta.url)
          : new URL('./tandem-threads-programs.wasm', import.meta.url)),
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
