// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels in JavaScript: a call of one is an event of the module, and ends with results that are tensors of it.

import { ERROR_CODES } from '../../codes.js';
import type { KernelCall, KernelInput, OpSpec, TensorType } from '../../custom_ops.js';
import { dtypeOfArray, dtypeOfCode, isDType, isSameLayout } from '../../dtypes.js';
import type { DType, TypedArray } from '../../dtypes.js';
import type { Handle, ScriptKernels } from '../../engine.js';
import type { TensorLike } from '../../nested.js';
import type { ProgramsPackage } from '../../programs.js';
import type { AttrDefinition, OpDefinition } from '../../registry.js';
import { describe } from '../../values.js';
import type { WasmEngine } from '../engine.js';
import { DescriptionLayout } from '../layout.js';
import { Scratch } from '../scratch.js';
import type { Exports } from './task.js';

/** An op with a kernel. */
export interface Registered {
  readonly definition: OpDefinition;
  readonly kernel: NonNullable<OpSpec['kernel']>;
  readonly metadata: Extract<OpSpec['metadata'], (...parameters: never[]) => unknown> | undefined;
}

type Known = Partial<TensorType>;

// Of JSON, in which texts stand for numbers that it does not have.
function valueOf(value: unknown, kind: AttrDefinition['kind']): unknown {
  if (Array.isArray(value)) return value.map((element) => valueOf(element, kind));
  if (typeof value !== 'string') return value;
  if (kind === 'int' || kind === 'shape') return BigInt(value);
  return kind === 'float' ? Number(value.replace('inf', 'Infinity')) : value;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function errorText(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return 'something that has no text';
  }
}

/** The kernels of an engine. */
export class ModuleKernels implements ScriptKernels {
  private readonly ops = new Map<number, Registered>();
  private readonly open = new Map<Handle, AbortController>();
  private waiting: (() => void)[] = [];

  constructor(private readonly engine: WasmEngine, private readonly common: ProgramsPackage) {}

  private get exports(): Exports {
    return this.engine.exports as unknown as Exports;
  }

  add(id: number, op: Registered): void {
    this.ops.set(id, op);
  }

  start(id: number, call: Handle): void {
    const op = this.ops.get(id)!;
    const controller = new AbortController();
    this.open.set(call, controller);
    if (this.isCancelled(call)) return this.giveUp(call);
    try {
      const given = this.readCall(op, call, controller.signal);
      const results = op.kernel(given);
      if (!isThenable(results)) return this.give(op, call, given.outputs, results);
      results.then((value) => this.give(op, call, given.outputs, value), (error: unknown) => this.fail(call, error));
    } catch (error) {
      this.fail(call, error);
    }
  }

  poll(): void {
    if (this.engine.closed !== undefined) return this.close();
    for (const call of [...this.open.keys()]) {
      if (this.open.has(call) && this.isCancelled(call)) this.giveUp(call);
    }
  }

  settled(): Promise<boolean> {
    if (this.open.size === 0) return Promise.resolve(false);
    return new Promise((resolve) => this.waiting.push(() => resolve(this.engine.closed === undefined)));
  }

  private close(): void {
    const controllers = [...this.open.values()];
    this.open.clear();
    this.tellWaiting();
    for (const controller of controllers) controller.abort(this.engine.whyClosed());
  }

  private isCancelled(call: Handle): boolean {
    return this.engine.guard(() => this.exports.tandem_js_call_is_cancelled(call)) !== 0;
  }

  private giveUp(call: Handle): void {
    const controller = this.open.get(call)!;
    const error = new this.common.TandemError('Cancelled', 'the call was cancelled');
    this.fail(call, error);
    controller.abort(error);
  }

