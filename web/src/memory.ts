// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory in use, and when to look for garbage.

import type { GpuMemoryInfo } from './gpu.js';

/** Bytes of tensor data on the CPU, without the smallest tensors, and what the runtime does about them. */
export interface HostMemoryInfo {
  readonly bytesInUse: number;
  readonly peakBytesInUse: number;
  /** Freed, and kept for reuse. */
  readonly bytesCached: number;
  /** Since the runtime was created. */
  readonly numAllocations: number;
  /** Of these, served by what was kept. */
  readonly numCacheHits: number;
  /** Bytes beyond which ops fail with ResourceExhausted; Infinity if there is no limit but that of the module. */
  readonly limit: number;
  /** Bytes beyond which the runtime makes JavaScript collect garbage. */
  readonly threshold: number;
  /** Calls that are pending, queued or running. */
  readonly pendingOps: number;
  /** Bytes of the WebAssembly memory, all included; it never shrinks. */
  readonly wasmBytes: number;
}

/** Memory in use. */
export interface MemoryInfo extends HostMemoryInfo {
  /** Of a runtime on webgpu: the device's memory. The rest is of tensors on the CPU. */
  readonly gpu?: GpuMemoryInfo | undefined;
}

const LEAST_BYTES = 256 << 20;
/** What 32-bit addresses reach, less what code and other objects need. */
export const MOST_BYTES = 3.5 * 2 ** 30;

/**
 * Beyond how many bytes in use to collect again, when `live` are left after a collection: as a garbage-collected heap,
 * twice that, so that collections cost a fixed share of the work; but the limit is not to be hit before.
 */
export function collectorThreshold(live: number, limit: number): number {
  const most = Math.min(limit, MOST_BYTES);
  return Math.min(Math.max(LEAST_BYTES, 2 * live), Math.max(most / 2, (live + most) / 2));
}
