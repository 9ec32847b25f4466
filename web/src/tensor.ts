// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

/// <reference lib="esnext.disposable" preserve="true" />

// Tensor: what op functions take and give.

import type { DeviceName } from './capabilities.js';
import { currentContext, contexts, followed } from './context.js';
import type { Context } from './context.js';
import type { DataTypes, DType, TypedArray } from './dtypes.js';
import { Engine, Ref } from './engine.js';
import type { Description, Handle, TensorState } from './engine.js';
import { attribute, attributed, errorFor, errorIn, Over, showPlace, TandemError } from './errors.js';
import type { Entry } from './errors.js';
import { gpuOf } from './gpu.js';
import { toNested, toScalar } from './nested.js';
import type { Nested, Scalar } from './nested.js';
import type { Runtime } from './runtime.js';
import { awaited, signalOf } from './waiting.js';
import type { WaitOptions } from './waiting.js';

/**
 * A tensor of a runtime. Immutable. Its elements may still be being computed: shape and dtype are known before that,
 * and further ops can be called on it at once; `await y.data()` waits for them.
 *
 * `dispose()`, or `using y = …`, frees its memory at once. A tensor that is not disposed of is freed some time after
 * nothing refers to it any more.
 */
export class Tensor<D extends DType = DType> {
  // What others see, such as matchers of tests and structured clones, are the runtime and this: it is equal for
  // tensors that are references to the same elements, and no other.
  /** The runtime that the tensor is of. */
  readonly runtime: Runtime;
  /** @internal */
  readonly ref: Ref;
  #context: Context | undefined;
  // Private to the engine of JavaScript, too: what has it was made here.
  #shape: readonly number[] | undefined;
  #dtype: DType | undefined;

  /** @internal */
  constructor(runtime: Runtime, engine: Engine, pointer: Handle) {
    if (!(engine instanceof Engine)) throw notMade('Tensor');
    this.runtime = runtime;
    this.ref = new Ref(pointer);
    this.#context = undefined;
    this.#shape = undefined;
    this.#dtype = undefined;
  }

  /** Whether a value is a tensor made here, not by another copy of the package, and no object like one. @internal */
  static isOurs(value: unknown): value is Tensor {
    return typeof value === 'object' && value !== null && #shape in value;
  }

  /** @internal */
  get engine(): Engine {
    // An object that only looks like a tensor has no runtime, which is said later.
    return (this.runtime as Runtime | undefined)?.engine as Engine;
  }

  /** The context it was made in, which what is computed from it belongs to, too. @internal */
  get context(): Context | undefined {
    return this.#context;
  }

  set context(context: Context | undefined) {
    this.#context = context;
  }

