// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Waiting that a signal can end.

import { TandemError } from './errors.js';

/** How a call waits. */
export interface WaitOptions {
  /** Ends the waiting when it is aborted: the promise rejects with its reason. What is computed goes on. */
  signal?: AbortSignal | undefined;
}

/** Throws InvalidArgument if the signal is none, and its reason if it is aborted. */
export function checkSignal(options: WaitOptions | undefined): void {
  const signal: unknown = options?.signal;
  if (signal === undefined) return;
  if (typeof signal !== 'object' || signal === null || !('aborted' in signal)) {
    throw new TandemError('InvalidArgument', `expected signal to be an AbortSignal, got ${String(signal)}`);
  }
  if ((signal as AbortSignal).aborted) throw (signal as AbortSignal).reason;
}

/** The promise, or the signal's reason, whichever comes first. */
export function awaited<T>(promise: Promise<T>, options: WaitOptions | undefined): Promise<T> {
  const signal = options?.signal;
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
