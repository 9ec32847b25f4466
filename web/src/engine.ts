// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Engine: what computes, as tensors, calls and events see it; wasm/ is one. And what every engine does alike: it finds
// out what is garbage, looks ops up once, and ends.

import { attribute, locationOf, TandemError } from './errors.js';
import type { Entry } from './errors.js';
import type { DType, TypedArray } from './dtypes.js';
import { Events } from './events.js';
import type { EventSink, Listener } from './events.js';
import type { Gpu } from './gpu.js';
import type { HostMemoryInfo } from './memory.js';
import type { Op } from './op.js';
import type { Programs, ProgramsPackage } from './programs.js';
import { Recent } from './recent.js';

/** What an engine has, by its number there: a tensor, an op, attributes, a request, a chain. 0 is none. */
export type Handle = number;

/** A reference to a tensor of an engine. */
export class Ref {
  /** 0 once it is released. */
  pointer: Handle;
  /** The scope that releases it when it ends. */
  scope: object | undefined;

  constructor(pointer: Handle) {
    this.pointer = pointer;
    this.scope = undefined;
  }
}

/** What owns a reference. */
export interface Watched {
  readonly ref: Ref;
}

/** How an engine is made. */
export interface EngineOptions extends Listener {
  /** Threads that compute; 0: the one that loaded it. */
  workers: number;
  /** Bytes; 0 for none. */
  memoryLimit: number;
  /** 0 for the default. */
  pendingLimit: number;
  exact: boolean;
  /** Whether element-wise ops that wait for each other may be computed as one. */
  fuse: boolean;
  trackLocations: boolean;
}

/** What a call may be given besides its arguments. */
export interface CallOptions {
  readonly attrs: Handle;
  readonly chain: Handle;
  readonly request: Handle;
  /** As `location` gives it. */
  readonly location: number;
}

/** Whether a tensor's elements have been computed. */
export type TensorState = 'pending' | 'available' | 'error';

/** What is known of a tensor, without waiting. */
export interface Description {
  readonly state: TensorState;
  /** Undefined if it is not known yet, or the tensor is an error. */
  readonly dtype: DType | undefined;
  /** Likewise. */
  readonly shape: readonly number[] | undefined;
  /** Where the elements are, for `elements`; 0 if they are not dense in memory, or not there yet. */
  readonly place: number;
}

/** A tensor whose elements are yet to be written, and where, for `elements`. */
export interface NewTensor {
  readonly pointer: Handle;
  readonly place: number;
}

/**
 * Attributes in the making, under the names of the op's definition. Values have been checked, but for whether the op
 * takes them, which the call finds out. What fails, fails with the error of an engine without memory.
 */
export interface AttrWriter {
  /** The attributes; 0 before the first is set. The caller's to release. */
  readonly pointer: Handle;
  bool(name: string, value: boolean): void;
  /** At most 2^53 in size. */
  int(name: string, value: number): void;
  float(name: string, value: number): void;
  string(name: string, value: string): void;
  dtype(name: string, value: DType): void;
  /** -1 for what is not known. */
  shape(name: string, value: readonly (number | bigint)[]): void;
  tensor(name: string, dtype: DType, shape: readonly number[], elements: TypedArray): void;
  func(name: string, value: string): void;
  bools(name: string, values: readonly boolean[]): void;
  ints(name: string, values: readonly (number | bigint)[]): void;
  floats(name: string, values: Float32Array): void;
  strings(name: string, values: readonly string[]): void;
  dtypes(name: string, values: readonly DType[]): void;
  shapes(name: string, values: readonly (readonly (number | bigint)[])[]): void;
}

/** The kernels in JavaScript of an engine. */
export interface ScriptKernels {
  /** Runs the kernel of an op for a call of the engine. */
  start(id: number, call: number): void;
  /** Ends the calls that nobody wants any more: all if the engine is gone. */
  poll(): void;
  /** Resolves when no call is left: whether there was one, and the engine is still there. */
  settled(): Promise<boolean>;
}

const NURSERY_SIZE = 512;

/**
 * What computes. One for each runtime. Everything is called on the thread that made it, and nothing waits. Once it is
 * `closed`, what gives something throws why; what releases something does nothing.
 */
