// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Browsers, pages and workers alike, as the environment of the package; and what is like them.

import { TandemError } from './errors.js';
import { MODULE_FILES } from './module_files.js';
import type { ModuleOption } from './module_files.js';
import type { OpenFileFunction, Platform, ReplaceFileFunction, ThreadsFactory } from './platform.js';

let tasks: (() => void)[] = [];
let channel: MessageChannel | undefined;

// Messages are not delayed as timers are, and let the page's other events come between.
function macrotask(fn: () => void): void {
  tasks.push(fn);
  if (tasks.length > 1) return;
  if (channel === undefined) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => {
      const now = tasks;
      tasks = [];
      for (const task of now) task();
    };
  }
  channel.port2.postMessage(0);
}

// Buffers that are dropped at once: their size is what moves the engine to collect. They are never touched, so that
// they take no memory.
const GARBAGE_BYTES = 64 << 20;
const MAX_TRIES = 40;

async function collectGarbage(isDone: () => boolean): Promise<void> {
  const { gc } = globalThis as { gc?: () => void };
  for (let tries = 0; tries < MAX_TRIES && !isDone(); ++tries) {
    if (gc) gc();
    else {
      try {
        new ArrayBuffer(GARBAGE_BYTES);
      } catch {
        // There is no room, so that the engine has collected.
      }
    }
    await new Promise<void>((resolve) => macrotask(resolve));
  }
}

function threadCount(): number {
  return Math.max(1, Math.min(globalThis.navigator?.hardwareConcurrency ?? 1, 16));
}

async function fetchModule(url: URL, option: ModuleOption): Promise<Response> {
  const expected = `expected the file ${MODULE_FILES[option]} at ${url.href}`;
  const advice = `say where it is by createRuntime({ ${option} })`;
  let response: Response;
  try {
    response = await fetch(url, { credentials: 'same-origin' });
  } catch (error) {
    throw new TandemError('Unavailable', `${expected}, got ${
      error instanceof Error ? error.message : String(error)}; ${advice}`, { cause: error });
  }
  if (!response.ok) {
    throw new TandemError('NotFound', `${expected}, got status ${response.status}; ${advice}`);
  }
  return response;
}

/** There are none. */
export const openFile: OpenFileFunction = () => Promise.resolve(undefined);

/** There are none. */
export const replaceFile: ReplaceFileFunction = (path, _, fail) =>
  Promise.reject(fail('Unimplemented', `expected no path, since files are of Node alone, got ${String(path)}`));

/** The browser. */
export const platform: Platform = {
  baseUrl: () => globalThis.location?.href,
  wasmUrl: () => new URL('./tandem.wasm', import.meta.url),
  // Each as a literal, which bundlers look for.
  partUrl: (part) => (part === 'kernels'
    ? new URL('./tandem-kernels.wasm', import.meta.url)
    : new URL('./tandem-programs.wasm', import.meta.url)),
  async read(url, option) {
    const response = await fetchModule(url, option);
    // Only then browsers compile it while it arrives.
    const isWasm = /^application\/wasm$/i.test(response.headers.get('content-type') ?? '');
    return isWasm && 'compileStreaming' in WebAssembly ? response : response.arrayBuffer();
  },
  readBytes: async (url, option) => (await fetchModule(url, option)).arrayBuffer(),
  macrotask,
  collectGarbage,
  stayAlive: () => undefined,
  newContextStorage: () => undefined,
  isIsolated: () => globalThis.crossOriginIsolated === true,
  whyNoThreads() {
    if (typeof SharedArrayBuffer === 'undefined' || globalThis.crossOriginIsolated !== true) {
      return 'the page is not cross-origin isolated: serve it with Cross-Origin-Opener-Policy: same-origin and ' +
        'Cross-Origin-Embedder-Policy: require-corp';
    }
    return typeof Worker === 'undefined' ? 'there are no workers here' : undefined;
  },
  isLocal: false,
  get defaultThreads() {
    return threadCount();
  },
  threadsWasmUrl: () => new URL('./tandem-threads.wasm', import.meta.url),
  threadsPartUrl: (part) => (part === 'kernels'
    ? new URL('./tandem-threads-kernels.wasm', import.meta.url)
    : new URL('./tandem-threads-programs.wasm', import.meta.url)),
  async importThreads() {
    // @ts-ignore: built, and copied beside this file
    return ((await import('./tandem-threads-web.js')) as { default: ThreadsFactory }).default;
  },
  // Lines are whole: printing ops end with a line break, which the console adds by itself.
  print: (text) => console.log(text.replace(/\n$/, '')),
};
