// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ModuleProgram: a program of a module.

import type { TensorInput } from '../../call.js';
import type { Context } from '../../context.js';
import type { Handle } from '../../engine.js';
import type { Entry } from '../../errors.js';
import type { Program, ProgramFunction, ProgramsPackage } from '../../programs.js';
import type { Runtime } from '../../runtime.js';
import type { Tensor } from '../../tensor.js';
import { describe } from '../../values.js';
import type { WasmEngine } from '../engine.js';
import type { Exports, Task } from './task.js';

// What is left to do for programs that are garbage.
const registry = new FinalizationRegistry<() => void>((release) => release());

/** A program that the module has under `pointer`, which is this object's from here on. */
export class ModuleProgram implements Program {
  readonly functions: readonly ProgramFunction[];
  private readonly common: ProgramsPackage;
  private readonly engine: WasmEngine;
  // Apart, so that the registry does not keep the program.
  private readonly held: { pointer: Handle };

  constructor(readonly runtime: Runtime, pointer: Handle, task: Task) {
    const { common, engine, exports } = task;
    const held = { pointer };
    this.held = held;
    this.common = common;
    this.engine = engine;
    const release = (): void => {
      const given = held.pointer;
      held.pointer = 0;
      if (given !== 0) engine.drop(() => exports.tandem_program_release(given));
    };
    this.dispose = release;
    registry.register(this, release);
    this.functions = Object.freeze(this.describeFunctions());
  }

  private describeFunctions(): ProgramFunction[] {
    const { engine, exports, held: { pointer } } = this;
    const functions: ProgramFunction[] = [];
    for (;;) {
      const name = engine.guard(() => exports.tandem_program_function(pointer, functions.length)) >>> 0;
      if (name === 0) return functions;
      engine.run((_, scratch) => exports.tandem_program_signature(pointer, name, scratch, scratch + 4));
      functions.push(Object.freeze({
        name: engine.heap.cString(name), inputs: engine.result(0), results: engine.result(1),
      }));
    }
  }

  private get exports(): Exports {
    return this.engine.exports as unknown as Exports;
  }

  get disposed(): boolean {
    return this.held.pointer === 0 || this.engine.closed !== undefined;
  }

  readonly dispose: () => void;

  [Symbol.dispose](): void {
    this.dispose();
  }

  run(name: string, inputs: readonly TensorInput[] = []): Tensor[] {
    const { common } = this;
    try {
      const pointer = this.pointerFor('run');
      const found = this.functions.find((its) => its.name === name);
      if (found === undefined) {
        const names = this.functions.map((its) => its.name).join(', ');
        throw this.error('run', 'NotFound',
          `expected one of the functions ${names}, got ${typeof name === 'string' ? name : describe(name)}`);
      }
      if (!Array.isArray(inputs)) {
        throw this.error(name, 'InvalidArgument', `expected inputs to be an array, got ${describe(inputs)}`);
      }
      const values = common.copyOf(inputs, name) as TensorInput[];
      if (values.length !== found.inputs) {
        throw this.error(name, 'InvalidArgument', `expected ${found.inputs} arguments, got ${values.length}`);
      }
      return this.call(pointer, found, values, this.run);
    } catch (error) {
      throw common.failure(error, this.run, typeof name === 'string' ? name : 'run');
    }
  }

  // `inputs` are checked but for what they are.
  private call(pointer: Handle, { name, results }: ProgramFunction, inputs: TensorInput[], entry: Entry): Tensor[] {
    const { common, engine, exports, runtime } = this;
    const made: Handle[] = [];
    let inherited: Context | undefined;
    try {
      // Code of the program's may run while values are read, and dispose of tensors: these come last.
      const pointers = inputs.map((value, i) => {
        if (common.isTensor(value)) return 0;
        const tensor = engine.place(common.createTensor(
          engine, value, undefined, undefined, { op: name, name: `inputs[${i}]`, isStrict: true }));
        made.push(tensor);
        return tensor;
      });
      inputs.forEach((value, i) => {
        if (!common.isTensor(value)) return;
        pointers[i] = this.pointerOf(value, i, name);
        inherited ??= value.context;
      });
      this.pointerFor('run');
      return engine.withText(name, (text) => {
        const hasChains = engine.guard(() => exports.tandem_js_program_has_chains(pointer, text)) !== 0;
        const options = {
          attrs: 0,
          chain: hasChains || results === 0 ? runtime.chain() : 0,
          request: common.requestOf(engine, inherited),
          location: engine.tracksLocations ? engine.location(common.locationOf(entry)) : 0,
        };
        const run = (...room: number[]): number => exports.tandem_program_run(pointer, text, ...room);
        const given = engine.execute(run, pointers, results, options, entry);
        return given.map((result) => common.newTensor(runtime, engine, result, inherited));
      });
    } finally {
      for (const tensor of made) engine.releaseTensor(tensor);
    }
  }

  private pointerOf(tensor: Tensor, index: number, name: string): Handle {
    if (tensor.engine !== this.engine) {
      throw this.error(name, 'InvalidArgument',
        `expected tensors of the program's runtime, got inputs[${index}] of another`);
    }
    if (tensor.ref.pointer === 0) {
      throw this.error(name, 'FailedPrecondition',
        `expected tensors that are not disposed of, got inputs[${index}], which is`);
    }
    return tensor.ref.pointer;
  }

  toText(): string {
    return this.attributed(this.toText, (pointer) =>
      this.engine.takeText((_, scratch) => this.exports.tandem_program_text(pointer, scratch, scratch + 4)));
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const { engine, exports } = this;
    return this.attributed(this.toBytes, (pointer) => {
      const address = engine.ask((_, scratch) => exports.tandem_program_bytes(pointer, scratch, scratch + 4));
      try {
        return engine.heap.bytes(address, engine.result(1));
      } finally {
        exports.tandem_free(address);
      }
    });
  }

  private attributed<T>(entry: Entry, read: (pointer: Handle) => T): T {
    try {
      return read(this.pointerFor(entry.name));
    } catch (error) {
      throw this.common.failure(error, entry);
    }
  }

  private pointerFor(what: string): Handle {
    if (this.engine.closed !== undefined) throw this.engine.whyClosed();
    if (this.held.pointer !== 0) return this.held.pointer;
    throw this.error(what, 'FailedPrecondition', 'expected a program that is not disposed of, got one that is');
  }

  private error(name: string, code: 'FailedPrecondition' | 'InvalidArgument' | 'NotFound', text: string): Error {
    return new this.common.TandemError(code, `[${name}] ${text}`, { op: name });
  }
}
