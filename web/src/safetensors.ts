// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

/// <reference lib="esnext.disposable" preserve="true" />

// Tensors from and to files in the safetensors format.

import { Allocation } from './allocation.js';
import { currentContext, followed, runIn } from './context.js';
import type { Context } from './context.js';
import type { Dom } from './dom.js';
import { byteSize } from './dtypes.js';
import type { DType, TypedArray } from './dtypes.js';
import { attribute, errorFor, failure, locationOf, Over, TandemError } from './errors.js';
import type { Entry as Caller, ErrorCode } from './errors.js';
import { openFile, platform, replaceFile } from './platform.js';
import { Runtime } from './runtime.js';
import { formatHeader, parseHeader, PREFIX_BYTES, readHeaderSize, shown, tooLong } from './safetensors_header.js';
import type { Entry, Fail, TensorToSave } from './safetensors_header.js';
import { bytesOf, problemOf, tagOf } from './sources.js';
import { isTensor } from './tensor.js';
import type { Tensor } from './tensor.js';
import { describe } from './values.js';
import { awaited, signalOf } from './waiting.js';
import type { WaitOptions } from './waiting.js';

/** How far loading or saving has come. */
export interface SafetensorsProgress {
  /** Bytes of the file that are done. */
  readonly loaded: number;
  /** Bytes of the file in all. */
  readonly total: number;
}

/** How tensors are loaded. */
export interface LoadSafetensorsOptions extends WaitOptions {
  /** Called now and then, at the latest with each tensor. What it throws ends the loading, and rejects. */
  onProgress?: ((progress: SafetensorsProgress) => void) | undefined;
  /** Whether to load the tensor of a name; by default all are. What is left out takes no memory. */
  filter?: ((name: string) => boolean) | undefined;
}

/** How tensors are saved. */
export interface SaveSafetensorsOptions extends WaitOptions {
  /** What the file says of itself. */
  metadata?: Readonly<Record<string, string>> | ReadonlyMap<string, string> | undefined;
  /** As for loading. */
  onProgress?: ((progress: SafetensorsProgress) => void) | undefined;
  /**
   * Node alone: a file to write, too. It is written beside and then renamed, so that a file there is always whole, the
   * old one or the new one.
   */
  path?: string | URL | undefined;
}

/**
 * Where a file comes from: a URL to fetch (relative to the page; in Node a string without a scheme, and a file URL, is
 * a file), a response of `fetch`, a Blob or File, or all the bytes, which must not change meanwhile.
 */
export type SafetensorsSource =
  | string | Dom<'URL'> | Dom<'Response'> | Dom<'Blob'> | ArrayBufferLike | ArrayBufferView;

/** What a file had in it. Disposing of it disposes of its tensors. */
export class Safetensors {
  /** By name, in the order of their data. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** What the file says of itself. */
  readonly metadata: ReadonlyMap<string, string>;
  /** What errors call the file: its URL, path or name. */
  readonly name: string;

  /** @internal */
  constructor(tensors: ReadonlyMap<string, Tensor>, metadata: ReadonlyMap<string, string>, name: string) {
    this.tensors = tensors;
    this.metadata = metadata;
    this.name = name;
  }

  /** The tensor of a name, which still is this object's. Throws NotFound if there is none. */
  get(name: string): Tensor {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) {
      throw attribute(new TandemError('NotFound',
        `${this.name}: expected a tensor ${shown(String(name))}, got none of this name`), this.get);
    }
    return tensor;
  }

  /** Disposes of all tensors. */
  dispose(): void {
    for (const tensor of this.tensors.values()) tensor.dispose();
  }

  /** As `dispose`, for `using`. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}

// Bytes between two turns of the event loop, where they are all there already.
const CHUNK_BYTES = 4 << 20;

/** A file that is read from its begin to its end. */
interface Input {
  /** What errors call it. */
  readonly name: string;
  /** How many bytes it has, where that is known before. */
  readonly size: number | undefined;
  readonly chunks: AsyncIterator<Uint8Array, void, void>;
}

/** What both functions take. */
interface CommonOptions extends WaitOptions {
  onProgress?: ((progress: SafetensorsProgress) => void) | undefined;
}

