// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Node as the environment of the package.

import { AsyncLocalStorage } from 'node:async_hooks';
import { constants } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { TandemError } from './errors.js';
import { MODULE_FILES } from './module_files.js';
import type { ModuleOption } from './module_files.js';
import type { OpenFileFunction, Platform, ReplaceFileFunction, ThreadsFactory } from './platform.js';

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

async function readBytes(url: URL, option: ModuleOption): Promise<ArrayBuffer> {
  try {
    return await readUrl(url);
  } catch (error) {
    throw new TandemError('NotFound', `expected the file ${MODULE_FILES[option]} at ${url.href}, got ${
      error instanceof Error ? error.message : String(error)}; say where it is by createRuntime({ ${option} })`,
    { cause: error });
  }
}

// The path of a place; undefined for URLs of others. A letter with a colon is a drive.
function pathOf(place: string | URL): string | undefined {
  if (typeof place === 'string' && !/^[a-z][a-z\d+.-]+:/i.test(place)) return place;
  const url = new URL(place);
  return url.protocol === 'file:' ? fileURLToPath(url) : undefined;
}

const PIECE_BYTES = 1 << 20;

async function* chunksOfFile(file: FileHandle): AsyncGenerator<Uint8Array, void, void> {
  try {
    const piece = new Uint8Array(PIECE_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, piece.length, null);
      if (bytesRead === 0) return;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** Ordinary files; opening a pipe would wait for its other end. */
export const openFile: OpenFileFunction = async (place, fail) => {
  const path = pathOf(place);
  if (path === undefined) return undefined;
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const got = code === 'ENOENT' ? 'expected a file, got none of this name'
      : `expected a file that can be read, got: ${message}`;
    throw fail('NotFound', `${path}: ${got}`, error);
  }
  const found = await file.stat();
  if (!found.isFile()) {
    await file.close();
    throw fail('InvalidArgument',
      `${path}: expected an ordinary file, got ${found.isDirectory() ? 'a folder' : 'a pipe or a device'}`);
  }
  return { name: path, size: found.size, chunks: chunksOfFile(file) };
};

let written = 0;

/** On disk before the rename, or a crash could leave an empty file under the final name. */
export const replaceFile: ReplaceFileFunction = async (place, bytes, fail) => {
  const path = pathOf(place);
  if (path === undefined) throw fail('InvalidArgument', `expected a path or a file URL, got ${String(place)}`);
  const temporary = `${path}.${process.pid}-${++written}.tmp`;
  try {
    const file = await open(temporary, 'wx');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw fail('FailedPrecondition', `${path}: expected to write it, got: ${
      error instanceof Error ? error.message : String(error)}`, error);
  }
};

/** Node. */
export const platform: Platform = {
  baseUrl: () => pathToFileURL(`${process.cwd()}/`).href,
  wasmUrl: () => new URL('./tandem.wasm', import.meta.url),
  // Each as a literal, which bundlers look for.
  partUrl: (part) => (part === 'kernels'
    ? new URL('./tandem-kernels.wasm', import.meta.url)
    : new URL('./tandem-programs.wasm', import.meta.url)),
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
  isLocal: true,
  threadsWasmUrl: () => new URL('./tandem-threads.wasm', import.meta.url),
  threadsPartUrl: (part) => (part === 'kernels'
    ? new URL('./tandem-threads-kernels.wasm', import.meta.url)
    : new URL('./tandem-threads-programs.wasm', import.meta.url)),
  async importThreads() {
    return ((await import('./tandem-threads-node.js' as string)) as { default: ThreadsFactory }).default;
  },
  print: (text) => void process.stdout.write(text),
};
