// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The WebGPU side of a runtime: a file of its own, which only runtimes with a device load.

import type { DType } from '../dtypes.js';
import type { Engine } from '../engine.js';
import type { TandemError } from '../errors.js';
import type { Gpu, GpuMemoryInfo, GpuOptions } from '../gpu.js';
import { COPY_DST, COPY_SRC, Executor, STORAGE, textOf } from './executor.js';
import type { Listener } from './executor.js';
import { openDevice } from './open_device.js';
import type { DeviceSource, OpenDevice } from './open_device.js';

type Call = (...args: number[]) => number;
const EXPORTS = [
  'create', 'batch_done', 'batch_failed', 'buffer_failed', 'pipeline_done', 'end_done', 'device_lost', 'flush',
  'is_on_device', 'transfer', 'check', 'buffer', 'adopt', 'wrap', 'describe',
] as const;
type Name = (typeof EXPORTS)[number];
type Exports = Readonly<Record<`tandem_webgpu_${Name}`, Call>>;

// Offsets in the scratch area, in bytes, behind what functions give.
const STRUCT = 64;
const DIMENSIONS = 2048;

// Beyond how much of the device's memory in use garbage is collected, at first.
const FIRST_THRESHOLD = 512 << 20;
const MOST_CACHED = 512 << 20;

/** The functions and classes of the package that this file would otherwise have a copy of. */
export interface Package {
  readonly TandemError: typeof TandemError;
  dtypeCode(dtype: DType): number;
}

/** A device for a runtime, not used yet. */
export class WebGpuDevice {
  constructor(readonly opened: OpenDevice, private readonly common: Package) {}

  get capabilities(): OpenDevice['capabilities'] {
    return this.opened.capabilities;
  }

  /** Where the module is that has WebGPU. */
  wasmUrl(): URL {
    return new URL('./tandem-webgpu.wasm', import.meta.url);
  }

  /** Gives it to a runtime. */
  attach(engine: Engine, options: GpuOptions): Gpu {
    return new WebGpu(engine, this.opened, options, this.common);
  }

  /** Gives it up, where no runtime was made. */
  close(): void {
    if (this.opened.isOurs) this.opened.device.destroy();
  }
}

/** Throws TandemError: InvalidArgument for what is no device or GPU, Unavailable without one that can be used. */
export async function open(source: DeviceSource, common: Package): Promise<WebGpuDevice> {
  return new WebGpuDevice(await openDevice(source, common.TandemError), common);
}

class WebGpu implements Gpu, Listener {
  readonly device: GPUDevice;
  private readonly exports: Exports;
  private readonly executor: Executor;
  private threshold = FIRST_THRESHOLD;

  constructor(
    private readonly engine: Engine, private readonly opened: OpenDevice, options: GpuOptions,
    private readonly common: Package,
  ) {
    this.device = opened.device;
    this.exports = engine.exports as unknown as Exports;
    const missing = EXPORTS.find((name) => typeof this.exports[`tandem_webgpu_${name}`] !== 'function');
    if (missing !== undefined) {
      throw new common.TandemError('FailedPrecondition', 'expected a module with WebGPU, which tandem-webgpu.wasm of ' +
        'this version of tandem-rt is, got one without it');
    }
    this.executor = new Executor(this.device, engine.heap, this);
    this.create(options);
    this.device.lost.then(({ message, reason }) => this.onDeviceLost(message || reason), () => undefined);
  }

