// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// createRuntime for tests: with as many threads as TANDEM_TEST_THREADS says in Node, else by default.

import { createRuntime as create } from 'tandem-rt';

const threads = Number(globalThis.process?.env?.TANDEM_TEST_THREADS ?? 0);

/**
 * As that of the package; what `options` say of threads counts. All kernels are there, as in Node always, so that what
 * is small is available at once.
 */
export async function createRuntime(options = {}) {
  const rt = await create(threads > 0 && options !== null ? { threads, ...options } : options);
  await rt.loadKernels().catch(() => undefined);
  return rt;
}
