// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs, recordings, layers and ops of the user's own, of a module: a file of its own, which is loaded when one of them is asked for.

import type { OpFunction, OpSpec } from '../../custom_ops.js';
import type { LoadProgramOptions, Programs, ProgramsPackage, ProgramSource } from '../../programs.js';
import type { Caller, Layer, Layers, Program, Recordable, Recording, RecordOptions } from '../../programs.js';
import type { Runtime } from '../../runtime.js';
import type { Tensor } from '../../tensor.js';
import type { WasmEngine } from '../engine.js';
import { ModuleKernels } from './kernels.js';
import { ModuleLayers, textOfLayers } from './layers.js';
import { loadProgram } from './load.js';
import { record } from './record.js';
import { registerOp } from './register_op.js';
import { Task } from './task.js';

/** What has to do with programs, of the runtime of this engine. */
export function open(engine: WasmEngine, common: ProgramsPackage): Programs {
  return new ModulePrograms(engine, common);
}

// The names of the tables of substitutions that modules have, by their texts.
const tablesOf = new WeakMap<WasmEngine, Map<string, string>>();

class ModulePrograms implements Programs {
  constructor(private readonly engine: WasmEngine, private readonly common: ProgramsPackage) {}

  load(runtime: Runtime, source: ProgramSource, options: LoadProgramOptions, caller: Caller): Promise<Program> {
    const task = new Task(this.engine, this.common, caller);
    return task.perform(() => loadProgram(runtime, source, options, task));
  }

  record<Result extends Recordable>(
    runtime: Runtime, fn: (...inputs: Tensor[]) => Result | PromiseLike<Result>, options: RecordOptions, caller: Caller,
  ): Promise<Recording<Result>> {
    const task = new Task(this.engine, this.common, caller);
    return task.perform(async () => {
      checkNotRecording(task);
      this.engine.isRecording = true;
      try {
        return await record(runtime, fn, options, task);
      } finally {
        this.engine.isRecording = false;
      }
    });
  }

  setLayers(runtime: Runtime, layers: readonly Layer[], caller: Caller): Promise<void> {
    const { engine } = this;
    const task = new Task(engine, this.common, caller);
    return task.perform(async () => {
      checkNotRecording(task);
      const { text, names } = textOfLayers(
        task.copyOf(layers, 'layers'), engine.device, task, (table) => this.nameOfTable(table, task));
      if (text !== '') {
        engine.withText(text, (at) => engine.run(() => task.exports.tandem_layers_add(engine.runtime, at)));
      }
      engine.useHandler(text);
      (runtime as { layers: Layers | undefined }).layers = text === '' ? undefined : new ModuleLayers(names, task);
    });
  }

  private nameOfTable(table: string, task: Task): string {
    const { engine } = this;
    const tables = tablesOf.get(engine) ?? new Map<string, string>();
    tablesOf.set(engine, tables);
    const known = tables.get(table);
    if (known !== undefined) return known;
    const name = tables.size === 0 ? 'substitutions' : `substitutions-${tables.size + 1}`;
    const size = new TextEncoder().encode(table).length;
    engine.withText(name, (at) => engine.withText(table, (text) => engine.run(
      () => task.exports.tandem_substitutions_add(engine.runtime, at, text, size))));
    tables.set(table, name);
    return name;
  }

  registerOp<Result extends Tensor | Tensor[]>(
    runtime: Runtime, spec: OpSpec, caller: Caller,
  ): Promise<OpFunction<Result>> {
    const { common, engine } = this;
    const task = new Task(engine, common, caller);
    return task.perform(async () => {
      const kernels = (engine.kernels ??= new ModuleKernels(engine, common)) as ModuleKernels;
      const name = registerOp(spec, kernels, (added) => {
        runtime.forgetDefinitions();
        return runtime.ops().find((op) => op.name === added)!;
      }, task);
      return runtime.op<Result>(name);
    });
  }
}

function checkNotRecording(task: Task): void {
  if (!task.engine.isRecording) return;
  throw task.error('FailedPrecondition',
    'expected no recording of this runtime in progress, got one that has not ended');
}
