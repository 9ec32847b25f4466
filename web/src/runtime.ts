// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

/// <reference lib="esnext.disposable" preserve="true" />

// Runtime: where tensors live and ops run.

import { Allocation } from './allocation.js';
import { copyOptions } from './attrs.js';
import type { AttrValue } from './attrs.js';
import { callMany, requestOf } from './call.js';
import type { Inputs, TensorInput } from './call.js';
import type { Capabilities, DeviceName } from './capabilities.js';
import { currentContext, followed, runIn } from './context.js';
import type { OpAttributes, OpFunction, OpFunctions, OpSpec } from './custom_ops.js';
import { checkDType, createFilled, createTensor, shapeOf } from './create.js';
import type { DType, DTypeOf, TypedArray } from './dtypes.js';
import { Engine } from './engine.js';
import type { Handle } from './engine.js';
import { attributed, errorFor, errorIn, failure, locationOf, Over, TandemError, textOf } from './errors.js';
import type { Entry } from './errors.js';
import { gpuOf } from './gpu.js';
import { readImage } from './image.js';
import type { ImageOptions, ImageSource } from './image.js';
import type { MemoryInfo } from './memory.js';
import type { ScalarLike, TensorLike } from './nested.js';
import { openFile, platform } from './platform.js';
import type {
  Caller, Layer, Layers, LoadProgramOptions, Program, Programs, ProgramsPackage, ProgramSource, Recordable, Recording,
  RecordOptions,
} from './programs.js';
import { groupInputs, isListed, numResults, Registry } from './registry.js';
import type { OpDefinition } from './registry.js';
import { runRequest } from './request.js';
import type { Request, RequestOptions } from './request.js';
import { keepTensor, runInScope } from './scope.js';
import { isTensor, newTensor } from './tensor.js';
import type { Tensor } from './tensor.js';
import { Trace } from './trace.js';
import { copyOf, describe } from './values.js';
import { signalOf } from './waiting.js';

/** What a tensor is made as. */
export interface TensorOptions {
  /** By default that of the values. It must have as many elements. */
  shape?: readonly number[];
  /** By default that of the values: f32 for numbers, i64 for bigints, a typed array's own. */
  dtype?: DType;
}

const MAX_RESULTS = 2 ** 20;
const PACKAGE: ProgramsPackage = {
  copyOf, createTensor, errorFor, failure, isTensor, locationOf, newTensor, openFile, Over, platform, requestOf, runIn,
  signalOf, TandemError,
};

/** Tensors and ops on one engine, a WebAssembly instance. Several may live side by side. Made by `createRuntime`. */
export class Runtime {
  /** Where ops run. */
  readonly device: DeviceName;
  /** What was found in the environment, and why something of it is not used. */
  readonly capabilities: Capabilities;
  /** Records what runs when. */
  readonly trace: Trace;
  /** The layers over the device that ops run on, which `setLayers` has set; undefined for none. */
  readonly layers: Layers | undefined = undefined;
  // Makes each runtime another to matchers of tests, and says why there are no structured clones.
  protected readonly id = Symbol('a tensor or runtime of tandem-rt; send what await tensor.data() gives');
  #engine: Engine;
  #registry: Registry | undefined;
  #effects: Handle = 0;

  /** @internal */
  constructor(engine: Engine, capabilities: Capabilities) {
    if (!(engine instanceof Engine)) {
      throw new TandemError('InvalidArgument', 'expected a runtime to be made by createRuntime(), got new Runtime()');
    }
    this.#engine = engine;
    this.device = capabilities.device;
    this.capabilities = capabilities;
    this.trace = new Trace(engine);
  }

  /** @internal */
  get engine(): Engine {
    return this.#engine;
  }

  /** Whether `dispose` was called, or the engine has failed. */
  get disposed(): boolean {
    return this.engine.closed !== undefined;
  }

  // Tensors.