export abstract class Engine {
  /** Why nothing can be called any more: the runtime was disposed of, or the engine has failed. */
  closed: TandemError | undefined;
  /** The device that ops run on, if it is not the CPU. */
  gpu: Gpu | undefined;
  /** The event loop's side of it. */
  readonly events: Events;
  /** Whether calls note where in the user's program they are. */
  readonly tracksLocations: boolean;
  /** Where the program called, "file:line:column"; empty if that is not known. */
  callerOf: (entry: Entry) => string = locationOf;
  /** Whether calls may go the short way. */
  readonly isPlain: boolean;
  /** Whether threads of its own compute. */
  readonly hasWorkers: boolean;
  /** How often a tensor was released. */
  releases = 0;
  /** What calls were given lately. */
  readonly recent: Recent;
  /** The op handler over the device's that ops run on; empty for none. */
  handler = '';
  /** Whether calls are being recorded. */
  isRecording = false;
  /** The kernels in JavaScript; undefined for none. */
  declare kernels: ScriptKernels | undefined;
  /** Room for the arguments of the next `call`. Without any while `revive` has to give it anew. */
  abstract args: Uint32Array;

  // What is new, and not watched yet. Watching costs as much as the rest of a small op, and much of what is new is
  // disposed of soon; nothing is found to be garbage before the running job has ended anyway.
  private readonly nursery: Watched[] = [];
  private readonly registry: FinalizationRegistry<Ref>;
  // By name; 0 for what is to be looked up again.
  private ops = new Map<string, Handle>();
  private readonly opsOf = new Map([['', this.ops]]);
  // What must forget this engine when it is closed.
  private readonly users = new Set<Op>();

  protected constructor({ trackLocations, workers, ...listener }: EngineOptions) {
    this.events = new Events(this, listener);
    this.tracksLocations = trackLocations;
    this.isPlain = !trackLocations;
    this.hasWorkers = workers > 0;
    this.recent = new Recent(this);
    this.registry = new FinalizationRegistry((ref) => {
      ++this.events.released;
      this.release(ref);
    });
  }

  // Ops.

  /** The room for arguments, for a call that found it gone. Errors are the caller's of `entry`. */
  abstract revive(entry: Entry): Uint32Array;
  /** Calls an op with the first `count` of `args`. Its result; errors are the caller's of `entry`. */
  abstract call(op: Handle, count: number, entry: Entry, attrs?: Handle): Handle;
  /** Calls an op with any number of arguments and results. Errors are the caller's of `entry`. */
  abstract callMany(
    op: Handle, args: readonly Handle[], numResults: number, options: CallOptions, entry: Entry): Handle[];
  /** The op of this name on the device where ops run; throws NotFound. */
  protected abstract lookUp(name: string): Handle;
  abstract newAttrs(): AttrWriter;
  abstract releaseAttrs(attrs: Handle): void;
  /** What an op is called with for a place in the user's program. Good for the next call. */
  abstract location(text: string): number;
  /** The definitions of all ops, as JSON. */
  abstract registryJson(): string;

  /** Fetches the code of kernels that is not here yet, unless it is. Rejects if it cannot be had; calls then try again. */
  abstract loadKernels(): Promise<void>;
  /** Resolves when no code of kernels is being fetched: whether some was, and calls that waited for it go on. */
  abstract kernelsLoaded(): Promise<boolean>;

  /** Fetches the code that computes calls as one, unless it is here. Rejects if it cannot be had. */
  abstract loadFusion(): Promise<void>;

  // Programs.

  /**
   * Makes the functions that have to do with programs callable; none is called before. Loaded once, unless that fails:
   * then the next call tries again.
   */
  abstract loadPrograms(): Promise<void>;
  /** Opens what has to do with programs. @internal */
  abstract openPrograms(common: ProgramsPackage): Promise<Programs>;

  // Tensors.

  /** A tensor of numbers for the caller to fill. Throws ResourceExhausted. */
  abstract allocate(dtype: DType, shape: readonly number[]): NewTensor;
  /** So many elements at a place, until anything of the engine is called. */
  abstract elements(dtype: DType, place: number, count: number): TypedArray;
  /** Of texts, or of the bytes of strings. */
  abstract createStrings(strings: readonly (string | Uint8Array)[], shape: readonly number[]): Handle;
  /** A number that the dtype takes; 0 without memory for it. */
  abstract createScalar(dtype: DType, value: number): Handle;
  /**
   * `values`, available numbers, as elements of the dtype that `like`, which is pending, turns out to have, for an
   * input of an op; 0 without memory for it.
   */
  abstract castLike(
    values: Handle, like: Handle, op: Handle, input: number, request: Handle, location: number): Handle;
  abstract state(tensor: Handle): TensorState;
  /** The dtype, if it is known already. */
  abstract dtypeOf(tensor: Handle): DType | undefined;
  abstract describe(tensor: Handle): Description;
  /** The error that it is. */
  abstract errorOf(tensor: Handle): TandemError;
  /** Another reference to it. */
  abstract share(tensor: Handle): Handle;
  /** Where the elements of an available tensor of numbers are, which are made dense for that. */
  abstract placeOf(tensor: Handle): number;
  /** So many strings of an available tensor of strings. */
  abstract strings(tensor: Handle, count: number): string[];
  /** Their bytes. */
  abstract stringBytes(tensor: Handle, count: number): Uint8Array[];
  /** Describes an available tensor with at most so many elements. */
  abstract text(tensor: Handle, maxElements: number): string;
  abstract releaseTensor(tensor: Handle): void;