  private tellWaiting(): void {
    if (this.open.size > 0) return;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  // What the kernel is called with.
  private readCall({ definition, metadata }: Registered, call: Handle, signal: AbortSignal): KernelCall {
    const { engine, exports } = this;
    const count = (name: 'tandem_js_call_num_inputs' | 'tandem_js_call_num_results'): number =>
      engine.guard(() => exports[name](call));
    const inputs = Array.from({ length: count('tandem_js_call_num_inputs') }, (_, i) => this.readInput(call, i));
    const texts = JSON.parse(engine.takeText((_, scratch) =>
      exports.tandem_js_call_attrs(call, scratch, scratch + 4))) as Record<string, unknown>;
    const attrs = Object.fromEntries(definition.attrs.filter(({ name }) => name in texts)
      .map(({ kind, name }) => [name, valueOf(texts[name], kind)]));
    let outputs: Known[] =
      Array.from({ length: count('tandem_js_call_num_results') }, (_, i) => this.readKnown(call, i));
    if (metadata !== undefined) {
      const given = metadata(inputs, attrs);
      const list = (Array.isArray(given) ? given : [given]) as readonly Known[];
      this.checkCount(list, outputs.length, 'metadata');
      outputs = outputs.map((known, i) => this.described(known, list[i], i));
    }
    return { inputs, attrs, outputs, signal };
  }

  private readInput(call: Handle, index: number): KernelInput {
    const { engine, exports } = this;
    const pointer = engine.ask((_, scratch) => exports.tandem_js_call_input(call, index, scratch));
    try {
      const { dtype, place, shape } = engine.describe(pointer);
      const size = shape!.reduce((product, dim) => product * dim, 1);
      const data = dtype === 'string'
        ? engine.strings(pointer, size) : engine.elements(dtype!, place, size).slice();
      return { dtype: dtype!, shape: shape!, data };
    } finally {
      engine.releaseTensor(pointer);
    }
  }

  private readKnown(call: Handle, index: number): Known {
    const { engine, exports } = this;
    return engine.guard((_, scratch) => {
      const at = scratch + Scratch.STRUCT;
      exports.tandem_js_call_known(call, index, at);
      const { f64, u32 } = engine.heap;
      const code = u32[(at + DescriptionLayout.dtype) >>> 2]!;
      const rank = u32[(at + DescriptionLayout.rank) >>> 2]! | 0;
      const first = (at + DescriptionLayout.dims) >>> 3;
      return {
        ...(code === 0 ? {} : { dtype: dtypeOfCode(code) }),
        ...(rank < 0 ? {} : { shape: Array.from(f64.subarray(first, first + rank)) }),
      };
    });
  }

  // What is known, and what else was said of a result.
  private described(known: Known, given: unknown, index: number): Known {
    if (typeof given !== 'object' || given === null) {
      throw this.error(`expected dtype and shape of result ${index}, got ${describe(given)}`);
    }
    const { dtype = known.dtype, shape = known.shape } = given as Known;
    if (dtype !== undefined && !isDType(dtype)) {
      throw this.error(`expected a dtype such as 'f32' for result ${index}, got ${describe(dtype)}`);
    }
    const isShape = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && size >= 0);
    if (shape !== undefined && !isShape) {
      throw this.error(`expected a shape of sizes from 0 on for result ${index}, got ${describe(shape)}`);
    }
    const same = (a: readonly number[], b: readonly number[]): boolean =>
      a.length === b.length && a.every((size, i) => size === b[i]);
    if ((known.dtype !== undefined && known.dtype !== dtype) ||
        (known.shape !== undefined && !same(known.shape, shape!))) {
      const text = (type: Known): string => `${type.dtype ?? ''}[${type.shape?.join(',') ?? '...'}]`;
      throw this.error(
        `kernel must give result ${index} as ${text(known)}, gave ${text({ dtype: dtype!, shape: shape! })}`);
    }
    return { ...(dtype && { dtype }), ...(shape && { shape }) };
  }

  private error(text: string): Error {
    return new this.common.TandemError('InvalidArgument', text);
  }

  private checkCount(list: readonly unknown[], count: number, what: string): void {
    if (list.length !== count) throw this.error(`expected ${what} of ${count} results, got ${list.length}`);
  }

  private give({ definition }: Registered, call: Handle, outputs: readonly Known[], value: unknown): void {
    if (!this.open.has(call)) return;
    try {
      const [output] = definition.outputs;
      const isOne = definition.outputs.length === 1 && !output?.number_attr && !output?.type_list_attr;
      if (!isOne && outputs.length > 0 && !Array.isArray(value)) {
        throw this.error(`expected a list of ${outputs.length} results, got ${describe(value)}`);
      }
      const results = isOne ? [value] : outputs.length > 0 ? this.common.copyOf(value as unknown[], 'kernel') : [];
      this.checkCount(results, outputs.length, 'a list');
      results.forEach((result, i) => this.setResult(call, i, outputs[i]!, result));
      this.finish(call, 0, '');
    } catch (error) {
      this.fail(call, error);
    }
  }

  private setResult(call: Handle, index: number, known: Known, result: unknown): void {
    const { common, engine, exports } = this;
    const isPlain = typeof result !== 'object' || result === null || Array.isArray(result) ||
      dtypeOfArray(result) !== undefined;
    if (!isPlain && !('data' in result)) {
      throw this.error(`expected the elements of result ${index}, got ${describe(result)}`);
    }
    const values = isPlain ? result : (result as { data: unknown }).data;
    const { dtype, shape } = isPlain ? known : this.described(known, result, index);
    const own = dtypeOfArray(values);
    if (own !== undefined && dtype !== undefined && !isSameLayout(own, dtype) && !(own === 'u8' && dtype === 'bool')) {
      throw this.error(`kernel must give result ${index} as ${dtype}, gave ${describe(values)}`);
    }
    const pointer = common.createTensor(engine, values as TensorLike | TypedArray as TensorLike,
      dtype as DType | undefined, shape, { name: `result ${index}` });
    try {
      engine.run(() => exports.tandem_js_call_set_result(call, index, pointer));
    } finally {
      engine.releaseTensor(pointer);
    }
  }

  private fail(call: Handle, error: unknown): void {
    if (!this.open.has(call)) return;
    const isOurs = error instanceof this.common.TandemError;
    const code = isOurs ? error.code : error instanceof RangeError ? 'ResourceExhausted' : 'Unknown';
    const text = isOurs ? error.message.replace(/^\[tensor\] /, '') : `kernel threw ${errorText(error)}`;
    this.finish(call, ERROR_CODES.indexOf(code) + 1, text);
  }

  private finish(call: Handle, code: number, text: string): void {
    this.open.delete(call);
    const { engine } = this;
    if (engine.closed === undefined) {
      try {
        engine.withText(text, (at) => engine.guard(() => this.exports.tandem_js_call_finish(call, code, at)));
      } catch (error) {
        // Without memory for the text, or after a trap, which everybody hears of.
        if (engine.closed === undefined) engine.guard(() => this.exports.tandem_js_call_finish(call, code || 2, 0));
        else queueMicrotask(() => { throw error; });
      }
      engine.events.wake();
    }
    this.tellWaiting();
  }
}
