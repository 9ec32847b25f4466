// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Waiting that a signal can end.

import { Over, TandemError } from './errors.js';
import { describe } from './values.js';

/** How a call waits. */
export interface WaitOptions {
  /** Ends the waiting when it is aborted: the promise rejects with its reason. What is computed goes on. */
  signal?: AbortSignal | undefined;
}

/** The signal of the options. Throws InvalidArgument if it is none, and that it is over if it is aborted. */
export function signalOf(options: WaitOptions | undefined): AbortSignal | undefined {
  const signal = (options ?? undefined)?.signal;
  if (signal === undefined) return undefined;
  if (typeof signal !== 'object' || typeof signal?.addEventListener !== 'function' || !('aborted' in signal)) {
    throw new TandemError('InvalidArgument', `expected signal to be an AbortSignal, got ${describe(signal)}`);
  }
  if (signal.aborted) throw new Over(signal.reason);
  return signal;
}

/** The promise, or the signal's reason, whichever comes first. */
export function awaited<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
