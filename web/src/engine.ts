// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A module instance at work: calls into it, errors out of it, and its end.

import { attribute, codeOfNumber, TandemError, textOf } from './errors.js';
import type { Entry } from './errors.js';
import { Events } from './events.js';
import type { Listener } from './events.js';
import type { Gpu } from './gpu.js';
import { Heap } from './heap.js';
import type { Op } from './op.js';
import type { WasmExports, WasmInstance } from './module.js';
import { Recent } from './recent.js';

/** A reference to a tensor of the module. */
export class Ref {
  /** The tandem_tensor*; 0 once it is released. */
  pointer: number;

  constructor(pointer: number) {
    this.pointer = pointer;
  }
}

/** What owns a reference. */
export interface Watched {
  readonly ref: Ref;
}

/** How an engine is made. */
export interface EngineOptions extends Listener {
  /** Threads that compute; 0: the one that loaded the module. */
  workers: number;
  /** Bytes; 0 for none. */
  memoryLimit: number;
  /** 0 for the default. */
  pendingLimit: number;
  trackLocations: boolean;
}

// Offsets in the scratch area, in bytes. At its begin is room for the results of C functions.
/** Of a tandem_js_description, or another struct that a function fills. */
export const DESCRIPTION = 64;
/** Of a tandem_call_options. */
const OPTIONS = 160;
/** Of another one, in which attributes are all that is ever set. */
const PLAIN_OPTIONS = 192;
/** Of events. */
export const EVENTS = 256;
/** How many there is room for. */
export const MAX_EVENTS = 64;
/** Of the arguments of a call, and the results behind them; of dimensions. */
export const ARGUMENTS = 2048;
const MAX_TENSORS = 4096;
const CALL_OPTIONS_BYTES = 28;
const NURSERY_SIZE = 512;

const failClosed = (): never => {
  throw new Error('the module is closed');
};
const NO_EXPORTS = {} as WasmExports;

/** What a call may be given besides its arguments; addresses, or 0. */
export interface CallOptions {
  attrs: number;
  chain: number;
  request: number;
  location: number;
}

/** See above. One for each runtime. */
export class Engine {
  exports: WasmExports;
  readonly heap: Heap;
  /** Why nothing can be called any more: the runtime was disposed of, or the module has failed. */
  closed: TandemError | undefined;
  /** The tandem_runtime*. */
  readonly runtime: number;
  /** The tandem_js*. */
  readonly js: number;

  /** The device that ops run on, if it is not the CPU. */
  gpu: Gpu | undefined;
  /** The event loop's side of it. */
  readonly events: Events;
  /** Whether calls note where in the user's program they are. */
  readonly tracksLocations: boolean;
  /** Whether calls may go the short way. */
  readonly isPlain: boolean;
  /** How often a tensor was released. */
  releases = 0;
  /** What calls were given lately. */
  readonly recent: Recent;
  /** Index in `heap.u32` of the arguments and of the result of a call. */
  readonly argumentsAt: number;
  private readonly resultsAt: number;
  private opExecute: (op: number, args: number, count: number, options: number, results: number,
    numResults: number) => number;
  private tensorRelease: (tensor: number) => number;
  // What is new, and not watched yet. Watching costs as much as the rest of a small op, and much of what is new is
  // disposed of soon; nothing is found to be garbage before the running job has ended anyway.
  private readonly nursery: Watched[] = [];
  private readonly registry: FinalizationRegistry<Ref>;
  private readonly ops = new Map<string, number>();
  // What must forget this engine when it is closed.
  private readonly users = new Set<Op>();
  private readonly names = new Map<string, number>();
  private locations = new Map<string, number>();
  private instance: WasmInstance | undefined;

  constructor(instance: WasmInstance, options: EngineOptions) {
    const { exports } = instance;
    this.instance = instance;
    this.exports = exports;
    this.events = new Events(this, options);
    this.tracksLocations = options.trackLocations;
    this.isPlain = !options.trackLocations;
    this.heap = new Heap(instance.memory, { malloc: exports.malloc, free: exports.free });
    this.argumentsAt = (this.heap.scratch + ARGUMENTS) >>> 2;
    this.resultsAt = this.heap.scratch >>> 2;
    this.heap.u32.set([CALL_OPTIONS_BYTES, 0, 0, 0, 0, 0, 0], (this.heap.scratch + PLAIN_OPTIONS) >>> 2);
    this.recent = new Recent(this);
    this.opExecute = exports.tandem_op_execute;
    this.tensorRelease = exports.tandem_tensor_release;
    this.registry = new FinalizationRegistry((ref) => {
      ++this.events.released;
      this.release(ref);
    });
    this.check(exports.tandem_js_create(options.workers, options.memoryLimit, options.pendingLimit,
      options.onDiagnostic ? 1 : 0, this.heap.scratch));
    this.js = this.result();
    this.runtime = exports.tandem_js_runtime(this.js) >>> 0;
  }