  /**
   * A tensor with a copy of the values: a number, boolean, bigint or string, nested arrays of them, or a typed array.
   *
   * @throws TandemError InvalidArgument for arrays that are not equally long, values that the dtype does not take, and
   * a shape with another number of elements; ResourceExhausted without memory for it.
   */
  tensor<D extends DType>(
    values: TensorLike | TypedArray, options: { shape?: readonly number[] | undefined; dtype: D },
  ): Tensor<D>;
  tensor<V extends TensorLike | TypedArray>(
    values: V, shape?: readonly number[] | { shape: readonly number[]; dtype?: undefined },
  ): Tensor<DTypeOf<V>>;
  tensor(values: TensorLike | TypedArray, shapeOrOptions?: readonly number[] | TensorOptions): Tensor;
  tensor(values: TensorLike | TypedArray, shapeOrOptions?: readonly number[] | TensorOptions, ...more: unknown[]): Tensor {
    return this.make(this.tensor, () => {
      if (more.length > 0) {
        throw errorIn('tensor', 'InvalidArgument',
          `expected dtype and shape in an object such as { shape, dtype }, got a third argument, ${describe(more[0])}`);
      }
      const { shape, dtype } = optionsOf(shapeOrOptions);
      checkDType(dtype, 'tensor');
      const sizes = shape === undefined ? undefined : shapeOf(shape, 'tensor');
      return createTensor(this.engine, values, dtype, sizes, { op: 'tensor', name: 'values' });
    });
  }

  /** A tensor of rank 0. */
  scalar(value: ScalarLike, dtype?: DType): Tensor {
    return this.make(this.scalar, () => {
      checkDType(dtype, 'scalar');
      return createFilled(this.engine, [], value, dtype, { op: 'scalar', name: 'value' });
    });
  }

  /** A tensor of zeros, f32 by default; of empty strings for 'string'. */
  zeros<D extends DType = 'f32'>(shape: readonly number[], dtype: D = 'f32' as D): Tensor<D> {
    return this.make(this.zeros, () => this.filled('zeros', shape, dtype === 'string' ? '' : 0, dtype));
  }

  /** A tensor of ones, f32 by default. Not for strings. */
  ones<D extends DType = 'f32'>(shape: readonly number[], dtype: D = 'f32' as D): Tensor<D> {
    return this.make(this.ones, () => this.filled('ones', shape, 1, dtype));
  }

  /** A tensor of which all elements are `value`, which decides the dtype if none is given. */
  fill(shape: readonly number[], value: ScalarLike, dtype?: DType): Tensor {
    return this.make(this.fill, () => this.filled('fill', shape, value, dtype));
  }

  private filled(op: string, shape: readonly number[], value: ScalarLike, dtype: DType | undefined): Handle {
    const sizes = shapeOf(shape, op);
    checkDType(dtype, op);
    const isPair = dtype === 'c64' && typeof value === 'number';
    return createFilled(this.engine, sizes, isPair ? [value, 0] : value, dtype, { op, name: 'value' });
  }

  /** Memory for a tensor, to be filled in place, f32 by default. Not for strings. */
  alloc(shape: readonly number[], dtype: DType = 'f32'): Allocation {
    return attributed(this.alloc, () => {
      checkDType(dtype, 'alloc');
      return new Allocation(this, shapeOf(shape, 'alloc'), dtype);
    });
  }

  /** A tensor [height, width, channels] of the pixels of an image, a canvas or a video. */
  fromImage(source: ImageSource, options: ImageOptions = {}): Tensor {
    return this.make(this.fromImage, () => {
      const { data, shape, dtype } = readImage(source, options);
      return createTensor(this.engine, data, dtype, shape, { op: 'fromImage', name: 'pixels' });
    });
  }

  // Calls `create` on behalf of `entry`; what it gives becomes a tensor.
  private make(entry: (...args: never[]) => Tensor, create: () => Handle): Tensor<never> {
    return attributed(entry, () => newTensor(this, this.engine, this.engine.place(create())));
  }

  // WebGPU.

  /** The GPUDevice that ops run on; undefined on the CPU. */
  get gpuDevice(): object | undefined {
    return this.engine.gpu?.device;
  }

