// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the environment is asked for. The build for Node has platform.node.ts in place of platform.browser.ts.

import type { ErrorCode, TandemError } from './errors.js';
import type { ModuleOption } from './module_files.js';
import type { Tensor } from './tensor.js';

export { openFile, platform, replaceFile } from './platform.browser.js';

/** Makes an error of a function of the package. */
export type MakeError = (code: ErrorCode, text: string, cause?: unknown) => TandemError;

/** A file of the system, read from its begin to its end. */
export interface OpenFile {
  /** Its path. */
  readonly name: string;
  /** In bytes, when it was opened. */
  readonly size: number;
  /** Its bytes, each piece until the next is asked for. Closes the file at the end, and when it is asked to return. */
  readonly chunks: AsyncGenerator<Uint8Array, void, void>;
}

/** Opens a file; undefined for what is not a place of the system, such as any URL in a browser. */
export type OpenFileFunction = (place: string | URL, fail: MakeError) => Promise<OpenFile | undefined>;

/** Writes a file beside a path and then renames it, so that a file there is always whole. */
export type ReplaceFileFunction = (path: string | URL, bytes: Uint8Array, fail: MakeError) => Promise<void>;

/** What the threaded module's glue code asks of us. */
export interface ThreadsOptions {
  /** How many workers to start with. */
  numThreads: number;
  /** Their script. */
  workerUrl: URL;
  onTandemWake(): void;
  /** Carries out what the module says to the device. */
  onTandemExecute(batch: number, words: number, count: number, arena: number, arenaBytes: number): void;
  /** A worker has failed, now or later; all are ended. */
  onTandemFailure(error: unknown): void;
  instantiateWasm(
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
}

/** The threaded module's glue code at work. */
export interface ThreadsGlue {
  /** Ends the workers at once. */
  tandemTerminate(): void;
  /** Puts a part of the module, by its number, where workers find it; whether there was memory for that. */
  tandemShare(part: number, code: Uint8Array): boolean;
}

/** What the glue code's file exports. */
export type ThreadsFactory = (options: ThreadsOptions) => Promise<ThreadsGlue>;

/** Keeps a value for a function and all that follows from it, also across `await`. */
export interface ContextStorage {
  run<T>(value: unknown, fn: () => T): T;
  getStore(): unknown;
}

/** An environment: a browser's page or worker, or Node. */
export interface Platform {
  /** What relative URLs that the user gives are relative to. */
  baseUrl(): string | undefined;
  /**
   * A module there: a response that can be compiled while it arrives, else its bytes. NotFound or Unavailable if it
   * cannot be had.
   */
  read(url: URL, option: ModuleOption): Promise<Response | ArrayBuffer>;
  /** Its bytes in any case. */
  readBytes(url: URL, option: ModuleOption): Promise<ArrayBuffer>;
  /** Runs `fn` soon, after events that wait already. */
  macrotask(fn: () => void): void;
  /** Lets other threads compute for a moment. */
  pause(): void;
  /** Provokes a garbage collection and lets finalizers run, until `isDone` or it seems of no use to try on. */
  collectGarbage(isDone: () => boolean): Promise<void>;
  /** Keeps the process running on behalf of `owner`, or no longer. */
  stayAlive(owner: object, stay: boolean): void;
  /** A storage that follows `await`; undefined where there is none. */
  newContextStorage(): ContextStorage | undefined;
  /** Whether memory may be shared between threads. */
  isIsolated(): boolean;
  /** Why the threaded module cannot be used here; undefined if it can. */
  whyNoThreads(): string | undefined;
  /** How many threads 'auto' means; 1 if the module without threads is the default. */
  readonly defaultThreads: number;
  /** Has tensors shown with their elements, where what shows values asks how. */
  showTensors?(prototype: Tensor): void;
  /** Writes a text to standard output. */
  print(text: string): void;
}
