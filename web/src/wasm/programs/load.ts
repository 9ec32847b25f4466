// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Loading programs.

import type { LoadProgramOptions, Program, Weights } from '../../programs.js';
import type { Runtime } from '../../runtime.js';
import type { Tensor } from '../../tensor.js';
import { describe } from '../../values.js';
import { awaited } from '../../waiting.js';
import { ProgramOptionsLayout } from '../layout.js';
import { Scratch } from '../scratch.js';
import { contentOf } from './content.js';
import type { Content } from './content.js';
import { ModuleProgram } from './program.js';
import type { Task } from './task.js';

const OPTIONS = ['weights', 'file', 'device', 'fuse', 'signal'] as const;

function isPromise(value: unknown): value is PromiseLike<Weights> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}

// Name and tensor of each.
function pairsOf(weights: unknown, task: Task): [string, Tensor][] {
  if (typeof weights !== 'object' || weights === null || Array.isArray(weights) || task.common.isTensor(weights)) {
    throw task.error('InvalidArgument', `expected weights to be tensors by name, got ${describe(weights)}`);
  }
  const { tensors } = weights as { tensors?: unknown };
  const of = tensors instanceof Map ? tensors : weights;
  const pairs = task.read(() => (of instanceof Map ? [...of as Map<string, unknown>] : Object.entries(of)));
  for (const [name, tensor] of pairs) {
    if (!task.common.isTensor(tensor)) {
      throw task.error('InvalidArgument',
        `expected the weight ${String(name)} to be a tensor, got ${describe(tensor)}`);
    }
    if (tensor.engine !== task.engine) {
      throw task.error('InvalidArgument', `the weight ${String(name)} is of another runtime`);
    }
    if (tensor.disposed) {
      throw task.error('FailedPrecondition',
        `expected weights that are not disposed of, got ${String(name)}, which is`);
    }
  }
  return pairs as [string, Tensor][];
}

function make(
  runtime: Runtime, { bytes, name }: Content, weights: readonly [string, Tensor][], device: string, fuse: boolean,
  task: Task,
): Program {
  const { engine, engine: { heap }, exports } = task;
  const rooms: number[] = [];
  const keep = (room: number): number => {
    rooms.push(room);
    return room;
  };
  try {
    const data = keep(heap.malloc(bytes.length));
    const file = keep(heap.newCString(name));
    // With the NULs that they end in.
    const names = keep(heap.newStrings(weights.map(([weight]) => `${weight}\0`)));
    const tensors = keep(heap.malloc(4 * weights.length));
    const handler = device === '' ? 0 : keep(heap.newCString(device));
    const pointer = engine.ask((_, scratch) => {
      heap.u8.set(bytes, data);
      heap.u32.set(weights.map(([, tensor]) => tensor.pointerFor('loadProgram')), tensors >>> 2);
      const at = scratch + Scratch.STRUCT;
      heap.u32[(at + ProgramOptionsLayout.device) >>> 2] = handler;
      heap.u32[(at + ProgramOptionsLayout.fuse) >>> 2] = Number(fuse);
      heap.u32[(at + ProgramOptionsLayout.numWeights) >>> 2] = weights.length;
      heap.u32[(at + ProgramOptionsLayout.names) >>> 2] = names;
      heap.u32[(at + ProgramOptionsLayout.weights) >>> 2] = tensors;
      return exports.tandem_js_program_load(engine.js, data, bytes.length, file, at, scratch);
    });
    return new ModuleProgram(runtime, pointer, task);
  } finally {
    for (const room of rooms) engine.free(room);
  }
}

/** See `Runtime.loadProgram`. */
export async function loadProgram(
  runtime: Runtime, source: unknown, given: LoadProgramOptions, task: Task,
): Promise<Program> {
  const { device = 'runtime', file, fuse = true, signal: asked, weights } = task.options(given, OPTIONS);
  task.checkText(file, 'file');
  if (typeof fuse !== 'boolean') {
    throw task.error('InvalidArgument', `expected fuse to be true or false, got ${describe(fuse)}`);
  }
  if (device !== 'runtime' && device !== 'program') {
    throw task.error('InvalidArgument', `expected device to be 'runtime' or 'program', got ${describe(device)}`);
  }
  const signal = task.signalOf(asked);
  // Theirs may be on their way at the same time.
  const isOurs = isPromise(weights);
  const loading = isOurs ? Promise.resolve(weights) : undefined;
  loading?.catch(() => undefined);
  let ours: readonly [string, Tensor][] = [];
  try {
    const content = await awaited(contentOf(source, task, signal), signal);
    const loaded = loading === undefined ? weights : await awaited(loading, signal);
    const pairs = loaded === undefined ? [] : pairsOf(loaded, task);
    if (isOurs) ours = pairs;
    const { engine } = task;
    const handler = device === 'program' ? '' : engine.handler || engine.device;
    return make(runtime, { ...content, name: file ?? content.name }, pairs, handler, fuse, task);
  } finally {
    for (const [, tensor] of ours) tensor.dispose();
  }
}
