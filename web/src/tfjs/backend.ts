// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TandemBackend: where TensorFlow.js keeps its tensors, and what it asks of a backend besides kernels.

import { DataStorage, engine, KernelBackend, util } from '@tensorflow/tfjs-core';
import type { DataId, DataType, GPUData, Tensor as TfTensor, TensorInfo } from '@tensorflow/tfjs-core';
import { reshape, TandemError } from 'tandem-rt';
import type { Runtime, Tensor } from 'tandem-rt';

import { newTensor, ofTandem, present, toTandem } from './dtypes.js';
import type { Values } from './dtypes.js';
import { asked, atCaller, callerPlace } from './failures.js';

/** What a data id stands for. Of `tensor`, `host` and `values` there is one at least. */
interface Entry {
  readonly dtype: DataType;
  refCount: number;
  /** On the runtime of the backend. */
  tensor: Tensor | undefined;
  /** The shape of `tensor` where it is known without asking for it, which costs as much as a small op. */
  shape: readonly number[] | undefined;
  /** On a backend for WebGPU: on its runtime for the CPU. */
  host: Tensor | undefined;
  /** On a backend for WebGPU, where they are few or not uploaded yet: the elements. */
  values: Values | undefined;
}

// Of elements that stay known to the host when a GPU has them, for ops that have to know.
const MOST_KEPT_BYTES = 64 << 10;

// What is computed before a program that waits gives other events of the page their turn.
const SLICE_MS = 8;

const bytesOf = (values: Values): number => ('byteLength' in values ? values.byteLength : Infinity);

// What TensorFlow.js does for tensors of other backends, but for those that are none any more.
function moveData(backend: KernelBackend, dataId: DataId): void {
  if (engine().state.tensorInfo.has(dataId)) return engine().moveData(backend, dataId);
  throw new TandemError('FailedPrecondition', 'expected a tensor that is not disposed of, got one that is');
}

/** The options of `tensor.dataToGPU`. */
interface ToGpuOptions {
  customTexShape?: readonly number[];
}

/** A backend of TensorFlow.js on one runtime. */
export class TandemBackend extends KernelBackend {
  /** @internal */
  readonly data: DataStorage<Entry>;
  private nextId = 1;
  // Tensors that there are others for, of another shape.
  private readonly replaced: Tensor[] = [];

  /** @param host Computes what has to be known at once; `runtime` itself if that is on the CPU. */
  constructor(readonly runtime: Runtime, readonly host: Runtime) {
    super();
    this.data = new DataStorage<Entry>(this, { moveData });
    // With `trackLocations`, places of calls are the program's, not those of kernels.
    runtime.engine.callerOf = host.engine.callerOf = callerPlace;
  }

  /** Whether values can be read at once. */
  get isSync(): boolean {
    return this.runtime === this.host;
  }

  // Tensors in and out.

  override write(values: Values, shape: number[], dtype: DataType): DataId {
    const dataId = { id: this.nextId++ };
    this.keep(dataId, values, shape, dtype, 1);
    return dataId;
  }

  override move(dataId: DataId, values: Values, shape: number[], dtype: DataType, refCount: number): void {
    this.keep(dataId, values, shape, dtype, refCount);
  }

  private keep(dataId: DataId, values: Values, shape: number[], dtype: DataType, refCount: number): void {
    const tensor = this.isSync ? asked(() => newTensor(this.runtime, values, shape, dtype)) : undefined;
    this.data.set(dataId, {
      dtype, refCount, tensor, shape, host: undefined, values: tensor === undefined ? values : undefined,
    });
  }

  /**
   * A tensor of TensorFlow.js for one of the runtime, or of `host`, which becomes the backend's; with another shape, if
   * one is given, of as many elements.
   */
  adopt(tensor: Tensor, shape = [...this.shapeOf(tensor)]): TensorInfo {
    return this.adoptKnown(tensor, shape, ofTandem(tensor.dtype), undefined);
  }

  /** As `adopt`, of a tensor that has this dtype and, unless undefined, the shape `own`: nothing is asked of it. */
  adoptKnown(tensor: Tensor, shape: number[], dtype: DataType, own: readonly number[] | undefined): TensorInfo {
    const dataId = { id: this.nextId++ };
    const isHost = !this.isSync && tensor.runtime === this.host;
    this.data.set(dataId, {
      dtype, refCount: 1, tensor: isHost ? undefined : tensor, shape: own, host: isHost ? tensor : undefined,
      values: undefined,
    });
    return { dataId, shape, dtype };
  }