  // Calls.

  /** The u32 that a C function gave through its last parameter, which pointed to the scratch area. */
  result(index = 0): number {
    if (this.heap.u32.length === 0) this.heap.renew();
    return this.heap.u32[this.resultsAt + index]!;
  }

  /** Runs `fn`, which calls the module; makes a trap an error, after which nothing works any more. */
  guard<T>(fn: (exports: WasmExports, scratch: number) => T): T {
    if (this.closed !== undefined) throw this.whyClosed();
    try {
      this.heap.renew();
      return fn(this.exports, this.heap.scratch);
    } catch (error) {
      throw isTrap(error) ? this.trap(error) : error;
    }
  }

  /** Throws the error that a status is, unless it is 0. */
  check(status: number): void {
    if (status !== 0) throw this.takeStatus(status);
  }

  /** As check; the error is the caller's of `entry`. */
  checkAt(status: number, entry: Entry): void {
    if (status !== 0) throw attribute(this.takeStatus(status), entry);
  }

  /** The error of a tandem_status*, which it releases. */
  takeStatus(status: number): TandemError {
    const { exports, heap } = this;
    const cause = exports.tandem_status_cause(status) >>> 0;
    const op = heap.cString(exports.tandem_status_op(status) >>> 0);
    const location = heap.cString(exports.tandem_status_location(status) >>> 0);
    const way = heap.cString(exports.tandem_status_way(status) >>> 0);
    const error = new TandemError(
      codeOfNumber(exports.tandem_status_code(status)), heap.cString(exports.tandem_status_message(status) >>> 0), {
        ...(op === '' ? {} : { op }),
        ...(location === '' ? {} : { location }),
        ...(way === '' ? {} : { way: way.trimEnd().split('\n') }),
        ...(cause === 0 ? {} : { cause: this.takeStatus(cause) }),
      });
    exports.tandem_status_release(status);
    return error;
  }

  /** A new error that says why nothing can be called. */
  whyClosed(): TandemError {
    const { code, message, cause } = this.closed!;
    return new TandemError(code, message, cause === undefined ? {} : { cause });
  }

  /** What to throw for something that was thrown by the module itself. The runtime is unusable from then on. */
  trap(error: unknown): TandemError {
    if (this.closed !== undefined) return this.whyClosed();
    this.close(new TandemError('Internal',
      `the WebAssembly module failed (${textOf(error)}), so that this runtime cannot be used any more; create another`,
      { cause: error }));
    return this.whyClosed();
  }

  /** The views of the memory, for a call that found them without a buffer. */
  revive(entry: Entry): Uint32Array {
    if (this.closed !== undefined) throw attribute(this.whyClosed(), entry);
    this.heap.renew();
    return this.heap.u32;
  }

  /**
   * Calls an op, looked up by `op`, whose `count` arguments are in the scratch area already, with a tandem_attrs* or 0.
   * The tandem_tensor* of its result; errors are the caller's of `entry`.
   */
  call(op: number, count: number, entry: Entry, attrs = 0): number {
    const { heap } = this;
    let options = 0;
    if (attrs !== 0) {
      options = heap.scratch + PLAIN_OPTIONS;
      heap.u32[(options >>> 2) + 1] = attrs;
    }
    let status: number;
    try {
      status = this.opExecute(op, heap.scratch + ARGUMENTS, count, options, heap.scratch, 1);
    } catch (error) {
      throw attribute(this.trap(error), entry);
    }
    if (status !== 0) throw attribute(this.takeStatus(status), entry);
    let { u32 } = heap;
    if (u32.length === 0) u32 = this.revive(entry);
    return u32[this.resultsAt]!;
  }

  /** Calls an op with any number of arguments and results. The tandem_tensor* of its results. */
  callMany(op: number, args: readonly number[], numResults: number, options: CallOptions, entry: Entry): number[] {
    if (this.closed !== undefined) throw attribute(this.whyClosed(), entry);
    const { heap } = this;
    const total = args.length + numResults;
    const room = total > MAX_TENSORS ? heap.malloc(4 * total) : heap.scratch + ARGUMENTS;
    try {
      heap.renew();
      heap.u32.set(args, room >>> 2);
      heap.u32.set([CALL_OPTIONS_BYTES, options.attrs, 0, options.chain, options.request, options.location, 0],
        (heap.scratch + OPTIONS) >>> 2);
      const results = room + 4 * args.length;
      const status = this.guard((_, scratch) =>
        this.opExecute(op, room, args.length, scratch + OPTIONS, results, numResults));
      this.checkAt(status, entry);
      heap.renew();
      return Array.from(heap.u32.subarray(results >>> 2, (results >>> 2) + numResults));
    } finally {
      if (total > MAX_TENSORS && this.closed === undefined) heap.free(room);
    }
  }

