// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Recording calls as programs.

import type { TensorInput } from '../../call.js';
import type { Handle } from '../../engine.js';
import type { Program, Recordable, Recording, RecordOptions } from '../../programs.js';
import type { Runtime } from '../../runtime.js';
import type { Tensor } from '../../tensor.js';
import { describe } from '../../values.js';
import { awaited } from '../../waiting.js';
import { ModuleProgram } from './program.js';
import type { Task } from './task.js';

const OPTIONS = ['inputs', 'name', 'maxInlineBytes', 'signal'] as const;

// The tensors that a recorded function gives, in their order.
function outputsOf(result: unknown, task: Task): Tensor[] {
  const { isTensor } = task.common;
  if (result === undefined) return [];
  if (isTensor(result)) return [result];
  if (typeof result !== 'object' || result === null) {
    throw task.error('InvalidArgument', 'expected the function to return a tensor, an array or an object of tensors, ' +
      `or nothing, got ${describe(result)}`);
  }
  const names = Array.isArray(result) ? undefined : task.read(() => Object.keys(result));
  const values = names ? task.read(() => names.map((name) => (result as Record<string, unknown>)[name]))
    : task.copyOf(result, 'results');
  return values.map((value, i) => {
    if (isTensor(value)) return value;
    throw task.error('InvalidArgument', `expected result ${names?.[i] ?? i} to be a tensor, got ${describe(value)}`);
  });
}

function pointerOf(tensor: Tensor, what: string, task: Task): Handle {
  if (tensor.engine !== task.engine) throw task.error('InvalidArgument', `${what} is of another runtime`);
  if (tensor.ref.pointer === 0) {
    throw task.error('FailedPrecondition', `expected tensors that are not disposed of, got ${what}, which is`);
  }
  return tensor.ref.pointer;
}

class ModuleRecording<Result> implements Recording<Result> {
  constructor(
    readonly program: Program, readonly weights: ReadonlyMap<string, Tensor>, readonly result: Result,
  ) {}

  dispose(): void {
    this.program.dispose();
    for (const tensor of this.weights.values()) tensor.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

// A recording in the making.
class Recorder {
  private readonly pointer: Handle;

  constructor(private readonly task: Task, name: string, maxInlineBytes: number) {
    const { engine, exports } = task;
    this.pointer = engine.withText(name, (text) => engine.ask((_, scratch) =>
      exports.tandem_js_recording_start(engine.js, text, maxInlineBytes, scratch)));
  }

  addInputs(inputs: readonly Tensor[]): void {
    const { engine, exports } = this.task;
    inputs.forEach((input, i) => {
      const tensor = pointerOf(input, `inputs[${i}]`, this.task);
      engine.run(() => exports.tandem_recording_add_input(this.pointer, tensor));
    });
  }

  // The op handler whose calls are recorded.
  handler(): string {
    const { engine, exports } = this.task;
    return engine.heap.cString(engine.withText(engine.device, (device) => engine.ask((_, scratch) =>
      exports.tandem_recording_device(this.pointer, device, scratch))));
  }

  // Ends it.
  async finish(outputs: readonly Tensor[]): Promise<Handle> {
    const { engine, exports } = this.task;
    // References of its own: the tensors may be disposed of meanwhile.
    const held = outputs.map((output, i) => engine.share(pointerOf(output, `result ${i}`, this.task)));
    let room = 0;
    try {
      room = engine.heap.malloc(4 * held.length);
      engine.heap.u32.set(held, room >>> 2);
      await engine.events.when((id) => engine.run(() =>
        exports.tandem_js_recording_ready(engine.js, this.pointer, room, held.length, id)));
      if (engine.closed !== undefined) throw engine.whyClosed();
      return engine.withText(engine.handler || engine.device, (device) => engine.ask((_, scratch) =>
        exports.tandem_js_recording_finish(this.pointer, room, held.length, device, scratch)));
    } finally {
      if (room !== 0) engine.free(room);
      for (const tensor of held) engine.releaseTensor(tensor);
    }
  }

  weights(runtime: Runtime): Map<string, Tensor> {
    const { common, engine, exports } = this.task;
    const weights = new Map<string, Tensor>();
    for (;;) {
      engine.run((_, scratch) => exports.tandem_js_recording_weight(this.pointer, weights.size, scratch, scratch + 4));
      const [name, tensor] = [engine.result(0), engine.result(1)];
      if (name === 0) return weights;
      weights.set(engine.heap.cString(name), common.newTensor(runtime, engine, tensor));
    }
  }

  release(): void {
    const { engine, exports } = this.task;
    engine.drop(() => exports.tandem_recording_release(this.pointer));
  }
}

/** See `Runtime.record`. */
export async function record<Result extends Recordable>(
  runtime: Runtime, fn: (...inputs: Tensor[]) => Result | PromiseLike<Result>, given: RecordOptions, task: Task,
): Promise<Recording<Result>> {
  const { caller: { context }, common, engine } = task;
  if (typeof fn !== 'function') throw task.error('InvalidArgument', `expected a function, got ${describe(fn)}`);
  const { inputs = [], maxInlineBytes = Infinity, name = 'main', signal: asked } = task.options(given, OPTIONS);
  task.checkText(name, 'name');
  if (typeof maxInlineBytes !== 'number' || !(maxInlineBytes >= 0)) {
    throw task.error('InvalidArgument',
      `expected maxInlineBytes to be a number from 0 on, got ${describe(maxInlineBytes)}`);
  }
  const signal = task.signalOf(asked);
  const values = task.copyOf(inputs, 'inputs') as TensorInput[];
  const made: Tensor[] = [];
  const inContext = <T>(body: () => T): T => (context === undefined ? body() : common.runIn(context, body));
  let recorder: Recorder | undefined;
  const before = engine.handler;
  try {
    const tensors = values.map((value, i) => {
      if (common.isTensor(value)) return value;
      const name = `inputs[${i}]`;
      const pointer = engine.place(
        common.createTensor(engine, value, undefined, undefined, { op: 'record', name, isStrict: true }));
      const tensor = common.newTensor(runtime, engine, pointer);
      made.push(tensor);
      return tensor;
    });
    recorder = new Recorder(task, name, maxInlineBytes);
    recorder.addInputs(tensors);
    engine.useHandler(recorder.handler());
    let result: Result;
    try {
      result = await awaited(Promise.resolve(inContext(() => fn(...tensors))), signal);
    } finally {
      engine.useHandler(before);
    }
    const program = new ModuleProgram(runtime, await recorder.finish(outputsOf(result, task)), task);
    try {
      const weights = inContext(() => recorder!.weights(runtime));
      return new ModuleRecording(program, weights, result);
    } catch (error) {
      program.dispose();
      throw error;
    }
  } finally {
    recorder?.release();
    for (const tensor of made) tensor.dispose();
  }
}
