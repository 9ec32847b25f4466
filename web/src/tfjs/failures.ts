// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What is thrown for what a kernel has thrown: an error that names the kernel, and the line of the program that called
// TensorFlow.js.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import { TandemError } from 'tandem-rt';

import { placeOfFrame } from '../errors.js';

/** Inputs of a kernel by name, or a list of them, which is a map, too; some are absent. */
export type InputMap = Readonly<Record<string, TensorInfo | readonly TensorInfo[] | undefined>>;

// A program may be that deep in layers.
const MOST_FRAMES = 200;
// Of TensorFlow.js between a function of it and one that it calls, or a kernel.
const MOST_BETWEEN = 16;

// TensorFlow.js gives its functions names that end so, also where the rest of a bundle has lost them.
const isFunctionOfTfjs = (frame: string): boolean => /^\s*at (?:\S+\.)?\w+__op\b/.test(frame) || /^\w+__op@/.test(frame);
const isInPackage = (frame: string): boolean => /[\\/](?:@tensorflow[\\/]tfjs|tandem-rt(?:@[^\\/]*)?[\\/]dist[\\/])/.test(frame);

// The frames of the program, of a stack that has been cut to frames. In a bundle, those after the last function of
// TensorFlow.js that another one of it, or a kernel, has called; where there is none, only what is in another file than
// this is known to be none of ours.
function framesOfProgram(frames: readonly string[]): string[] {
  let first = 0;
  for (let i = 0; i < frames.length && i <= first + MOST_BETWEEN; ++i) {
    if (isFunctionOfTfjs(frames[i]!) || isInPackage(frames[i]!)) first = i + 1;
  }
  if (first > 0) return frames.slice(first);
  const files = frames.map((frame) => fileOf(placeOfFrame(frame)!));
  const next = files.findIndex((file) => file !== files[0]);
  return next === -1 ? [...frames] : framesOfProgram(frames.slice(next));
}

const fileOf = (place: string): string => place.replace(/:\d+:\d+$/, '');

// The frames of what is running now, the innermost first.
function stackFrames(): string[] {
  const limit = Error.stackTraceLimit as number | undefined;
  Error.stackTraceLimit = MOST_FRAMES;
  const { stack = '' } = new Error();
  if (limit !== undefined) Error.stackTraceLimit = limit;
  return stack.split('\n').filter((line) => placeOfFrame(line)?.startsWith('node:') === false);
}

/** Where the program is calling TensorFlow.js now, "file:line:column"; empty if the environment does not tell. */
export function callerPlace(): string {
  return framesOfProgram(stackFrames()).map(placeOfFrame)[0] ?? '';
}

function describe(inputs: InputMap, attrs: object): string {
  const named = Object.entries(inputs).map(([name, info]) => {
    const one = info as TensorInfo | undefined;
    return one?.shape === undefined ? `${name}: ${Array.isArray(info) ? 'a list' : 'none'}`
      : `${name}: ${one.dtype}[${one.shape.join(',')}]`;
  });
  return `the inputs ${named.join(', ') || '(none)'} and the attributes ${Object.keys(attrs).join(', ') || '(none)'}`;
}

/** The error, with the line of the program that is calling TensorFlow.js now, unless it came from a call before. */
export function atCaller(error: TandemError): TandemError {
  const known = error.location;
  const all = stackFrames();
  const isOurs = (place: string): boolean => isInPackage(place) || fileOf(place) === fileOf(placeOfFrame(all[0] ?? '') ?? '');
  if (known !== undefined && !isOurs(known)) return error;
  const frames = framesOfProgram(all);
  if (frames.length === 0) return error;
  Object.assign(error, { location: placeOfFrame(frames[0]!)! });
  Object.defineProperty(error, 'stack', {
    value: `${error.name}: ${error.message}\n${frames.join('\n')}`, configurable: true, writable: true,
  });
  return error;
}

/** What `run` gives, which TensorFlow.js asks of a backend. */
export function asked<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof TandemError ? atCaller(error) : error;
  }
}

/**
 * The error to throw for what a kernel has thrown. What TensorFlow.js says it still says; where a kernel was called with
 * something else than TensorFlow.js promises, the error says what that was.
 */
export function failureOf(kernelName: string, inputs: InputMap, attrs: object, thrown: unknown): unknown {
  let error = thrown;
  if (thrown instanceof TypeError) {
    error = new TandemError('InvalidArgument',
      `[${kernelName}] expected the inputs and attributes that TensorFlow.js has for it, got ` +
      `${describe(inputs, attrs)}: ${thrown.message}`, { op: kernelName, cause: thrown });
  } else if (thrown instanceof Error && thrown.constructor === Error) {
    error = new TandemError('InvalidArgument', thrown.message, { op: kernelName, cause: thrown });
  }
  if (!(error instanceof TandemError)) return error;
  if (error.op === undefined) Object.assign(error, { op: kernelName });
  return atCaller(error);
}
