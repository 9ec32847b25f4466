// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Browsers, pages and workers alike, as the environment of the package; and what is like them.

import { TandemError } from './errors.js';
import { MODULE_FILES } from './module_files.js';
import type { ModuleOption } from './module_files.js';
import type { OpenFileFunction, Platform, ReplaceFileFunction } from './platform.js';

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
// Tasks and milliseconds to wait for a collection and its finalizers. On a busy machine a collection takes longer than
// many tasks; where nothing makes the engine collect, work that waits for memory is not to wait long.
const LEAST_TRIES = 40;
const LONGEST_MS = 1000;
// Tasks in which finalizers follow a collection: each registry's come in a task of their own.
const TURNS_OF_FINALIZERS = 10;

// A finalizer is called after each collection that finds its object unreachable: so it tells that one is over.
const collections = new FinalizationRegistry<() => void>((tell) => tell());

async function collectGarbage(isDone: () => boolean): Promise<void> {
  const { gc } = globalThis as { gc?: () => void };
  const start = performance.now();
  let turnsSince: number | undefined;  // the collection
  collections.register({}, () => {
    turnsSince ??= 0;
  });
  for (let tries = 0; !isDone(); ++tries) {
    if (tries >= LEAST_TRIES && performance.now() - start > LONGEST_MS) return;
    if (turnsSince !== undefined && ++turnsSince > TURNS_OF_FINALIZERS) return;
    if (gc) gc();
    else if (turnsSince === undefined) {
      try {
        new ArrayBuffer(GARBAGE_BYTES);
      } catch {
        // There is no room, so that the engine has collected.
      }
    }
    await new Promise<void>((resolve) => {
      if (tries < LEAST_TRIES) macrotask(resolve);
      else setTimeout(resolve, 1);
    });
  }
}

function threadCount(): number {
  return Math.max(1, Math.min(globalThis.navigator?.hardwareConcurrency ?? 1, 16));
}

async function fetchModule(url: URL, option: ModuleOption): Promise<Response> {
  const expected = `expected the file ${MODULE_FILES[option]} at ${url.href}`;
  const advice = `say where it is by createRuntime({ ${option} }), or import from tandem-rt/static`;
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
  async read(url, option) {
    const response = await fetchModule(url, option);
    // Only then browsers compile it while it arrives.
    const isWasm = /^application\/wasm$/i.test(response.headers.get('content-type') ?? '');
    return isWasm && 'compileStreaming' in WebAssembly ? response : response.arrayBuffer();
  },
  readBytes: async (url, option) => (await fetchModule(url, option)).arrayBuffer(),
  macrotask,
  // Pages must not wait, not even a moment.
  pause: () => undefined,
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
  get defaultThreads() {
    return threadCount();
  },
  // Lines are whole: printing ops end with a line break, which the console adds by itself.
  print: (text) => console.log(text.replace(/\n$/, '')),
};
