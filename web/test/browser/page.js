// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The page's part of a test run: starts the tests here or in a module worker, and passes on what they report.

if (new URLSearchParams(location.search).get('in') === 'worker') {
  const worker = new Worker(new URL(`worker.js${location.search}`, import.meta.url), { type: 'module' });
  worker.onmessage = (event) => globalThis.report(event.data);
  worker.onerror = (event) => {
    globalThis.report({ end: { error: `the worker failed: ${event.message} (${event.filename}:${event.lineno})` } });
  };
} else {
  const { runTests } = await import('./run_tests.js');
  await runTests((value) => globalThis.report(value));
}
