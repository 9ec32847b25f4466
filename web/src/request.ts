// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Requests: calls that are cancelled, and given a deadline, together.

import { contexts, currentContext, runIn } from './context.js';
import type { Context } from './context.js';
import { attribute, errorIn, failure, Over, TandemError, textOf } from './errors.js';
import type { Entry } from './errors.js';
import type { Engine, Handle } from './engine.js';
import { describe } from './values.js';
import { signalOf } from './waiting.js';
import type { WaitOptions } from './waiting.js';

/** When a request is over before its work is done. */
export interface RequestOptions extends WaitOptions {
  /** In milliseconds from now; then its calls fail with DeadlineExceeded. */
  deadline?: number | undefined;
}

// What setTimeout takes.
const MAX_TIMER_MS = 0x7fffffff;

/** What the function of `runtime.request` is given. */
export class Request {
  /** @internal */
  readonly parent: Context | undefined = currentContext();
  private over: { reason: unknown } | undefined;

  /** @internal */
  constructor(private readonly engine: Engine, private readonly pointer: Handle) {}

  /** Whether the request was aborted, or its deadline has passed. */
  get isOver(): boolean {
    return this.over !== undefined;
  }

  /**
   * Runs `fn` as part of the request: for code that the environment does not know to be, such as event handlers, and in
   * browsers what follows an `await` of promises that are not of this package.
   */
  run<T>(fn: () => T): T {
    this.throwIfOver();
    return runIn(this, fn);
  }

  /** Throws the reason if the request is over. */
  throwIfOver(): void {
    if (this.over !== undefined) throw this.over.reason;
  }

  /** @internal */
  requestOn(engine: object): number {
    if (this.over !== undefined) throw new Over(this.over.reason);
    return engine === this.engine ? this.pointer : 0;
  }

  /** @internal */
  whyOver(): { reason: unknown } | undefined {
    return this.over ?? this.parent?.whyOver?.();
  }

  /** @internal */
  end(reason: unknown): void {
    if (this.over !== undefined) return;
    this.over = { reason };
    const { engine } = this;
    if (engine.closed !== undefined) return;
    engine.cancelRequest(this.pointer, textOf(reason));
    engine.events.wake();
  }

  /** @internal */
  release(): void {
    --contexts.alive;
    --contexts.requests;
    this.engine.releaseRequest(this.pointer);
  }
}

function checkDeadline(deadline: unknown): asserts deadline is number | undefined {
  if (deadline === undefined) return;
  if (typeof deadline !== 'number' || !(deadline >= 0)) {
    throw errorIn('request', 'InvalidArgument',
      `expected deadline to be milliseconds from 0 on, got ${describe(deadline)}`);
  }
}

/** See `Runtime.request`. */
export async function runRequest<T>(
  engine: Engine, options: RequestOptions, fn: (request: Request) => T | PromiseLike<T>, entry: Entry,
): Promise<T> {
  let request: Request;
  let signal: AbortSignal | undefined;
  let deadline: number | undefined;
  try {
    if (typeof fn !== 'function') {
      throw errorIn('request', 'InvalidArgument', `expected options and a function, got ${describe(fn)}`);
    }
    signal = signalOf(options);
    ({ deadline } = options);
    checkDeadline(deadline);
    const ms = deadline !== undefined && deadline <= MAX_TIMER_MS ? deadline : -1;
    request = new Request(engine, engine.createRequest(ms));
  } catch (error) {
    throw failure(error, entry);
  }
  ++contexts.alive;
  ++contexts.requests;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let abort: (() => void) | undefined;
  const ending = new Promise<never>((_, reject) => {
    const end = (reason: unknown): void => {
      request.end(reason);
      reject(reason);
    };
    abort = () => end(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    if (deadline !== undefined && deadline <= MAX_TIMER_MS) {
      timer = setTimeout(() => end(attribute(new TandemError('DeadlineExceeded',
        `[request] expected to be done within ${deadline} ms, which have passed`), entry)), deadline);
    }
  });
  const cleanUp = (): void => {
    clearTimeout(timer);
    if (abort) signal?.removeEventListener('abort', abort);
    request.release();
  };
  const working = runIn(request, async () => fn(request));
  // Work that goes on after the end is still the request's.
  working.then(cleanUp, cleanUp);
  return Promise.race([ending, working]);
}