  /**
   * The sizes of its dimensions; empty for a single number.
   *
   * @throws TandemError FailedPrecondition while it depends on data that is pending (`await y.ready()` first), and once
   * disposed of; the tensor's own error if it is one.
   */
  get shape(): readonly number[] {
    return (isTensor(this) ? this.#shape : undefined) ?? this.describeFor('shape').shape;
  }

  /** The type of its elements. Throws as `shape` does. */
  get dtype(): D {
    return ((isTensor(this) ? this.#dtype : undefined) ?? this.describeFor('dtype').dtype) as D;
  }

  /** How many dimensions it has. Throws as `shape` does. */
  get rank(): number {
    return this.shape.length;
  }

  /** How many elements it has. Throws as `shape` does. */
  get size(): number {
    return this.shape.reduce((product, dim) => product * dim, 1);
  }

  /** Where its elements are. */
  get device(): DeviceName {
    const pointer = this.pointerFor('device');
    return this.engine.gpu?.isOn(pointer) ? 'webgpu' : 'cpu';
  }

  /** Whether `dispose` was called, on the tensor or on its runtime. */
  get disposed(): boolean {
    return !isTensor(this) || this.ref.pointer === 0 || this.engine.closed !== undefined;
  }

  /** Whether the elements have been computed. Throws FailedPrecondition once the tensor is disposed of. */
  get state(): TensorState {
    const pointer = this.pointerFor('state');
    return this.engine.state(pointer);
  }

  /**
   * Waits for the elements and copies them, row-major: f16 and bf16 as their bits, c64 as real and imaginary part by
   * turns, bool as 0 and 1, strings as a list.
   *
   * `data<Float32Array>()` says to the compiler what the program knows of the dtype; it is not checked.
   *
   * @throws TandemError the error that the tensor has become; the reason of `signal`, which ends the waiting only.
   */
  data<A extends TypedArray | string[] = DataTypes[D]>(options?: WaitOptions): Promise<A> {
    return this.whenAvailable(options, this.data, (pointer) => this.copyElements(pointer) as A);
  }

  /**
   * As `data`, but at once: what has been called and is needed for it is computed now, while nothing else of the page
   * happens. For small things; `await data()` leaves the page alive.
   *
   * @throws TandemError as `data` rejects; FailedPrecondition on webgpu, and for what depends on something that comes by
   * the event loop alone, such as the promise of a kernel in JavaScript, or code that `loadKernels` fetches ahead.
   */
  dataSync<A extends TypedArray | string[] = DataTypes[D]>(): A {
    return attributed(this.dataSync, () => this.copyElements(this.computed('dataSync')) as A);
  }

  /** As `array`, at once: see `dataSync`. */
  arraySync<A extends Nested = Nested>(): A {
    return attributed(this.arraySync,
      () => toNested(this.copyElements(this.computed('arraySync')), this.shape, this.dtype) as A);
  }

  /** As `ready`, at once: see `dataSync`. Its shape and dtype are known then. */
  readySync(): void {
    attributed(this.readySync, () => this.describe(this.computed('readySync')));
  }

  // The engine's tensor, computed by now; throws the error that it is.
  private computed(what: string): Handle {
    const { engine } = this;
    const pointer = this.pointerFor(what);
    const onGpu = engine.gpu !== undefined && (engine.state(pointer) === 'pending' || engine.gpu.isOn(pointer));
    if (!onGpu && !engine.events.computeNow(pointer)) {
      throw errorIn(what, 'FailedPrecondition', 'expected a tensor that can be computed now, got one that depends on ' +
        `something that only the event loop brings, as code of kernels; await ${what.replace('Sync', '')}(), or ` +
        'rt.loadKernels() before the call');
    }
    if (engine.state(pointer) === 'error') throw this.takeError(pointer);
    if (onGpu) {
      throw errorIn(what, 'FailedPrecondition',
        `expected a tensor on the CPU, got one on webgpu, which answers later; await ${what.replace('Sync', '')}()`);
    }
    return pointer;
  }

  /** For a tensor of strings: the bytes of each, which need not be UTF-8. */
  bytes(options?: WaitOptions): Promise<Uint8Array[]> {
    return this.whenAvailable(options, this.bytes, (pointer) => this.copyBytes(pointer, 'bytes'));
  }

  /** As `bytes`, at once: see `dataSync`. */
  bytesSync(): Uint8Array[] {
    return attributed(this.bytesSync, () => this.copyBytes(this.computed('bytesSync'), 'bytesSync'));
  }

  /** As `data`, in nested arrays: bool as booleans, i64 and u64 as bigints, c64 as [re, im], the rest as numbers. */
  array<A extends Nested = Nested>(options?: WaitOptions): Promise<A> {
    return this.whenAvailable(options, this.array,
      (pointer) => toNested(this.copyElements(pointer), this.shape, this.dtype) as A);
  }

  /** As `array`, for a tensor of one element: that. InvalidArgument for other tensors. */
  item<S extends Scalar = Scalar>(options?: WaitOptions): Promise<S> {
    return this.whenAvailable(options, this.item, (pointer) => {
      if (this.size !== 1) {
        throw errorIn('item', 'InvalidArgument', `expected a tensor with one element, got ${this.typeText()}`);
      }
      return toScalar(this.copyElements(pointer), this.dtype, 0) as S;
    });
  }

  /** Waits for the elements. Rejects as `data` does. */
  ready(options?: WaitOptions): Promise<void> {
    return this.whenAvailable(options, this.ready, (pointer) => {
      this.describe(pointer);
      return this.engine.gpu?.finished(pointer);
    }, false);
  }

  /**
   * The GPUBuffer that has the elements of a tensor on webgpu, at its begin, when all commands that lead to it are
   * submitted. It may be larger. It is the tensor's: only to be read, and only until the tensor is disposed of.
   */
  gpuBuffer<B extends object = object>(options?: WaitOptions): Promise<B> {
    return this.whenAvailable(options, this.gpuBuffer,
      (pointer) => gpuOf(this.engine, 'gpuBuffer').bufferOf(pointer) as B, false);
  }

  /** As `gpuBuffer`, at once: FailedPrecondition unless all that leads to the tensor has been issued. */
  gpuBufferSync<B extends object = object>(): B {
    return attributed(this.gpuBufferSync, () => {
      const pointer = this.pointerFor('gpuBufferSync');
      const gpu = gpuOf(this.engine, 'gpuBufferSync');
      const state = this.engine.state(pointer);
      if (state === 'error') throw this.takeError(pointer);
      if (state === 'pending') {
        throw errorIn('gpuBufferSync', 'FailedPrecondition',
          'expected a tensor that is available, got one that is pending; await gpuBuffer()');
      }
      return gpu.bufferOf(pointer) as B;
    });
  }

  /**
   * The elements without copying them; not to be written to. Good until the next call of anything of the runtime, which
   * may move its memory (the array is empty then), and no longer than the tensor.
   *
   * @throws TandemError FailedPrecondition while the elements are pending (`await y.ready()` first), and for strings.
   */
  view<A extends TypedArray = TypedArray>(): A {
    const pointer = this.pointerFor('view', this.view);
    const { state, place } = this.describe(pointer);
    if (state === 'error') throw attribute(this.takeError(pointer), this.view);
    if (state === 'pending') {
      throw attribute(errorIn('view', 'FailedPrecondition',
        'expected a tensor that has been computed, got one that is pending; await its ready() first'), this.view);
    }
    if (this.dtype === 'string' || this.device !== 'cpu') {
      throw attribute(errorIn('view', 'FailedPrecondition',
        `expected a tensor of numbers on the CPU, got ${this.typeText()} on ${this.device}; use data()`), this.view);
    }
    return attributed(this.view, () => this.elements(pointer, place)) as A;
  }

  /** Waits, then describes the tensor: "f32[2,2] = [1, 2, 3, 4]", with at most so many elements. */
  text(maxElements = 16): Promise<string> {
    const most = Number.isFinite(maxElements) ? Math.max(0, Math.floor(maxElements)) : 0x7fffffff;
    return this.whenAvailable(undefined, this.text,
      (pointer) => this.engine.text(pointer, Math.min(most, 0x7fffffff)));
  }

  /** Another reference to the same elements, to be disposed of by itself. */
  clone(): Tensor<D> {
    const pointer = this.pointerFor('clone', this.clone);
    return newTensor(this.runtime, this.engine, this.engine.share(pointer), this.context);
  }

  /** Frees the tensor's memory, unless ops that are pending need it; they are not disturbed. May be called again. */
  dispose(): void {
    if (!isTensor(this)) throw notDisposable();
    this.engine.release(this.ref);
  }

  /** As `dispose`, for `using`. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** "Tensor f32[2,2]": without waiting. */
  toString(): string {
    if (this.disposed) return 'Tensor (disposed)';
    const { state } = this.describe(this.ref.pointer);
    if (state === 'error') return 'Tensor (error)';
    return `Tensor ${this.typeText()}${state === 'pending' ? ' (pending)' : ''}`;
  }

  /**
   * For JSON.stringify: the elements in nested arrays, which `runtime.tensor` takes; integers beyond 2^53 are strings.
   * What `toString` says, if the elements cannot be had at once, as on webgpu.
   */
  toJSON(): unknown {
    try {
      return withoutBigints(this.arraySync());
    } catch {
      return this.toString();
    }
  }

  /** What describes its type in errors: "f32[2,2]". */
  private typeText(): string {
    if (this.#dtype === undefined || this.#shape === undefined) return '(of a shape not known yet)';
    return `${this.#dtype}[${this.#shape.join(',')}]`;
  }

  /** The engine's tensor; throws for `what` was asked of a disposed tensor. @internal */
  pointerFor(what: string, entry?: Entry): Handle {
    const error = !isTensor(this) ? notMade(what)
      : this.engine.closed !== undefined ? this.engine.whyClosed()
      : this.ref.pointer !== 0 ? undefined
      : errorIn(what, 'FailedPrecondition', 'expected a tensor that is not disposed of, got one that is');
    if (error !== undefined) throw entry ? attribute(error, entry) : error;
    return this.ref.pointer;
  }

  /** The dtype, if it is known already. @internal */
  dtypeIfKnown(): DType | undefined {
    if (this.#dtype === undefined && !this.disposed) this.#dtype = this.engine.dtypeOf(this.ref.pointer);
    return this.#dtype;
  }

  private describe(pointer: Handle): Description {
    const description = this.engine.describe(pointer);
    this.#dtype ??= description.dtype;
    if (this.#shape === undefined && description.shape !== undefined) this.#shape = Object.freeze(description.shape);
    return description;
  }

  private describeFor(what: 'shape' | 'dtype'): { shape: readonly number[]; dtype: DType } {
    const pointer = this.pointerFor(what);
    const { state } = this.describe(pointer);
    const shape = this.#shape;
    const dtype = this.#dtype;
    if (shape !== undefined && dtype !== undefined) return { shape, dtype };
    if (state === 'error') throw this.takeError(pointer);
    throw errorIn(what, 'FailedPrecondition',
      `expected a ${what} that is known, got one that depends on data that is pending; await ready() first`);
  }

  private takeError(pointer: Handle): TandemError {
    return late(this.engine.errorOf(pointer));
  }

  // Runs `read` on the tensor once it is available.
  private whenAvailable<T>(
    options: WaitOptions | undefined, entry: Entry, read: (pointer: Handle) => T | Promise<T>, onHost = true,
  ): Promise<T> {
    const { engine } = this;
    let pointer: Handle;
    let copied: Handle = 0;
    let signal: AbortSignal | undefined;
    try {
      signal = signalOf(options);
      pointer = this.pointerFor(entry.name, entry);
      if (onHost) copied = engine.gpu?.toHost(pointer) ?? 0;
      if (copied === 0 && !engine.events.isShort()) {
        let state = engine.state(pointer);
        if (state === 'pending' && !engine.gpu) {
          engine.events.help(pointer);
          state = engine.state(pointer);
        }
        if (state === 'available') return followed(Promise.resolve(read(pointer)));
        if (state === 'error') throw attribute(this.takeError(pointer), entry);
      }
      // Its own reference: the tensor may be disposed of meanwhile.
      if (copied === 0) copied = engine.share(pointer);
    } catch (error) {
      return followed(Promise.reject(this.reasonFor(error, entry)));
    }
    const copy = new Ref(copied);
    const reading = this.waitFor(copy).then(() => read(copy.pointer)).finally(() => engine.release(copy));
    const failing = reading.catch((error: unknown) => {
      throw this.reasonFor(error instanceof TandemError ? late(error) : error, entry);
    });
    return followed(awaited(failing, signal));
  }

  private async waitFor(copy: Ref): Promise<void> {
    if (this.engine.events.isShort()) await this.engine.events.collect();
    await this.engine.events.when((id) => this.engine.askReady(copy.pointer, id));
  }

  // What an aborted request is rejected with is its signal's reason.
  private reasonFor(thrown: unknown, entry: Entry): unknown {
    if (thrown instanceof Over) return thrown.reason;
    const error = errorFor(entry.name, thrown);
    if (error.code !== 'Cancelled' && error.code !== 'DeadlineExceeded') return error;
    const over = (this.context ?? currentContext())?.whyOver?.();
    return over === undefined ? error : over.reason;
  }

  private copyElements(pointer: Handle): TypedArray | string[] {
    const { state, place } = this.describe(pointer);
    if (state === 'error') throw this.takeError(pointer);
    if (this.dtype === 'string') return this.engine.strings(pointer, this.size);
    return this.elements(pointer, place).slice();
  }

  private copyBytes(pointer: Handle, what: string): Uint8Array[] {
    this.describe(pointer);
    if (this.dtype !== 'string') {
      throw errorIn(what, 'InvalidArgument', `expected a tensor of strings, got ${this.typeText()}`);
    }
    return this.engine.stringBytes(pointer, this.size);
  }

  // The elements of an available tensor of numbers. One that is not dense in memory, such as one number for all of its
  // elements, is expanded by the engine, which keeps that as long as the tensor.
  private elements(pointer: Handle, place: number): TypedArray {
    const { dtype, engine, size } = this;
    return engine.elements(dtype, place !== 0 || size === 0 ? place : engine.placeOf(pointer), size);
  }
}

function withoutBigints(value: Nested): unknown {
  if (Array.isArray(value)) return value.map(withoutBigints);
  if (typeof value !== 'bigint') return value;
  return BigInt.asIntN(54, value) === value ? Number(value) : String(value);
}

/** Whether a value is a tensor that this package made. */
export const isTensor: (value: unknown) => value is Tensor = Tensor.isOurs;

function notMade(what: string): TandemError {
  return errorIn(what, 'InvalidArgument', 'expected a tensor that a runtime of this package made, got an object like ' +
    'one, such as a proxy of it, or one of another copy of the package');
}

// Not in the class: one that names itself has another name once it is bundled, which errors and consoles would show.
function notDisposable(): TandemError {
  return attribute(notMade('dispose'), Tensor.prototype.dispose);
}

/** A new tensor, which belongs to the context of the call, and to `inherited`. @internal */
export function newTensor(
  runtime: Runtime, engine: Engine, pointer: Handle, inherited: Context | undefined = undefined,
): Tensor<never> {
  const tensor = new Tensor<never>(runtime, engine, pointer);
  engine.watch(tensor);
  if (contexts.alive !== 0) {
    tensor.context = currentContext() ?? inherited;
    for (let at = tensor.context; at !== undefined; at = at.parent) {
      if (at.adopt?.(tensor)) break;
    }
  }
  return tensor;
}

/** An error that was not known when the op was called: its stack shows where that was, not where it was noticed. */
function late(error: TandemError): TandemError {
  showPlace(error, error.location ?? 'unknown; createRuntime({ trackLocations: true }) records it');
  return error;
}
