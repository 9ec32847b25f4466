// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The package as one script, for the CPU: smaller than `tandem-rt/static`.

import { openRuntime } from './create_runtime.js';
import type { RuntimeOptions } from './create_runtime.js';
import module from './tandem.wasm';
import kernels from './tandem-kernels.wasm';
import programs from './tandem-programs.wasm';
import fusion from './tandem-fusion.wasm';
import { embeddedFiles } from './files_embedded.js';
import type { Runtime } from './runtime.js';

export * from './api.js';

const files = /* @__PURE__ */ embeddedFiles('tandem-rt/static/cpu', 'cpu', module, { fusion, kernels, programs });

/** As that of `tandem-rt`, but for the CPU only, without threads, and with the module in the script. */
export function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  return openRuntime(files, options, createRuntime);
}