/** What loading or saving is done with. */
interface Task<Options extends CommonOptions = CommonOptions> {
  readonly op: string;
  readonly location: string;
  readonly context: Context | undefined;
  /** A copy, in which functions throw what the program's own throw as the reason of Over. */
  readonly options: Options;
}

function errorOf(task: Task, code: ErrorCode, text: string, cause?: unknown): TandemError {
  const { op, location } = task;
  return new TandemError(code, `[${op}] ${text}`, {
    op, ...(location === '' ? {} : { location }), ...(cause === undefined ? {} : { cause }),
  });
}

// Throws what ends the task: the reason of its signal, or of the request that it belongs to.
function checkActive({ options, context }: Task): void {
  if (options.signal?.aborted) throw new Over(options.signal.reason);
  const over = context?.whyOver?.();
  if (over !== undefined) throw new Over(over.reason);
}

function reasonText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function turn(): Promise<void> {
  return new Promise((resolve) => platform.macrotask(resolve));
}

async function* chunksOfBytes(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    if (at > 0) await turn();
    yield bytes.subarray(at, at + CHUNK_BYTES);
  }
}

async function* chunksOfStream(
  stream: ReadableStream<Uint8Array> | null, name: string, task: Task,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = stream?.getReader();
  if (reader === undefined) return;
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await awaited(reader.read(), task.options.signal);
      isDone = done;
      if (done) return;
      yield value;
    }
  } catch (error) {
    checkActive(task);
    throw errorOf(task, 'Unavailable', `${name}: expected to read on, got: ${reasonText(error)}`, error);
  } finally {
    if (!isDone) reader.cancel().catch(() => undefined);
  }
}

function inputOfResponse(response: Response, name: string, task: Task): Input {
  const problem = problemOf(response);
  if (problem !== undefined) throw errorOf(task, problem[0], `${name}: ${problem[1]}`);
  // Of a body that is packed it is the packed size.
  const length = response.headers.get('content-encoding') === null ? response.headers.get('content-length') : null;
  const size = length !== null && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  return { name, size, chunks: chunksOfStream(response.body, name, task) };
}

async function inputOfUrl(source: string | URL, task: Task): Promise<Input> {
  let url: URL;
  try {
    url = new URL(source, platform.baseUrl());
  } catch (error) {
    throw errorOf(task, 'InvalidArgument', `expected a URL, got ${shown(String(source))}`, error);
  }
  const name = url.protocol === 'data:' ? 'data:' : url.href;
  let response: Response;
  try {
    response = await fetch(url, { signal: task.options.signal ?? null });
  } catch (error) {
    checkActive(task);
    throw errorOf(task, 'Unavailable', `${name}: expected a file, got: ${reasonText(error)}`, error);
  }
  return inputOfResponse(response, name, task);
}

async function openInput(source: unknown, task: Task): Promise<Input> {
  const tag = tagOf(source);
  if (tag === 'Response') return inputOfResponse(source as Response, (source as Response).url || 'response', task);
  if (tag === 'Blob' || tag === 'File') {
    const { name = 'blob', size } = source as Partial<File> & Blob;
    const stream = (source as Blob).stream() as ReadableStream<Uint8Array>;
    return { name, size, chunks: chunksOfStream(stream, name, task) };
  }
  let bytes: Uint8Array | undefined;
  try {
    bytes = bytesOf(source);
  } catch {
    // A buffer that has been given away.
  }
  if (bytes !== undefined) return { name: 'bytes', size: bytes.length, chunks: chunksOfBytes(bytes) };
  if (typeof source !== 'string' && tag !== 'URL') {
    throw errorOf(task, 'InvalidArgument',
      `expected a URL, a response, a blob, or bytes that are still there, got ${describe(source)}`);
  }
  const place = typeof source === 'string' ? source : new URL((source as URL).href);
  const file = await openFile(place, (code, text, cause) => errorOf(task, code, text, cause));
  return file ?? inputOfUrl(place, task);
}

/** Takes bytes as they come. */
class Reader {
  /** How many it has given. */
  taken = 0;
  private chunk: Uint8Array = new Uint8Array(0);

