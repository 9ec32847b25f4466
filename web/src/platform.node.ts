// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Node as the environment of the package.

import { AsyncLocalStorage } from 'node:async_hooks';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { TandemError } from './errors.js';
import type { Platform, ThreadsFactory } from './platform.js';

let collect: (() => void) | undefined;
const owners = new Set<object>();
let aliveTimer: ReturnType<typeof setInterval> | undefined;

const LONG_MS = 0x7fffffff;

async function readUrl(url: URL): Promise<ArrayBuffer> {
  if (url.protocol !== 'file:') {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response.arrayBuffer();
  }
  const bytes = await readFile(url);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}

async function readBytes(url: URL): Promise<ArrayBuffer> {
  try {
    return await readUrl(url);
  } catch (error) {
    throw new TandemError('NotFound', `expected the file tandem.wasm at ${url.href}, got ${
      error instanceof Error ? error.message : String(error)}; say where it is by createRuntime({ wasmUrl })`,
    { cause: error });
  }
}

/** Node. */
export const platform: Platform = {
  baseUrl: () => pathToFileURL(`${process.cwd()}/`).href,
  wasmUrl: () => new URL('./tandem.wasm', import.meta.url),
  read: readBytes,
  readBytes,
  macrotask: (fn) => void setImmediate(fn),
  async collectGarbage(isDone) {
    if (collect === undefined) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as () => void;
    }
    // Finalizers come in a task of their own after the collection.
    for (let tries = 0; tries < 2; ++tries) {
      collect();
      for (let turns = 0; turns < 2; ++turns) await new Promise((resolve) => void setImmediate(resolve));
      if (isDone()) return;
    }
  },
  stayAlive(owner, stay) {
    if (stay) owners.add(owner);
    else owners.delete(owner);
    if (owners.size > 0) aliveTimer ??= setInterval(() => undefined, LONG_MS);
    else if (aliveTimer !== undefined) {
      clearInterval(aliveTimer);
      aliveTimer = undefined;
    }
  },
  newContextStorage: () => new AsyncLocalStorage(),
  isIsolated: () => true,
  whyNoThreads: () => undefined,
  defaultThreads: 1,
  threadsWasmUrl: () => new URL('./tandem-threads.wasm', import.meta.url),
  async importThreads() {
    return ((await import('./tandem-threads-node.js' as string)) as { default: ThreadsFactory }).default;
  },
  print: (text) => void process.stdout.write(text),
};