  // Requests, chains, events.

  /** Milliseconds; negative for none. */
  abstract createRequest(timeout: number): Handle;
  abstract cancelRequest(request: Handle, reason: string): void;
  abstract releaseRequest(request: Handle): void;
  abstract createChain(): Handle;
  abstract releaseChain(chain: Handle): void;
  /** Has the event of an id sent once a tensor is available or an error. */
  abstract askReady(tensor: Handle, id: number): void;
  /** The same for the effects of the calls that a chain was given so far. */
  abstract askChainReady(chain: Handle, id: number): void;
  /** The same for when nothing is queued or running. */
  abstract askSettled(id: number): void;
  /** Computes for about so many milliseconds; whether there is more to compute now. */
  abstract runTasks(milliseconds: number): boolean;
  /** Runs what is short of the queued tasks for about so long, or until the tensor is available. */
  abstract help(tensor: Handle, milliseconds: number): void;
  /** Tells the events that have come. */
  abstract takeEvents(sink: EventSink): void;

  // State.

  abstract memory(): HostMemoryInfo;
  /** Garbage has been collected; it is to be again when more than `threshold` bytes are in use. */
  abstract collected(threshold: number): void;
  /** Makes all that is pending a Cancelled error, and every later call, until `restart`. */
  abstract cancel(reason: string | undefined): void;
  abstract restart(): void;
  abstract startTrace(): void;
  abstract stopTrace(): void;
  abstract clearTrace(): void;
  abstract traceJson(): string;
  /** What to throw for something that the engine itself has thrown. It is unusable from then on. */
  abstract trap(error: unknown): TandemError;
  /** Gives up what the engine is made of. Called once. */
  protected abstract end(): void;

  /** A new error that says why nothing can be called. */
  whyClosed(): TandemError {
    const { code, message, cause } = this.closed!;
    return new TandemError(code, message, cause === undefined ? {} : { cause });
  }

  /** An op, looked up once. Errors are the caller's of `entry`. */
  op(op: Op, entry: Entry): Handle {
    let pointer = this.ops.get(op.name) ?? 0;
    if (pointer === 0) {
      try {
        pointer = this.lookUp(op.name);
      } catch (error) {
        throw error instanceof TandemError ? attribute(error, entry) : error;
      }
      this.ops.set(op.name, pointer);
    }
    this.users.add(op);
    return pointer;
  }

  /** The names of ops that were looked up to be called, sorted. */
  usedOps(): string[] {
    const names = new Set<string>();
    for (const ops of this.opsOf.values()) for (const name of ops.keys()) names.add(name);
    return [...names].sort();
  }

  /** Has ops called through another op handler from here on. */
  useHandler(handler: string): void {
    this.handler = handler;
    let ops = this.opsOf.get(handler);
    if (ops === undefined) this.opsOf.set(handler, ops = new Map());
    this.ops = ops;
    for (const op of this.users) op.forget(this);
  }

  /** Has ops looked up again, since there are more kernels now. */
  protected renewOps(): void {
    for (const ops of this.opsOf.values()) for (const name of ops.keys()) ops.set(name, 0);
    for (const op of this.users) op.forget(this);
  }

  /** Moves a new tensor to where ops run; gives it up if that fails. */
  place(tensor: Handle): Handle {
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
    this.releaseTensor(pointer);
  }

  /** Cancels what is pending, rejects what waits, and gives the engine up with its memory. */
  dispose(): void {
    if (this.closed !== undefined) return;
    const reason = new TandemError('FailedPrecondition', 'the runtime has been disposed of');
    try {
      this.cancel(reason.message);
      this.events.take();
    } catch (error) {
      this.trap(error);
    }
    this.close(reason);
  }

  protected close(why: TandemError): void {
    if (this.closed !== undefined) return;
    this.closed = why;
    for (const op of this.users) op.forget(this);
    this.users.clear();
    this.events.close();
    this.kernels?.poll();
    this.gpu?.close();
    // Its memory goes when nothing refers to it, though tensors and the runtime may still be held.
    this.end();
  }
}