  constructor(private readonly input: Input, private readonly task: Task) {}

  // False at the end of the file.
  private async more(): Promise<boolean> {
    while (this.chunk.length === 0) {
      const { done, value } = await this.input.chunks.next();
      checkActive(this.task);
      if (done) return false;
      this.chunk = value;
    }
    return true;
  }

  /** Gives the next bytes to `take`, piece by piece; false if the file ends before. */
  async read(count: number, take: (bytes: Uint8Array, at: number) => void): Promise<boolean> {
    for (let at = 0; at < count;) {
      if (!await this.more()) return false;
      const piece = this.chunk.subarray(0, count - at);
      this.chunk = this.chunk.subarray(piece.length);
      this.taken += piece.length;
      take(piece, at);
      at += piece.length;
    }
    return true;
  }

  /** How many bytes are left; all there is of a file that should have ended. */
  async rest(): Promise<number> {
    let count = 0;
    while (await this.more()) {
      count += this.chunk.length;
      this.chunk = new Uint8Array(0);
    }
    return count;
  }
}

async function readExactly(reader: Reader, count: number): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(count);
  return await reader.read(count, (piece, at) => bytes.set(piece, at)) ? bytes : undefined;
}

// Collects garbage when memory is short, as ops do, before it gives up.
async function allocate(runtime: Runtime, entry: Entry, dtype: DType, task: Task): Promise<Allocation> {
  const make = (): Allocation => new Allocation(runtime, entry.shape, dtype);
  const { events } = runtime.engine;
  if (events.isShort()) await events.collect();
  try {
    return make();
  } catch (error) {
    if (!(error instanceof TandemError) || error.code !== 'ResourceExhausted') throw error;
  }
  await events.collect();
  checkActive(task);
  return make();
}

async function loadTensor(
  runtime: Runtime, reader: Reader, entry: Entry, dtype: DType, task: Task, fail: Fail, onBytes: () => void,
): Promise<Tensor> {
  const failTensor: Fail = (code, text) => fail(code, `tensor ${shown(entry.name)}: ${text}`);
  let allocation: Allocation;
  try {
    allocation = await allocate(runtime, entry, dtype, task);
  } catch (error) {
    if (!(error instanceof TandemError)) throw error;
    throw failTensor(error.code, error.message);
  }
  try {
    const count = entry.end - entry.begin;
    let wrong: readonly [number, number] | undefined;
    const isWhole = await reader.read(count, (piece, at) => {
      // Anew each time: the module's memory may have moved.
      const { buffer, byteOffset } = allocation.view<TypedArray>();
      new Uint8Array(buffer, byteOffset, count).set(piece, at);
      if (dtype === 'bool' && wrong === undefined) {
        const index = piece.findIndex((byte) => byte > 1);
        if (index >= 0) wrong = [piece[index]!, at + index];
      }
      onBytes();
    });
    if (!isWhole) throw failTensor('DataLoss', `expected ${count} bytes, got the end of the file`);
    if (wrong !== undefined) {
      throw failTensor('DataLoss', `expected bools of 0 or 1, got ${wrong[0]} in element ${wrong[1]}`);
    }
    const tensor = (): Tensor => allocation.tensor();
    // Where what follows `await` is not known to belong to the caller's scope.
    return task.context === undefined ? tensor() : runIn(task.context, tensor);
  } finally {
    allocation.dispose();
  }
}

