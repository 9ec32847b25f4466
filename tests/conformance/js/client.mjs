// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The runner in the browser, on a page or, with `?worker` in its address, in a worker that this same file is for.

const isWorker = typeof document === 'undefined';

async function newClient() {
  const { createRuntime } = await import('/package/index.js');
  const { openSession, runFile } = await import('/conformance/js/run_file.mjs');
  let opened;
  return {
    async open(options) {
      opened = await openSession(createRuntime, options);
    },
    run: (file, settings) => runFile(opened.session, file, settings),
    close: () => opened.runtime.dispose(),
  };
}

// The client of a worker: each call is a message there and one back.
function newProxy() {
  const worker = new Worker(import.meta.url, { type: 'module' });
  const call = (name, ...args) => new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => ('error' in data ? reject(new Error(data.error)) : resolve(data.value));
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ name, args });
  });
  return {
    open: (options) => call('open', options),
    run: (file, settings) => call('run', file, settings),
    close: () => call('close'),
  };
}

if (isWorker) {
  const client = newClient();
  globalThis.onmessage = async ({ data: { name, args } }) => {
    try {
      globalThis.postMessage({ value: await (await client)[name](...args) });
    } catch (error) {
      globalThis.postMessage({ error: String(error?.stack ?? error) });
    }
  };
} else {
  globalThis.conformance = location.search === '?worker' ? newProxy() : newClient();
}