  // The shape, which may depend on data.
  private shapeOf(tensor: Tensor): readonly number[] {
    try {
      return tensor.shape;
    } catch (error) {
      if (!(error instanceof TandemError) || error.code !== 'FailedPrecondition' || tensor.disposed) throw error;
      tensor.readySync();
      return tensor.shape;
    }
  }

  /** Another tensor of the same elements. */
  share({ dataId, dtype }: TensorInfo, shape: number[]): TensorInfo {
    this.incRef(dataId);
    return { dataId, shape, dtype };
  }

  /** The tensor of the runtime, with the shape of `info` or another one; the backend's. */
  tensorOf({ dataId, shape: own }: TensorInfo, shape: readonly number[] = own): Tensor {
    const entry = this.data.get(dataId);
    if (entry.tensor === undefined) {
      const values = entry.values ?? valuesOf(entry.host!);
      entry.tensor = newTensor(this.runtime, values, shape, entry.dtype);
      entry.host?.dispose();
      entry.host = undefined;
      entry.values = bytesOf(values) <= MOST_KEPT_BYTES ? values : undefined;
      entry.shape = shape;
    }
    entry.tensor = this.shaped(entry.tensor, entry.shape, shape);
    entry.shape = shape;
    return entry.tensor;
  }

  /** The tensor of the runtime for the CPU; the backend's. */
  hostTensorOf(info: TensorInfo, shape: readonly number[] = info.shape): Tensor {
    if (this.isSync) return this.tensorOf(info, shape);
    const entry = this.data.get(info.dataId);
    entry.host ??= newTensor(this.host, this.hostValues(entry), shape, entry.dtype);
    return entry.host = this.shaped(entry.host, undefined, shape);
  }

  /** Whether the elements are known at once. */
  knows({ dataId }: TensorInfo): boolean {
    const { host, values } = this.data.get(dataId);
    return this.isSync || values !== undefined || host !== undefined;
  }

  private hostValues(entry: Entry): Values {
    if (entry.values !== undefined) return present(entry.values);
    if (entry.host !== undefined) return valuesOf(entry.host);
    if (this.isSync) return valuesOf(entry.tensor!);
    throw atCaller(new TandemError('FailedPrecondition',
      'expected elements that are known at once, got ones that WebGPU computes; await data() of the tensor first, or use ' +
      'an op with Async in its name'));
  }

  // The tensor with this shape, in place of the one it was given, which a call that is going on may need.
  private shaped(tensor: Tensor, known: readonly number[] | undefined, shape: readonly number[]): Tensor {
    const own = known ?? tensor.shape;
    if (own === shape) return tensor;
    if (own.length === shape.length && own.every((size, i) => size === shape[i])) return tensor;
    this.replaced.push(tensor);
    // No list is one of numbers, not of integers.
    return reshape(tensor, shape.length > 0 ? shape : new Int32Array(0));
  }

  /** A call has ended. @internal */
  endCall(): void {
    if (this.replaced.length === 0) return;
    for (const tensor of this.replaced) tensor.dispose();
    this.replaced.length = 0;
  }

  override async read(dataId: DataId): Promise<Values> {
    const entry = this.data.get(dataId);
    if (entry.values !== undefined) return present(entry.values).slice() as Values;
    const tensor = (entry.tensor ?? entry.host)!;
    if (this.isSync && tensor.state === 'pending') this.computeSlice();
    if (entry.dtype === 'string') return tensor.bytes();
    const values = await tensor.data() as Values;
    if (!this.isSync && bytesOf(values) <= MOST_KEPT_BYTES) entry.values = values.slice() as Values;
    return values;
  }

  // A small network is computed by then, as others compute it; a large one lets the page have its turns.
  private computeSlice(): void {
    const { engine } = this.runtime;
    if (engine.hasWorkers) return;
    engine.runTasks(SLICE_MS);
    engine.events.take();
  }

  override readSync(dataId: DataId): Values {
    const entry = this.data.get(dataId);
    const values = this.hostValues(entry);
    return values === entry.values ? values.slice() as Values : values;
  }