async function loadFrom(runtime: Runtime, input: Input, task: Task<LoadSafetensorsOptions>): Promise<Safetensors> {
  const { onProgress, filter = () => true } = task.options;
  const fail: Fail = (code, text) => errorOf(task, code, `${input.name}: ${text}`);
  const reader = new Reader(input, task);
  const prefix = await readExactly(reader, PREFIX_BYTES);
  if (prefix === undefined) {
    throw fail('DataLoss', `expected ${PREFIX_BYTES} bytes of header length, got ${reader.taken}`);
  }
  const headerSize = readHeaderSize(prefix, input.size, fail);
  const text = await readExactly(reader, headerSize);
  const begin = PREFIX_BYTES + headerSize;
  if (text === undefined) {
    throw fail('DataLoss', `byte 0: expected a header within the file of ${reader.taken} bytes, got a length of ${
      headerSize}`);
  }
  const header = parseHeader(text, input.size === undefined ? undefined : input.size - begin, fail);
  const total = begin + header.dataBytes;
  const onBytes = (): void => onProgress?.({ loaded: reader.taken, total });
  const tensors = new Map<string, Tensor>();
  try {
    onBytes();
    for (const entry of header.entries) {
      const { name, dtype, storedDType } = entry;
      if (!filter(name)) {
        if (!await reader.read(entry.end - entry.begin, onBytes)) {
          throw fail('DataLoss', `tensor ${shown(name)}: expected its bytes, got the end of the file`);
        }
        continue;
      }
      if (dtype === undefined) {
        throw fail('Unimplemented', `tensor ${shown(name)}: expected a dtype that Tandem has, got ${storedDType}`);
      }
      tensors.set(name, await loadTensor(runtime, reader, entry, dtype, task, fail, onBytes));
    }
    const rest = await reader.rest();
    if (rest > 0) throw tooLong(total, rest, fail);
  } catch (error) {
    for (const tensor of tensors.values()) tensor.dispose();
    throw error;
  }
  return new Safetensors(tensors, header.metadata, input.name);
}

// A function of the program's, or undefined; what it throws, the promise is to reject with.
function guarded<Arg, Result>(fn: unknown, name: string, task: Task): ((arg: Arg) => Result) | undefined {
  if (fn === undefined) return undefined;
  if (typeof fn !== 'function') {
    throw errorOf(task, 'InvalidArgument', `expected ${name} to be a function, got ${describe(fn)}`);
  }
  return (arg) => {
    try {
      return (fn as (arg: Arg) => Result)(arg);
    } catch (error) {
      throw new Over(error);
    }
  };
}

// What both functions check before they begin. `names` are the options that there are.
function begin<Options extends CommonOptions>(
  op: string, entry: Caller, given: Options, names: readonly string[],
): Task<Options> {
  const task = { op, location: locationOf(entry), context: currentContext(), options: {} as Options };
  try {
    if (typeof given !== 'object' || given === null) {
      throw errorOf(task, 'InvalidArgument', `expected options to be an object, got ${describe(given)}`);
    }
    const options = { ...given } as unknown as Record<string, unknown>;
    const unknown = Object.keys(options).find((name) => !names.includes(name));
    if (unknown !== undefined) {
      throw errorOf(task, 'InvalidArgument', `expected the options ${names.join(', ')}, got ${unknown}`);
    }
    for (const name of ['onProgress', 'filter']) options[name] = guarded(options[name], name, task);
    task.options = options as Options;
    signalOf(task.options);
    checkActive(task);
    return task;
  } catch (error) {
    throw failure(error, entry, op);
  }
}

// Calls `body`; what it throws becomes what the promise rejects with: an error of the package, a reason, or what a
// function of the program's has thrown.
function perform<Options extends CommonOptions, Result>(
  op: string, entry: Caller, given: Options, names: readonly string[],
  body: (task: Task<Options>) => Promise<Result>,
): Promise<Result> {
  const run = async (): Promise<Result> => {
    const task = begin(op, entry, given, names);
    try {
      return await body(task);
    } catch (error) {
      if (error instanceof Over) throw error.reason;
      if (error instanceof TandemError) throw error;
      const { code, message } = errorFor(op, error);
      throw errorOf(task, code, message.slice(`[${op}] `.length), error);
    }
  };
  return followed(run());
}

/**
 * The tensors of a safetensors file, on the runtime's device. They are filled while the file arrives: it is never in
 * memory as a whole. f16 and bf16 are their bits, as everywhere.
 *
 * Nothing in a file is trusted; a file that is refused leaves no tensor behind.
 *
 * @throws TandemError, which names the file, the tensor or byte, what was expected and what was given: DataLoss for
 * what breaks the format, NotFound for a file that is not there, Unavailable for other answers of a server,
 * Unimplemented for dtypes that Tandem lacks (see `filter`), ResourceExhausted without memory for a tensor; the reason
 * of `signal`.
 */
