// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One call that has to do with programs, on its way through several turns of the event loop.

import type { ErrorCode, TandemError } from '../../errors.js';
import type { Caller, ProgramsPackage } from '../../programs.js';
import type { WasmEngine } from '../engine.js';
import type { Export, ProgramsExport, WebgpuProgramsExport } from '../layout.js';
import { describe } from '../../values.js';

/** The functions of the module. */
export type Exports = Readonly<Record<Export | ProgramsExport, (...args: number[]) => number>> &
  Readonly<Partial<Record<WebgpuProgramsExport, (...args: number[]) => number>>>;

/** A call: what it has to do with, and what its errors say. */
export class Task {
  constructor(readonly engine: WasmEngine, readonly common: ProgramsPackage, readonly caller: Caller) {}

  get exports(): Exports {
    return this.engine.exports as unknown as Exports;
  }

  /** An error of the call. */
  error(code: ErrorCode, text: string, cause?: unknown): TandemError {
    const { op, location } = this.caller;
    return new this.common.TandemError(code, `[${op}] ${text}`, {
      op, ...(location === '' ? {} : { location }), ...(cause === undefined ? {} : { cause }),
    });
  }

  /** Runs `body` once the code of programs is there; an error of the package whose place is not known is the caller's. */
  async perform<T>(body: () => Promise<T>): Promise<T> {
    try {
      await this.engine.loadPrograms();
      return await body();
    } catch (error) {
      throw this.located(error);
    }
  }

  /** An error of the package whose place is not known is the caller's. */
  located(error: unknown): unknown {
    const { op, location } = this.caller;
    if (!(error instanceof this.common.TandemError) || error.location !== undefined || location === '') return error;
    (error as { location?: string }).location = location;
    // The stack of now shows nothing of the program.
    error.stack = `${error.name}: ${error.message}\n    at ${op} (${location})`;
    return error;
  }

  /** The options, each read once. Throws InvalidArgument if there are others than `names`. */
  options<Options extends object>(given: Options, names: readonly (string & keyof Options)[]): Options {
    if (typeof given !== 'object' || given === null) {
      throw this.error('InvalidArgument', `expected options to be an object, got ${describe(given)}`);
    }
    const options = this.read(() => ({ ...given }));
    const unknown = Object.keys(options).find((name) => !(names as readonly string[]).includes(name));
    if (unknown !== undefined) {
      throw this.error('InvalidArgument', `expected the options ${names.join(', ')}, got ${unknown}`);
    }
    return options;
  }

  /** A list that the program gives, each element read once. */
  copyOf(list: unknown, name: string): unknown[] {
    if (!Array.isArray(list)) {
      throw this.error('InvalidArgument', `expected ${name} to be an array, got ${describe(list)}`);
    }
    return this.read(() => this.common.copyOf(list, this.caller.op));
  }

  /** Reads what the program gives; what its getters throw becomes an error of the package. */
  read<T>(fn: () => T): T {
    try {
      return fn();
    } catch (error) {
      throw this.common.errorFor(this.caller.op, error);
    }
  }

  /** The signal of the options. Throws its reason if it is aborted. */
  signalOf(signal: AbortSignal | undefined): AbortSignal | undefined {
    try {
      return this.common.signalOf({ signal });
    } catch (error) {
      throw error instanceof this.common.Over ? error.reason : error;
    }
  }

  /** A text of the options that is not empty, or undefined. */
  checkText(value: unknown, name: string): asserts value is string | undefined {
    if (value === undefined || (typeof value === 'string' && value !== '')) return;
    throw this.error('InvalidArgument', `expected ${name} to be a text that is not empty, got ${
      value === '' ? 'an empty one' : describe(value)}`);
  }
}
