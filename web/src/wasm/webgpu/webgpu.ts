// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The WebGPU side of a runtime: a file of its own, which only runtimes with a device load.

import type { DType } from '../../dtypes.js';
import type { TandemError } from '../../errors.js';
import type { WebgpuPackage } from '../../files.js';
import type { GpuMemoryInfo } from '../../gpu.js';
import type { WasmEngine } from '../engine.js';
import { WebgpuInfoLayout, WebgpuOptionsLayout } from '../layout.js';
import type { WebgpuExport } from '../layout.js';
import { Scratch } from '../scratch.js';
import type { GpuOptions, WasmGpu } from '../webgpu_source.js';
import { COPY_DST, COPY_SRC, STORAGE, textOf } from './device.js';
import { Executor } from './executor.js';
import type { Listener } from './executor.js';
import { openDevice } from './open_device.js';
import type { DeviceSource, OpenDevice } from './open_device.js';

type Exports = Readonly<Record<WebgpuExport, (...args: number[]) => number>>;

// Beyond how much of the device's memory in use garbage is collected, at first.
const FIRST_THRESHOLD = 512 << 20;
const MOST_CACHED = 512 << 20;

/** A device for a runtime, not used yet. */
export class WebGpuDevice {
  constructor(readonly opened: OpenDevice, private readonly common: WebgpuPackage) {}

  get capabilities(): OpenDevice['capabilities'] {
    return this.opened.capabilities;
  }

  /** Gives it to a runtime. */
  attach(engine: WasmEngine, options: GpuOptions): WasmGpu {
    return new WebGpu(engine, this.opened, options, this.common);
  }

  /** Gives it up, where no runtime was made. */
  close(): void {
    if (this.opened.isOurs) this.opened.device.destroy();
  }
}

/** Throws TandemError: InvalidArgument for what is no device or GPU, Unavailable without one that can be used. */
export async function open(source: DeviceSource, common: WebgpuPackage): Promise<WebGpuDevice> {
  return new WebGpuDevice(await openDevice(source, common.TandemError), common);
}

class WebGpu implements WasmGpu, Listener {
  readonly device: GPUDevice;
  private readonly exports: Exports;
  private readonly executor: Executor;
  private threshold = FIRST_THRESHOLD;

  constructor(
    private readonly engine: WasmEngine, private readonly opened: OpenDevice, options: GpuOptions,
    private readonly common: WebgpuPackage,
  ) {
    this.device = opened.device;
    this.exports = engine.exports as unknown as Exports;
    this.executor = new Executor(this.device, engine.heap, this);
    this.create(options);
    this.device.lost.then(({ message, reason }) => this.onDeviceLost(message || reason), () => undefined);
  }

  private create({ fallback, memoryLimit }: GpuOptions): void {
    const { engine, exports, opened: { capabilities, isSoftware, maxSubgroupSize, minSubgroupSize } } = this;
    const { limits } = this.device;
    const has = (feature: string): number => Number(capabilities.features.includes(feature));
    engine.withText(capabilities.adapter, (adapter) => engine.run((_, scratch) => {
      const at = scratch + Scratch.STRUCT;
      const { f64 } = engine.heap;
      f64[(at + WebgpuOptionsLayout.maxStorageBuffers) >>> 3] = limits.maxStorageBuffersPerShaderStage;
      f64[(at + WebgpuOptionsLayout.maxBindingBytes) >>> 3] = limits.maxStorageBufferBindingSize;
      f64[(at + WebgpuOptionsLayout.maxBufferBytes) >>> 3] = limits.maxBufferSize;
      f64[(at + WebgpuOptionsLayout.maxWorkgroups) >>> 3] = limits.maxComputeWorkgroupsPerDimension;
      f64[(at + WebgpuOptionsLayout.maxInvocations) >>> 3] = Math.min(
        limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX, limits.maxComputeWorkgroupSizeY);
      f64[(at + WebgpuOptionsLayout.maxWorkgroupZ) >>> 3] = limits.maxComputeWorkgroupSizeZ;
      f64[(at + WebgpuOptionsLayout.maxWorkgroupBytes) >>> 3] = limits.maxComputeWorkgroupStorageSize;
      f64[(at + WebgpuOptionsLayout.hasF16) >>> 3] = has('shader-f16');
      f64[(at + WebgpuOptionsLayout.hasSubgroups) >>> 3] = has('subgroups');
      f64[(at + WebgpuOptionsLayout.minSubgroupSize) >>> 3] = minSubgroupSize;
      f64[(at + WebgpuOptionsLayout.maxSubgroupSize) >>> 3] = maxSubgroupSize;
      f64[(at + WebgpuOptionsLayout.hasTimestamps) >>> 3] = has('timestamp-query');
      f64[(at + WebgpuOptionsLayout.isSoftware) >>> 3] = Number(isSoftware);
      f64[(at + WebgpuOptionsLayout.memoryLimit) >>> 3] = memoryLimit;
      f64[(at + WebgpuOptionsLayout.cacheLimit) >>> 3] = MOST_CACHED;
      f64[(at + WebgpuOptionsLayout.hasFallback) >>> 3] = Number(fallback);
      return exports.tandem_webgpu_create(engine.js, adapter, at);
    }));
  }