  private create({ fallback, memoryLimit }: GpuOptions): void {
    const { engine, exports, opened: { capabilities, isSoftware, maxSubgroupSize, minSubgroupSize } } = this;
    const { limits } = this.device;
    const has = (feature: string): number => Number(capabilities.features.includes(feature));
    const name = engine.heap.newCString(capabilities.adapter);
    try {
      engine.check(engine.guard((_, scratch) => {
        engine.heap.f64.set([
          limits.maxStorageBuffersPerShaderStage, limits.maxStorageBufferBindingSize, limits.maxBufferSize,
          limits.maxComputeWorkgroupsPerDimension,
          Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX,
            limits.maxComputeWorkgroupSizeY),
          limits.maxComputeWorkgroupSizeZ, limits.maxComputeWorkgroupStorageSize,
          has('shader-f16'), has('subgroups'), minSubgroupSize, maxSubgroupSize,
          Number(isSoftware), memoryLimit, MOST_CACHED, Number(fallback),
        ], (scratch + STRUCT) >>> 3);
        return exports.tandem_webgpu_create(engine.js, name, scratch + STRUCT);
      }));
    } finally {
      engine.heap.free(name);
    }
  }

  execute(batch: number, words: number, count: number, arena: number, arenaBytes: number): void {
    this.executor.execute(batch, words, count, arena, arenaBytes);
  }

  // What is told by the executor.

  private tell(call: (text: number) => unknown, text = ''): void {
    const { engine } = this;
    if (engine.closed !== undefined) return;
    try {
      const address = text === '' ? 0 : engine.heap.newCString(text);
      call(address);
      if (address !== 0 && engine.closed === undefined) engine.heap.free(address);
      // What has become available is told now, not after the next events of the page.
      engine.events.take();
    } catch (error) {
      engine.trap(error);
    }
  }

  onBatchDone(batch: number): void {
    this.tell(() => this.exports.tandem_webgpu_batch_done(this.engine.js, batch));
  }

  onBatchFailed(batch: number, word: number, code: number, text: string): void {
    this.tell((address) => this.exports.tandem_webgpu_batch_failed(this.engine.js, batch, word, code, address), text);
  }

  onBufferFailed(buffer: number, text: string): void {
    this.tell((address) => this.exports.tandem_webgpu_buffer_failed(this.engine.js, buffer, address), text);
  }

  onPipelineDone(pipeline: number, code: number, text: string): void {
    this.tell((address) => this.exports.tandem_webgpu_pipeline_done(this.engine.js, pipeline, code, address), text);
  }

  onEnd(end: number, code: number, text: string): void {
    this.tell((address) => this.exports.tandem_webgpu_end_done(this.engine.js, end, code, address), text);
  }

  onDeviceLost(text: string): void {
    if (this.engine.closed !== undefined || this.executor.closed) return;
    this.tell((address) => this.exports.tandem_webgpu_device_lost(this.engine.js, address), text);
    this.executor.close();
  }

  // Tensors.

  isOn(pointer: number): boolean {
    return this.engine.guard(() => this.exports.tandem_webgpu_is_on_device(pointer)) !== 0;
  }

  place(pointer: number): number {
    const { engine } = this;
    try {
      engine.check(engine.guard((_, scratch) =>
        this.exports.tandem_webgpu_transfer(engine.js, pointer, 0, 0, scratch)));
      return engine.result();
    } finally {
      if (engine.closed === undefined) engine.exports.tandem_tensor_release(pointer);
    }
  }

  toHost(pointer: number): number {
    if (!this.isOn(pointer)) return 0;
    const { engine } = this;
    engine.check(engine.guard((_, scratch) => this.exports.tandem_webgpu_transfer(engine.js, pointer, 1, 0, scratch)));
    return engine.result();
  }

  async finished(pointer: number): Promise<void> {
    this.flush();
    await this.executor.finished();
    const { engine } = this;
    if (engine.closed !== undefined) throw engine.whyClosed();
    if (pointer !== 0) engine.check(engine.guard(() => this.exports.tandem_webgpu_check(pointer)));
  }

  private flush(): void {
    this.engine.guard(() => this.exports.tandem_webgpu_flush(this.engine.js));
  }

  bufferOf(pointer: number): object {
    this.flush();
    const { engine } = this;
    engine.check(engine.guard(() => this.exports.tandem_webgpu_check(pointer)));
    const number = engine.guard(() => this.exports.tandem_webgpu_buffer(pointer)) >>> 0;
    const buffer = this.executor.buffers[number];
    if (buffer === undefined) {
      throw this.errorIn('gpuBuffer', 'FailedPrecondition',
        'expected a tensor on the device, got one on the CPU, such as one of strings');
    }
    return buffer;
  }

  wrap(given: object, dtype: DType, shape: readonly number[]): number {
    const { engine, exports } = this;
    const buffer = given as GPUBuffer;
    if (typeof buffer?.size !== 'number' || typeof buffer.usage !== 'number') {
      throw this.errorIn('fromGPUBuffer', 'InvalidArgument', `expected a GPUBuffer, got ${textOf(given)}`);
    }
    const needed = STORAGE | COPY_SRC | COPY_DST;
    if ((buffer.usage & needed) !== needed) {
      throw this.errorIn('fromGPUBuffer', 'InvalidArgument',
        `expected a buffer with the usages STORAGE, COPY_SRC and COPY_DST (${needed}), got usage ${buffer.usage}`);
    }
    engine.check(engine.guard((_, scratch) => exports.tandem_webgpu_adopt(engine.js, buffer.size, scratch)));
    const number = engine.result();
    this.executor.adopt(number, buffer);
    engine.check(engine.guard((_, scratch) => {
      engine.heap.writeInt64s(scratch + DIMENSIONS, shape);
      return exports.tandem_webgpu_wrap(engine.js, number, buffer.size, this.common.dtypeCode(dtype),
        scratch + DIMENSIONS, shape.length, scratch);
    }));
    return engine.result();
  }

  private errorIn(name: string, code: TandemError['code'], text: string): TandemError {
    return new this.common.TandemError(code, `[${name}] ${text}`, { op: name });
  }

  // Memory.

  memory(): GpuMemoryInfo {
    const { engine } = this;
    return engine.guard((_, scratch) => {
      this.exports.tandem_webgpu_describe(engine.js, scratch + STRUCT);
      const at = (scratch + STRUCT) >>> 3;
      const [bytesInUse, peakBytesInUse, bytesCached, numAllocations, numCacheHits, submits, dispatches, crossings] =
        engine.heap.f64.subarray(at, at + 8) as unknown as number[];
      return {
        bytesInUse: bytesInUse!, peakBytesInUse: peakBytesInUse!, bytesCached: bytesCached!,
        numAllocations: numAllocations!, numCacheHits: numCacheHits!, submits: submits!, dispatches: dispatches!,
        crossings: crossings!,
      };
    });
  }

  isShort(): boolean {
    return this.memory().bytesInUse > this.threshold;
  }

  collected(): void {
    this.threshold = Math.max(FIRST_THRESHOLD, 2 * this.memory().bytesInUse);
  }

  close(): void {
    this.executor.close();
    if (this.opened.isOurs) this.device.destroy();
  }
}
