// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// createRuntime for tests: with as many threads as TANDEM_TEST_THREADS says in Node, else by default.

import { createRuntime as create } from 'tandem-rt';

const threads = Number(globalThis.process?.env?.TANDEM_TEST_THREADS ?? 0);

/** As that of the package; what `options` say of threads counts. */
export function createRuntime(options = {}) {
  return create(threads > 0 && options !== null ? { threads, ...options } : options);
}
