// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The package: everything that a program may import.

import { openRuntime } from './create_runtime.js';
import type { RuntimeOptions } from './create_runtime.js';
import { allFiles } from './files_all.js';
import type { Runtime } from './runtime.js';

export * from './api.js';

/**
 * Loads the module and makes a runtime of it.
 *
 * @throws TandemError InvalidArgument for wrong options; Unimplemented without WebAssembly SIMD; NotFound, Unavailable,
 * DataLoss or FailedPrecondition for a wasm file that is missing, cannot be fetched, is damaged, or is of another
 * version; Unavailable for a device that is not there.
 */
export function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  return openRuntime(allFiles, options, createRuntime);
}
