// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Notes when shaders begin and end, by the device's clock: by the feature 'timestamp-query', for traces.

import { MOST_TIMED_DISPATCHES } from '../layout.js';
import { COPY_SRC, QUERY_RESOLVE } from './device.js';

/** Of a batch: of each shader when it began and ended. */
const MOST_TIMES = 2 * MOST_TIMED_DISPATCHES;
/** Bytes of a time. */
export const TIME_BYTES = 8;

/** The times of one batch after the other. What it has on the device is made when it is first needed. */
export class Times {
  private made: { readonly queries: GPUQuerySet; readonly buffer: GPUBuffer } | undefined;
  private count = 0;

  constructor(private readonly device: GPUDevice) {}

  /** A batch begins. */
  restart(): void {
    this.count = 0;
  }

  /** A pass that notes when it began and ended. */
  beginPass(encoder: GPUCommandEncoder): GPUComputePassEncoder {
    const { device } = this;
    this.made ??= {
      queries: device.createQuerySet({ type: 'timestamp', count: MOST_TIMES }),
      buffer: device.createBuffer({ size: TIME_BYTES * MOST_TIMES, usage: QUERY_RESOLVE | COPY_SRC }),
    };
    const beginningOfPassWriteIndex = this.count;
    this.count += 2;
    return encoder.beginComputePass({
      timestampWrites: {
        querySet: this.made.queries, beginningOfPassWriteIndex, endOfPassWriteIndex: beginningOfPassWriteIndex + 1,
      },
    });
  }

  /** A buffer with what was noted since the batch began. It is written by the encoder's commands. */
  resolve(encoder: GPUCommandEncoder): GPUBuffer {
    const { buffer, queries } = this.made!;
    encoder.resolveQuerySet(queries, 0, this.count, buffer, 0);
    return buffer;
  }

  close(): void {
    this.made?.queries.destroy();
    this.made?.buffer.destroy();
    this.made = undefined;
  }
}