  override readToGPU(dataId: DataId, options: ToGpuOptions = {}): GPUData {
    if (options.customTexShape !== undefined) {
      throw new TandemError('Unimplemented', 'expected no customTexShape, which is WebGL\'s, got one');
    }
    if (this.isSync) {
      throw new TandemError('FailedPrecondition', 'expected a tensor on webgpu, got one on the CPU; use data()');
    }
    const entry = this.data.get(dataId);
    if (entry.dtype === 'string') {
      throw new TandemError('InvalidArgument', 'expected a tensor of numbers, got one of strings, which no GPU has');
    }
    const shape = [...(entry.tensor ?? entry.host)?.shape ?? [entry.values!.length]];
    const info = { dataId, shape, dtype: entry.dtype };
    const tensor = this.tensorOf(info);
    const buffer = tensor.gpuBufferSync<NonNullable<GPUData['buffer']>>();
    this.incRef(dataId);
    const tensorRef = engine().makeTensorFromTensorInfo(info);
    return { tensorRef, buffer };
  }

  override createTensorFromGPUData(values: object, shape: number[], dtype: DataType): TfTensor {
    const { buffer, zeroCopy } = values as { buffer?: object; zeroCopy?: boolean };
    if (buffer === undefined) {
      throw new TandemError('Unimplemented', 'expected { buffer: GPUBuffer }, got data of WebGL');
    }
    const { runtime } = this;
    const options = { shape, dtype: toTandem(dtype) };
    // Wrong ones are for this to say.
    const given = runtime.fromGPUBuffer(buffer, options);
    if (zeroCopy === true) return engine().makeTensorFromTensorInfo(this.adopt(given), this);
    given.dispose();
    const bytes = 4 * util.sizeFromShape(shape) * (dtype === 'complex64' ? 2 : 1);
    const own = copyOf(runtime.gpuDevice as GPUDevice, buffer as GPUBuffer, bytes);
    const info = this.adopt(runtime.fromGPUBuffer(own, options));
    return engine().makeTensorFromTensorInfo(info, this);
  }

  // References.

  override refCount(dataId: DataId): number {
    return this.data.has(dataId) ? this.data.get(dataId).refCount : 0;
  }

  override incRef(dataId: DataId): void {
    ++this.data.get(dataId).refCount;
  }

  override disposeData(dataId: DataId, force = false): boolean {
    if (!this.data.has(dataId)) return true;
    const entry = this.data.get(dataId);
    --entry.refCount;
    if (!force && entry.refCount > 0) return false;
    entry.tensor?.dispose();
    entry.host?.dispose();
    this.data.delete(dataId);
    return true;
  }

  override numDataIds(): number {
    return this.data.numDataIds();
  }

  // Facts.

  override memory(): { unreliable: boolean; numBytesInTandem: number; numBytesInGPU?: number } {
    const { bytesInUse, gpu } = this.runtime.memory();
    return {
      unreliable: false, numBytesInTandem: bytesInUse, ...(gpu && { numBytesInGPU: gpu.bytesInUse }),
    };
  }

  override async time(f: () => void): Promise<{ kernelMs: number; wallMs: number }> {
    const begin = util.now();
    f();
    try {
      await this.runtime.settled();
    } catch (error) {
      // Whoever disposes of a backend does not wait for times.
      if (!this.runtime.disposed) throw error;
    }
    const wallMs = util.now() - begin;
    return { kernelMs: wallMs, wallMs };
  }

  override timerAvailable(): boolean {
    return true;
  }

  override floatPrecision(): 16 | 32 {
    return 32;
  }

  override epsilon(): number {
    return 1e-7;
  }

  override dispose(): void {
    void this.runtime.dispose();
    if (this.host !== this.runtime) void this.host.dispose();
  }
}

function valuesOf(tensor: Tensor): Values {
  return tensor.dtype === 'string' ? tensor.bytesSync() : tensor.dataSync() as Values;
}

// Of the first bytes of a buffer, on its device.
function copyOf(device: GPUDevice, buffer: GPUBuffer, bytes: number): GPUBuffer {
  const STORAGE_AND_COPIES = 128 | 4 | 8;
  const copy = device.createBuffer({ size: Math.max(4 * Math.ceil(bytes / 4), 4), usage: STORAGE_AND_COPIES });
  const encoder = device.createCommandEncoder();
  if (bytes > 0) encoder.copyBufferToBuffer(buffer, 0, copy, 0, copy.size);
  device.queue.submit([encoder.finish()]);
  return copy;
}
