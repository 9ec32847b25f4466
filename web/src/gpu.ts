// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a runtime has of its WebGPU device.

import type { DType } from './dtypes.js';
import type { Engine, Handle } from './engine.js';
import { errorIn } from './errors.js';

/** Memory of the device, and what it was given to do so far. */
export interface GpuMemoryInfo {
  /** Bytes of tensors, as they are allocated. */
  readonly bytesInUse: number;
  readonly peakBytesInUse: number;
  /** Freed, and kept for reuse. */
  readonly bytesCached: number;
  readonly numAllocations: number;
  /** Of these, served by what was kept. */
  readonly numCacheHits: number;
  /** Command buffers submitted. */
  readonly submits: number;
  /** Shaders run. */
  readonly dispatches: number;
  /** Calls from WebAssembly to JavaScript for all of that. */
  readonly crossings: number;
}

/** The WebGPU device of one runtime. */
export interface Gpu {
  readonly device: object;
  isOn(pointer: Handle): boolean;
  /** Moves a tensor that is given up to the device. */
  place(pointer: Handle): Handle;
  /** A copy on the CPU; 0 if that is where it is. */
  toHost(pointer: Handle): Handle;
  /** Resolves when all that was issued is done; rejects if the content of the tensor is unusable. */
  finished(pointer: Handle): Promise<void>;
  /** Resolves when all that was issued is done and read; whether anything was read that may be computed with. */
  settled(): Promise<boolean>;
  /** Of an available tensor. */
  bufferOf(pointer: Handle): object;
  wrap(buffer: object, dtype: DType, shape: readonly number[]): Handle;
  memory(): GpuMemoryInfo;
  /** Whether so much memory is in use that garbage is to be collected first. */
  isShort(): boolean;
  /** Garbage has been collected. */
  collected(): void;
  close(): void;
}

/** The runtime's device; throws FailedPrecondition without one. */
export function gpuOf({ gpu }: Engine, what: string): Gpu {
  if (gpu === undefined) throw errorIn(what, 'FailedPrecondition', 'expected a runtime on webgpu, got one on the CPU');
  return gpu;
}