  /** The tandem_op* of an op, looked up once. Errors are the caller's of `entry`. */
  op(op: Op, entry: Entry): number {
    let pointer = this.ops.get(op.name);
    if (pointer === undefined) {
      if (this.closed !== undefined) throw attribute(this.whyClosed(), entry);
      const text = this.heap.newCString(op.name);
      const device = this.gpu ? this.name('webgpu') : 0;
      const status = this.guard((exports, scratch) => exports.tandem_op_create(this.runtime, text, device, scratch));
      this.heap.free(text);
      this.checkAt(status, entry);
      pointer = this.result();
      this.ops.set(op.name, pointer);
    }
    this.users.add(op);
    return pointer;
  }

  /** The address of a text that is kept, such as an attribute's name. */
  name(text: string): number {
    let address = this.names.get(text);
    if (address === undefined) {
      address = this.heap.newCString(text);
      this.names.set(text, address);
    }
    return address;
  }

  /** The same for a place in the user's program; not kept for good, since programs may make them up. */
  location(text: string): number {
    let address = this.locations.get(text);
    if (address === undefined) {
      if (this.locations.size >= 10_000) {
        for (const old of this.locations.values()) this.heap.free(old);
        this.locations = new Map();
      }
      address = this.heap.newCString(text);
      this.locations.set(text, address);
    }
    return address;
  }

  /** Moves a new tensor to where ops run; gives it up if that fails. */
  place(tensor: number): number {
    return this.gpu?.place(tensor) ?? tensor;
  }

  /** Releases what `target` refers to when it is garbage, unless it has been by then. */
  watch(target: Watched): void {
    const { nursery } = this;
    if (nursery.push(target) === 1) queueMicrotask(this.watchNursery);
    else if (nursery.length >= NURSERY_SIZE) this.watchNursery();
  }

  private readonly watchNursery = (): void => {
    const { nursery, registry } = this;
    for (const target of nursery) {
      if (target.ref.pointer !== 0) registry.register(target, target.ref);
    }
    nursery.length = 0;
  };

  /** Releases a tensor, if it is not already. */
  release(ref: Ref): void {
    const { pointer } = ref;
    if (pointer === 0) return;
    ref.pointer = 0;
    ++this.releases;
    if (this.closed !== undefined) return;
    try {
      this.tensorRelease(pointer);
    } catch (error) {
      this.trap(error);
    }
  }

  /** The text that a C function gives through its last two parameters, address and size, and that is to be freed. */
  takeText(ask: (exports: WasmExports, scratch: number) => number): string {
    return this.guard((exports, scratch) => {
      this.check(ask(exports, scratch));
      const address = this.result(0);
      const text = this.heap.text(address, this.result(1));
      exports.tandem_free(address);
      return text;
    });
  }

  // The end.

  /** Cancels what is pending, rejects what waits, and gives the instance up with its memory. */
  dispose(): void {
    if (this.closed !== undefined) return;
    const reason = new TandemError('FailedPrecondition', 'the runtime has been disposed of');
    try {
      const text = this.heap.newCString(reason.message);
      this.check(this.exports.tandem_js_cancel(this.js, text));
      this.events.take();
    } catch (error) {
      this.trap(error);
    }
    this.close(reason);
  }

  private close(why: TandemError): void {
    this.closed ??= why;
    this.heap.close(() => this.whyClosed());
    for (const op of this.users) op.forget(this);
    this.users.clear();
    this.events.close();
    this.gpu?.close();
    this.instance?.terminate();
    // Its memory goes when nothing refers to it, though tensors and the runtime may still be held.
    this.instance = undefined;
    this.exports = NO_EXPORTS;
    this.opExecute = this.tensorRelease = failClosed;
  }
}

// Whether what was thrown left the module in the middle of something: a trap, or no room left on the stack, of which
// Firefox has an error of its own.
function isTrap(error: unknown): boolean {
  return error instanceof WebAssembly.RuntimeError ||
    (error instanceof Error && !(error instanceof TandemError) && /call stack|recursion/.test(error.message));
}
