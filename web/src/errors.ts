// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The error that every failure of the package is, and where in the user's program it came from.

import { ERROR_CODES } from './codes.js';

/** The kinds of errors. */
export type ErrorCode =
  | 'Cancelled' | 'Unknown' | 'InvalidArgument' | 'DeadlineExceeded' | 'NotFound' | 'AlreadyExists'
  | 'ResourceExhausted' | 'FailedPrecondition' | 'OutOfRange' | 'Unimplemented' | 'Internal' | 'Unavailable'
  | 'DataLoss';

/** The kind of error that has this number in the C interface. @internal */
export function codeOfNumber(number: number): ErrorCode {
  return ERROR_CODES[number - 1] ?? 'Unknown';
}

/** The number of a kind of error in the C interface. @internal */
export function numberOfCode(code: ErrorCode): number {
  return ERROR_CODES.indexOf(code) + 1;
}

/** What an error may say besides its code and message. */
export interface TandemErrorOptions {
  /** The op that failed, such as 'tf.MatMul'. */
  op?: string;
  /** Where in the program the op was called, "file:line:column". */
  location?: string;
  /** The ops that the error came through. */
  way?: readonly string[];
  /** What led to the error. */
  cause?: unknown;
}

/**
 * An error of Tandem. `message` has the form `[tf.MatMul] inner dimensions must agree, got a: f32[2,3], b: f32[4,5]`.
 * `location` is where the program called the op: always known of errors that are thrown by the call, and of those that
 * come later if the runtime was created with `trackLocations`.
 */
export class TandemError extends Error {
  readonly code: ErrorCode;
  readonly op?: string;
  readonly location?: string;
  /**
   * The ops that the error came through with a tensor, from the one next to where it arose: 'tf.Relu', with
   * ' (file:line:column)' behind it if the runtime tracks locations; after eight of them '3 more ops'.
   */
  readonly way?: readonly string[];
  /** The error that led to this one: a TandemError, or what the environment threw. */
  declare readonly cause?: unknown;

  constructor(code: ErrorCode, message: string, options: TandemErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TandemError';
    this.code = code;
    if (options.op !== undefined) this.op = options.op;
    if (options.location !== undefined) this.location = options.location;
    if (options.way !== undefined) this.way = options.way;
  }
}

/** An error of an op or function: `[name] text`. @internal */
export function errorIn(name: string, code: ErrorCode, text: string): TandemError {
  return new TandemError(code, `[${name}] ${text}`, { op: name });
}

/** Thrown on the way to a call that is over before it begins; the program gets `reason`, which may be anything. */
export class Over {
  constructor(readonly reason: unknown) {}
}

/** What an error says of anything that was thrown, or given as a reason. */
export function textOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return 'something that has no text';
  }
}

/**
 * The error of the package for what was thrown while `name` read what the program gave it: by getters, proxies that are
 * revoked, arrays whose buffer is detached, or where memory of JavaScript could not be had.
 */
export function errorFor(name: string, error: unknown): TandemError {
  if (error instanceof TandemError) return error;
  const [code, expected]: [ErrorCode, string] = error instanceof RangeError
    ? ['ResourceExhausted', 'memory of JavaScript'] : ['InvalidArgument', 'arguments that can be read'];
  return new TandemError(code, `[${name}] expected ${expected}, got ${textOf(error)}`, { op: name, cause: error });
}

/** A function of the package that the user called: frames from it inwards are not the user's. */
export type Entry = (...args: never[]) => unknown;

interface StackCapture {
  captureStackTrace?(target: object, above?: Entry): void;
}

/** "file:line:column" of a line of a stack, in the form of V8 ("at f (place)") or of the others ("f@place"). */
export function placeOfFrame(frame: string): string | undefined {
  const match = /^\s*at (?:.* \()?(.+:\d+:\d+)\)?$/.exec(frame) ?? /@(.+:\d+:\d+)$/.exec(frame);
  return match?.[1];
}

// Without captureStackTrace: the frames below the last one that is of the entry function.
function framesBelow(stack: string, entry: Entry): string[] {
  const frames = stack.split('\n');
  const last = frames.findLastIndex((frame) => frame.startsWith(`${entry.name}@`) || frame.includes(`.${entry.name}@`));
  return frames.slice(last + 1);
}

/**
 * Makes the caller of `entry` the place that the error's stack and `location` show; where the error came with the
 * result of a call before, whose place is known, that stays its location, and comes first in the stack. Returns the
 * error.
 * @internal
 */
export function attribute(error: TandemError, entry: Entry): TandemError {
  const capture = (Error as StackCapture).captureStackTrace;
  let frames: string[];
  if (capture) {
    capture(error, entry);
    frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  } else {
    frames = framesBelow(error.stack ?? '', entry);
    if (error.stack) Object.defineProperty(error, 'stack', { value: frames.join('\n'), configurable: true });
  }
  const { location } = error;
  if (location === undefined) {
    const found = frames.map(placeOfFrame).find((place) => place !== undefined);
    if (found !== undefined) (error as { location?: string }).location = found;
  } else if (!frames.some((frame) => frame.includes(location))) {
    showPlace(error, location, frames);
  }
  return error;
}

/** Lets the error's stack begin with the place where its op was called, before `frames`. @internal */
export function showPlace(error: TandemError, place: string, frames: readonly string[] = []): void {
  Object.defineProperty(error, 'stack', {
    value: [`${error.name}: ${error.message}`, `    at ${error.op ?? 'call'} (${place})`, ...frames].join('\n'),
    configurable: true,
    writable: true,
  });
}

/** Where the caller of `entry` is, "file:line:column"; empty if the environment does not tell. @internal */
export function locationOf(entry: Entry): string {
  return attribute(new TandemError('Unknown', ''), entry).location ?? '';
}

/** What to throw for what a call of `entry`, which errors call `name`, has thrown: an error of its caller. @internal */
export function failure(error: unknown, entry: Entry, name = entry.name): unknown {
  return error instanceof Over ? error.reason : attribute(errorFor(name, error), entry);
}

/** Runs `fn`; what it throws becomes an error of the package, the caller's of `entry`. @internal */
export function attributed<T>(entry: Entry, fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    throw failure(error, entry);
  }
}
