// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The runner in a browser: on a page, which imports this file, or in a worker, which this file is the script of.

import { openSession, runFile } from './run_file.mjs';

async function open(options) {
  const { createRuntime } = await import('/package/index.js');
  const { runtime, session } = await openSession(createRuntime, options);
  return { run: (file, settings) => runFile(session, file, settings), close: () => runtime.dispose() };
}

// The same in a worker: each call is a message there and one back.
async function openInWorker(options) {
  const worker = new Worker(import.meta.url, { type: 'module' });
  const call = (name, ...args) => new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => ('error' in data ? reject(new Error(data.error)) : resolve(data.value));
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ name, args });
  });
  await call('open', options);
  return { run: (file, settings) => call('run', file, settings), close: () => call('close') };
}

/** { run(file, settings), close() }; the options are those of openSession and `worker`. */
export function openClient(options) {
  return options.worker ? openInWorker(options) : open(options);
}

if (typeof document === 'undefined') {
  let client;
  globalThis.onmessage = async ({ data: { name, args } }) => {
    try {
      if (name === 'open') client = await open(...args);
      globalThis.postMessage({ value: name === 'open' ? undefined : await client[name](...args) });
    } catch (error) {
      globalThis.postMessage({ error: String(error?.stack ?? error) });
    }
  };
}
