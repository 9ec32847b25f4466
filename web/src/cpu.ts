// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The package for programs that compute on the CPU, without threads: bundlers find no other module in it.

import { openRuntime } from './create_runtime.js';
import type { RuntimeOptions } from './create_runtime.js';
import { filesOfOne } from './files.js';
import { cpuFiles } from './files_cpu.js';
import type { Runtime } from './runtime.js';

export * from './api.js';

const files = /* @__PURE__ */ filesOfOne('tandem-rt/cpu', 'cpu', cpuFiles);

/** As that of `tandem-rt`, but for the CPU only, and without threads. */
export function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  return openRuntime(files, options, createRuntime);
}