  execute(batch: number, words: number, count: number, arena: number, arenaBytes: number): void {
    this.executor.execute(batch, words, count, arena, arenaBytes);
  }

  // What is told by the executor.

  private tell(call: (text: number) => unknown, text = ''): void {
    const { engine } = this;
    if (engine.closed !== undefined) return;
    try {
      if (text === '') call(0);
      else engine.withText(text, call);
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
      return engine.ask((_, scratch) => this.exports.tandem_webgpu_transfer(engine.js, pointer, 0, 0, scratch));
    } finally {
      engine.releaseTensor(pointer);
    }
  }

  toHost(pointer: number): number {
    if (!this.isOn(pointer)) return 0;
    const { engine } = this;
    return engine.ask((_, scratch) => this.exports.tandem_webgpu_transfer(engine.js, pointer, 1, 0, scratch));
  }

  async finished(pointer: number): Promise<void> {
    this.flush();
    await this.executor.finished();
    const { engine } = this;
    if (engine.closed !== undefined) throw engine.whyClosed();
    engine.run(() => this.exports.tandem_webgpu_check(pointer));
  }

  async settled(): Promise<boolean> {
    this.flush();
    const hasRead = await this.executor.settled();
    if (this.engine.closed !== undefined) throw this.engine.whyClosed();
    return hasRead;
  }

  private flush(): void {
    this.engine.guard(() => this.exports.tandem_webgpu_flush(this.engine.js));
  }

  bufferOf(pointer: number): object {
    this.flush();
    const { engine } = this;
    engine.run(() => this.exports.tandem_webgpu_check(pointer));
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
    const number = engine.ask((_, scratch) => exports.tandem_webgpu_adopt(engine.js, buffer.size, scratch));
    this.executor.adopt(number, buffer);
    return engine.ask((_, scratch) => {
      engine.heap.writeInt64s(scratch + Scratch.ARGUMENTS, shape);
      return exports.tandem_webgpu_wrap(engine.js, number, buffer.size, this.common.dtypeCode(dtype),
        scratch + Scratch.ARGUMENTS, shape.length, scratch);
    });
  }

  private errorIn(name: string, code: TandemError['code'], text: string): TandemError {
    return new this.common.TandemError(code, `[${name}] ${text}`, { op: name });
  }

  // Memory.

  memory(): GpuMemoryInfo {
    const { engine } = this;
    return engine.guard((_, scratch) => {
      const info = scratch + Scratch.STRUCT;
      this.exports.tandem_webgpu_describe(engine.js, info);
      const { f64 } = engine.heap;
      return {
        bytesInUse: f64[(info + WebgpuInfoLayout.bytesInUse) >>> 3]!,
        peakBytesInUse: f64[(info + WebgpuInfoLayout.peakBytesInUse) >>> 3]!,
        bytesCached: f64[(info + WebgpuInfoLayout.bytesCached) >>> 3]!,
        numAllocations: f64[(info + WebgpuInfoLayout.numAllocations) >>> 3]!,
        numCacheHits: f64[(info + WebgpuInfoLayout.numCacheHits) >>> 3]!,
        submits: f64[(info + WebgpuInfoLayout.numSubmits) >>> 3]!,
        dispatches: f64[(info + WebgpuInfoLayout.numDispatches) >>> 3]!,
        crossings: f64[(info + WebgpuInfoLayout.numCrossings) >>> 3]!,
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
