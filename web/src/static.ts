// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The package as one script, with all in it but threads: for service workers, and for bundlers that know no files.

import { openRuntime } from './create_runtime.js';
import type { RuntimeOptions } from './create_runtime.js';
import module from './tandem-webgpu.wasm';
import kernels from './tandem-webgpu-kernels.wasm';
import programs from './tandem-webgpu-programs.wasm';
import fusion from './tandem-webgpu-fusion.wasm';
import { embeddedFiles } from './files_embedded.js';
import * as webgpu from './wasm/webgpu/webgpu.js';
import type { Runtime } from './runtime.js';

export * from './api.js';

const files = /* @__PURE__ */ embeddedFiles(
  'tandem-rt/static', 'webgpu', module, { fusion, kernels, programs }, { importWebgpu: () => Promise.resolve(webgpu) });

/** As that of `tandem-rt`, but without threads, and with the module in the script. */
export function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  return openRuntime(files, options, createRuntime);
}
