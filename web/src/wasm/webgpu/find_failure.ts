// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which record of a batch WebGPU did not accept: each is tried once more by itself, in an error scope of its own.

import { Command } from '../layout.js';
import { popScope } from './device.js';
import type { Executor, Memory } from './executor.js';
import { recordsOf } from './records.js';

/** A record that fails, by its place in the batch. */
export interface Found {
  readonly word: number;
  readonly text: string;
}

/** The first record that fails; undefined if none does by itself. */
export async function findFailure(
  executor: Executor, memory: Memory, first: number, count: number,
): Promise<Found | undefined> {
  memory.renew();
  const trials: Promise<Found | undefined>[] = [];
  // A copy, since the memory may grow meanwhile.
  const words = memory.u32.slice(first, first + count);
  for (const { record, word } of recordsOf(words)) {
    const numbers = buffersOf(executor, record);
    if (numbers === undefined) continue;
    executor.device.pushErrorScope('validation');
    tryRecord(executor, record, numbers);
    trials.push(popScope(executor.device).then(
      (error) => (error === null ? undefined : { word, text: error.message })));
  }
  return (await Promise.all(trials)).find((found) => found !== undefined);
}

function buffersOf(executor: Executor, record: Uint32Array): readonly number[] | undefined {
  switch (record[0]) {
    case Command.DISPATCH:
    case Command.TIMED_DISPATCH:
      return executor.groups[record[2]!]?.buffers ?? [];
    case Command.WRITE:
    case Command.STAGE:
      return [record[1]!];
    case Command.COPY_FROM_ARENA:
      return [record[2]!];
    case Command.COPY:
      return [record[1]!, record[3]!];
    default:
      return undefined;
  }
}

function tryRecord(executor: Executor, record: Uint32Array, numbers: readonly number[]): void {
  const { buffers, device, groups, pipelines } = executor;
  try {
    // Whether a buffer is one, and has not been destroyed, a write of nothing tells.
    for (const number of numbers) device.queue.writeBuffer(buffers[number]!, 0, new Uint8Array(4), 0, 0);
    if (record[0] === Command.WRITE) return;
    const encoder = device.createCommandEncoder();
    if (record[0] === Command.DISPATCH || record[0] === Command.TIMED_DISPATCH) {
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipelines[record[1]!]!);
      pass.setBindGroup(0, groups[record[2]!]!.group, [record[3]!]);
      pass.dispatchWorkgroups(record[4]!, record[5], record[6]);
      pass.end();
    } else {
      executor.encodeCopy(encoder, record, true);
    }
    encoder.finish();
  } catch {
    // What it throws is no more than what the whole batch has said.
  }
}