export function loadSafetensors(
  runtime: Runtime, source: SafetensorsSource, options: LoadSafetensorsOptions = {},
): Promise<Safetensors> {
  return perform('loadSafetensors', loadSafetensors, options, ['signal', 'onProgress', 'filter'], async (task) => {
    if (!(runtime instanceof Runtime)) {
      throw errorOf(task, 'InvalidArgument', `expected a runtime, got ${describe(runtime)}`);
    }
    if (runtime.engine.closed !== undefined) throw runtime.engine.whyClosed();
    const input = await openInput(source, task);
    try {
      return await loadFrom(runtime, input, task);
    } finally {
      await input.chunks.return?.();
    }
  });
}

function pairsOf(value: unknown, what: string, task: Task): [string, unknown][] {
  if (value instanceof Map) return [...value as Map<string, unknown>];
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value);
  throw errorOf(task, 'InvalidArgument', `expected ${what} to be an object or a Map, got ${describe(value)}`);
}

interface TensorHeld extends TensorToSave {
  readonly tensor: Tensor;
}

// Waits for the tensors, since only then their shapes are known for sure.
async function held(tensors: unknown, task: Task, fail: Fail): Promise<TensorHeld[]> {
  const found: TensorHeld[] = [];
  const { signal } = task.options;
  for (const [name, tensor] of pairsOf(tensors, 'tensors', task)) {
    if (!isTensor(tensor)) {
      throw fail('InvalidArgument', `tensor ${shown(String(name))}: expected a tensor, got ${describe(tensor)}`);
    }
    try {
      await tensor.ready({ signal });
    } catch (error) {
      checkActive(task);
      if (!(error instanceof TandemError)) throw error;
      throw errorOf(task, error.code, `tensor ${shown(String(name))}: expected values, got an error: ${error.message}`,
        error);
    }
    const { dtype, shape, size } = tensor;
    found.push({ name, tensor, dtype, shape, byteLength: byteSize(dtype) * size });
  }
  return found;
}

/**
 * The bytes of a safetensors file with these tensors, of any device, by name; in Node `path` writes them to a file,
 * too. Waits for the tensors. The same tensors give the same bytes: the widest elements come first, so that each tensor is
 * aligned to its elements, then names decide.
 *
 * @throws TandemError InvalidArgument for dtypes that the format lacks (string) and for what is no tensor; the error of
 * a tensor that is one, as the cause; ResourceExhausted without memory for the file; the reason of `signal`.
 */
export function saveSafetensors(
  tensors: Readonly<Record<string, Tensor>> | ReadonlyMap<string, Tensor>, options: SaveSafetensorsOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const names = ['metadata', 'signal', 'onProgress', 'path'];
  return perform('saveSafetensors', saveSafetensors, options, names, async (task) => {
    const { metadata, onProgress, path, signal } = task.options;
    const fail: Fail = (code, text) => errorOf(task, code, text);
    const texts = pairsOf(metadata ?? {}, 'metadata', task) as [string, string][];
    const ordered = await held(tensors, task, fail);
    const header = formatHeader(ordered, texts, fail);
    const total = ordered.reduce((sum, { byteLength }) => sum + byteLength, header.length);
    let file: Uint8Array<ArrayBuffer>;
    try {
      file = new Uint8Array(total);
    } catch (error) {
      throw errorOf(task, 'ResourceExhausted', `expected ${total} bytes of memory for the file, got: ${
        reasonText(error)}`, error);
    }
    file.set(header);
    let loaded = header.length;
    onProgress?.({ loaded, total });
    for (const { name, tensor, byteLength } of ordered) {
      // What it rejects with when the signal ends it is the reason, which checkActive throws.
      const data = await tensor.data<TypedArray>({ signal }).finally(() => checkActive(task));
      if (data.byteLength !== byteLength) {
        throw fail('Internal', `tensor ${shown(name)}: expected ${byteLength} bytes, got ${data.byteLength}`);
      }
      file.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), loaded);
      loaded += byteLength;
      onProgress?.({ loaded, total });
    }
    if (path !== undefined) {
      await replaceFile(path, file, (code, text, cause) => errorOf(task, code, text, cause));
    }
    return file;
  });
}
