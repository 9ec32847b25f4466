// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes on the page, then in a module worker, and reports both. Without top-level await, which not all bundlers'
// defaults have.

import { compute } from './compute.js';

function computeInWorker(page) {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  worker.onmessage = (event) => globalThis.report({ end: { page, worker: event.data, isolated: crossOriginIsolated } });
  worker.onerror = (event) => globalThis.report({ end: { page, worker: `the worker failed: ${event.message}` } });
}

compute().catch((error) => String(error.stack ?? error)).then(computeInWorker);
