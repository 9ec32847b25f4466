// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Buffers that the device copies to and JavaScript reads, kept for the next read.

import { COPY_DST, MAP_READ } from './device.js';

const LEAST_BYTES = 4096;
/** Of what is kept in all. */
const MOST_BYTES = 64 << 20;

/** A pool of buffers that JavaScript can map. */
export class ReadBacks {
  private readonly free = new Map<number, GPUBuffer[]>();
  private freeBytes = 0;

  constructor(private readonly device: GPUDevice) {}

  /** A buffer of at least so many bytes, which is not mapped. */
  take(bytes: number): GPUBuffer {
    let size = LEAST_BYTES;
    while (size < bytes) size *= 2;
    // The largest buffer there may be need not be a power of two.
    size = Math.min(size, Math.floor(this.device.limits.maxBufferSize / 4) * 4);
    const kept = this.free.get(size)?.pop();
    if (kept !== undefined) {
      this.freeBytes -= size;
      return kept;
    }
    return this.device.createBuffer({ size, usage: MAP_READ | COPY_DST });
  }

  /** Takes it back. */
  give(buffer: GPUBuffer): void {
    if (this.freeBytes + buffer.size > MOST_BYTES) {
      buffer.destroy();
      return;
    }
    this.freeBytes += buffer.size;
    const list = this.free.get(buffer.size);
    if (list === undefined) this.free.set(buffer.size, [buffer]);
    else list.push(buffer);
  }

  close(): void {
    for (const list of this.free.values()) for (const buffer of list) buffer.destroy();
    this.free.clear();
    this.freeBytes = 0;
  }
}