  /**
   * A tensor of the first bytes of a GPUBuffer of the runtime's device, without copying; f32 by default. bool takes
   * four bytes an element, 0 or 1. The buffer stays the program's: it has the usages STORAGE, COPY_SRC and COPY_DST, is
   * neither mapped nor destroyed while the tensor or anything pending needs it, and no op writes to it.
   *
   * @throws TandemError FailedPrecondition unless the runtime is on webgpu; InvalidArgument for other usages, and for a
   * buffer that is too small.
   */
  fromGPUBuffer(buffer: object, shapeOrOptions: readonly number[] | TensorOptions): Tensor {
    return attributed(this.fromGPUBuffer, () => {
      const { shape, dtype = 'f32' } = optionsOf(shapeOrOptions);
      const sizes = shapeOf(shape, 'fromGPUBuffer');
      checkDType(dtype, 'fromGPUBuffer');
      return newTensor(this, this.engine, gpuOf(this.engine, 'fromGPUBuffer').wrap(buffer, dtype, sizes));
    });
  }

  // Ops.

  /**
   * Calls an op by its name, such as 'tf.MatMul', with attributes by theirs, such as `transpose_b`.
   *
   * @param inputs One after the other, also those that the op takes as a list.
   * @param options `results` says how many there are, where the attributes do not.
   * @throws TandemError NotFound for an op that does not exist; InvalidArgument for what it does not take.
   */
  execute(
    name: string, inputs: readonly TensorInput[], attrs: Readonly<Record<string, AttrValue>> = {},
    options: { results?: number } = {},
  ): Tensor[] {
    const call = attributed(this.execute, () => {
      if (!Array.isArray(inputs)) {
        throw errorIn(String(name), 'InvalidArgument', `expected inputs to be an array, got ${describe(inputs)}`);
      }
      const { definition, isSimple, op } = this.ensureRegistry().find(name, this.execute);
      const list = copyOf(inputs, op.name) as TensorInput[];
      const { results } = options;
      if (isSimple && results === undefined) return { op, attrs, count: 1, grouped: list };
      const known = copyOptions(attrs, op) as Readonly<Record<string, AttrValue>>;
      const count = results ?? numResults(definition, list.length, known);
      if (!Number.isSafeInteger(count) || count < 0 || count > MAX_RESULTS) {
        throw errorIn(op.name, 'InvalidArgument', `expected results to be 0 to ${MAX_RESULTS}, got ${String(count)}`);
      }
      return { op, attrs: known, count, grouped: groupInputs(definition, list, known) as Inputs };
    });
    return callMany(call.op, this.execute, call.grouped, call.attrs, call.count, this);
  }

  /**
   * The function of an op by its name, such as 'my.Scale'.
   *
   * @throws TandemError NotFound for an op that does not exist.
   */
  op<Name extends keyof OpFunctions>(name: Name): OpFunctions[Name];
  op<Result extends Tensor | Tensor[] = Tensor>(name: string): OpFunction<Result>;
  op(name: string): unknown {
    const { definition, op } = this.ensureRegistry().find(name, this.op);
    const { inputs, outputs } = definition;
    const call = (...given: unknown[]): Tensor | Tensor[] => attributed(call, () => {
      const attrs = given.at(-1)?.constructor === Object ? given.pop() as OpAttributes : {};
      const total = given.flatMap((input, i) => (isListed(inputs[i]) ? input : 0)).length;
      const results = callMany(op, call, given as Inputs, attrs, numResults(definition, total, attrs), this);
      return outputs.length === 1 && !isListed(outputs[0]) ? results[0]! : results;
    });
    return call;
  }

  /**
   * Defines an op of the program's own, which is called, recorded and replayed as the others are, by `op(name)`,
   * `execute` and programs. It is the runtime's as long as that lives; programs that have it want a runtime that has it
   * when they are loaded. If anything of it is wrong, nothing of it is left.
   *
   * @returns what `op(name)` gives.
   * @throws TandemError InvalidArgument for all that is wrong with the definition, AlreadyExists for a name that is
   * taken. What is wrong with the text of a shader is the error of its calls.
   */
  registerOp<Result extends Tensor | Tensor[] = Tensor>(spec: OpSpec): Promise<OpFunction<Result>> {
    return this.withPrograms(this.registerOp, (programs, caller) => programs.registerOp(this, spec, caller));
  }

  /** The definitions of all ops, sorted by name. */
  ops(): readonly OpDefinition[] {
    return attributed(this.ops, () => this.ensureRegistry().definitions);
  }

  /** The names of the ops that were called so far, sorted: a list for a build that has no others (TANDEM_OPS). */
  usedOps(): string[] {
    return attributed(this.usedOps, () => {
      if (this.engine.closed !== undefined) throw this.engine.whyClosed();
      return this.engine.usedOps();
    });
  }

  /** Has the definitions of ops read anew, when they have changed. @internal */
  forgetDefinitions(): void {
    this.#registry = undefined;
  }

  private ensureRegistry(): Registry {
    if (this.engine.closed !== undefined) throw this.engine.whyClosed();
    this.#registry ??= new Registry(this.engine);
    return this.#registry;
  }

  /** The chain that orders effects. @internal */
  chain(): Handle {
    if (this.#effects === 0) this.#effects = this.engine.createChain();
    return this.#effects;
  }

  // Requests and scopes.

  /**
   * Runs `fn`; the calls it makes are cancelled when `signal` is aborted or `deadline` has passed, and the promise
   * rejects with the signal's reason or DeadlineExceeded. In Node all calls of `fn` belong to the request; in browsers
   * those it makes before it first awaits and after awaiting promises of this package, those on tensors of the request,
   * and those in `request.run`.
   */
  request<T>(options: RequestOptions, fn: (request: Request) => T | PromiseLike<T>): Promise<T> {
    return runRequest(this.engine, options, fn, this.request);
  }

  /**
   * Runs `fn`, then frees the tensors that were made in it, but those in what it returns (in arrays and objects, too)
   * and those given to `keep`. If it returns a promise, when that is settled. In browsers tensors that are made after
   * awaiting promises of others are left to the garbage collector, unless they are computed from tensors of the scope.
   */
  scope<T>(fn: () => T): T {
    return runInScope(fn, this.scope);
  }

  /** Takes a tensor out of its scopes, and returns it. */
  keep(tensor: Tensor): Tensor {
    keepTensor(tensor, this.keep);
    return tensor;
  }

  // Programs, layers.

  /**
   * Loads a program, of text or of the binary form, and looks up all that it names.
   *
   * @throws TandemError InvalidArgument for text that is wrong, with file, line and column, and for wrong arguments;
   * DataLoss for bytes that are no program, Unimplemented for those of a later version; NotFound for a file, an op, a
   * device or a weight that is not there, Unavailable for a file that cannot be fetched; the reason of `signal`.
   */
  loadProgram(source: ProgramSource, options: LoadProgramOptions = {}): Promise<Program> {
    return this.withPrograms(this.loadProgram, (programs, caller) => programs.load(this, source, options, caller));
  }

  /**
   * Runs `fn`, soon, and makes a program of the calls of ops until it has returned or, if it returns a promise, that is
   * settled: a program that gives the tensors that `fn` returned, from `inputs`. It has what these need, and all
   * effects. Calls of other code meanwhile are recorded, too, as far as these need them; layers have no part in any of
   * them. What `fn` throws, the promise rejects with.
   *
   * @throws TandemError FailedPrecondition if the runtime has another recording in progress; InvalidArgument for an
   * input that is given twice, and for results that are no tensors; the code of a result that has become an error,
   * which is the cause; the reason of `signal`.
   */
  record<Result extends Recordable>(
    fn: (...inputs: Tensor[]) => Result | PromiseLike<Result>, options: RecordOptions = {},
  ): Promise<Recording<Result>> {
    return this.withPrograms(this.record, (programs, caller) => programs.record(this, fn, options, caller));
  }

  /**
   * Has ops called from then on, and programs loaded from then on, pass through layers, the first of which is
   * outermost. None ends that. All layers of a runtime count together. `layers` tells what they find.
   *
   * 'profile' counts calls and measures how long they take; 'nan-guard' makes a result with a NaN an OutOfRange error,
   * which names the op; 'shadow:cpu' runs each op on the CPU, too, and finds the first one of which the results differ;
   * 'log' prints calls and results.
   *
   * @throws TandemError InvalidArgument for other layers, NotFound for a device that the runtime does not have,
   * FailedPrecondition during a recording.
   */
  setLayers(layers: readonly Layer[]): Promise<void> {
    return this.withPrograms(this.setLayers, (programs, caller) => programs.setLayers(this, layers, caller));
  }

  private withPrograms<T>(entry: Entry, call: (programs: Programs, caller: Caller) => Promise<T>): Promise<T> {
    const { engine } = this;
    const caller = { op: entry.name, location: locationOf(entry), context: currentContext() };
    return followed(engine.openPrograms(PACKAGE).then((programs) => call(programs, caller)));
  }

  // State.

  /** How much memory is in use. */
  memory(): MemoryInfo {
    const { engine } = this;
    return attributed(this.memory, () => ({ ...engine.memory(), gpu: engine.gpu?.memory() }));
  }

  /** Makes all that is pending a Cancelled error, and every later call, until `restart`. */
  cancel(reason?: unknown): void {
    const { engine } = this;
    attributed(this.cancel, () => {
      engine.cancel(reason === undefined ? undefined : textOf(reason));
      this.dropChain();
      engine.events.wake();
    });
  }

  /** Takes calls again after `cancel`. What was cancelled stays so. */
  restart(): void {
    attributed(this.restart, () => this.engine.restart());
  }

  /**
   * Fetches the code of ops and dtypes that few programs need, the module's second part, which the first call of one
   * would fetch: from then on no call waits for it. In Node `createRuntime` does so.
   *
   * @throws TandemError NotFound, Unavailable, DataLoss or FailedPrecondition, as `createRuntime` does for the module.
   */
  async loadKernels(): Promise<void> {
    try {
      await this.engine.loadKernels();
    } catch (error) {
      throw failure(error, this.loadKernels, 'loadKernels');
    }
  }

  /**
   * Resolves when all that was called so far has been computed, or failed, and printed. Rejects with the error of an op
   * without results, such as assert, that came after its call.
   */
  async settled(): Promise<void> {
    const { engine } = this;
    if (engine.closed !== undefined) throw engine.whyClosed();
    // What is read from a device, what a kernel in JavaScript gives, or one whose code comes, may be computed with.
    do {
      await engine.events.when((id) => engine.askSettled(id));
    } while (await engine.gpu?.settled() || await engine.kernels?.settled() || await engine.kernelsLoaded());
    if (this.#effects === 0 || engine.closed !== undefined) return;
    const effects = this.#effects;
    try {
      await engine.events.when((id) => engine.askChainReady(effects, id));
    } catch (error) {
      // The effects to come start anew.
      if (this.#effects === effects) this.dropChain();
      throw error;
    }
  }

  private dropChain(): void {
    if (this.#effects === 0) return;
    const { engine } = this;
    const effects = this.#effects;
    this.#effects = 0;
    engine.releaseChain(effects);
  }

  /**
   * Cancels what is pending, and gives up all memory of the runtime and its tensors. Whatever is done with them
   * afterwards fails with FailedPrecondition, but for disposing of them.
   */
  dispose(): Promise<void> {
    this.engine.dispose();
    return Promise.resolve();
  }

  /** As `dispose`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}

function optionsOf(shapeOrOptions: readonly number[] | TensorOptions | undefined): TensorOptions {
  if (shapeOrOptions === undefined) return {};
  if (Array.isArray(shapeOrOptions)) return { shape: shapeOrOptions as readonly number[] };
  if (typeof shapeOrOptions !== 'object' || shapeOrOptions === null) {
    throw new TandemError('InvalidArgument',
      `[tensor] expected a shape, or an object with shape and dtype, got ${describe(shapeOrOptions)}`);
  }
  const unknown = Object.keys(shapeOrOptions).find((key) => key !== 'shape' && key !== 'dtype');
  if (unknown !== undefined) {
    throw errorIn('tensor', 'InvalidArgument', `expected the options shape and dtype, got ${unknown}`);
  }
  return shapeOrOptions as TensorOptions;
}
