// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The request and the scope that calls belong to: those around the code that makes them, also across `await`.

import { platform } from './platform.js';
import type { ContextStorage } from './platform.js';

/** What a scope or request wants to know of what is made in it. */
export interface Context {
  /** The one around this one. */
  readonly parent: Context | undefined;
  /** Takes a tensor that is made in this context, and says whether it did. */
  adopt?(tensor: object): boolean;
  /** The request that calls on an engine belong to; 0 if it has none there. Throws if the request is over. */
  requestOn?(engine: object): number;
  /** The reason of an aborted request; undefined while it goes on. */
  whyOver?(): { reason: unknown } | undefined;
}

/** How many contexts are alive, and how many of them are requests: while none is, calls need not look. */
export const contexts = { alive: 0, requests: 0 };

let storage: ContextStorage | undefined;
let current: Context | undefined;

/** The context of the running code. */
export function currentContext(): Context | undefined {
  if (contexts.alive === 0) return undefined;
  return current ?? (storage?.getStore() as Context | undefined);
}

/** Runs `fn` in a context: what it does until it returns and, where the environment can tell, what follows from it. */
export function runIn<T>(context: Context, fn: () => T): T {
  storage ??= platform.newContextStorage();
  if (storage) return storage.run(context, fn);
  const before = current;
  current = context;
  try {
    return fn();
  } finally {
    current = before;
  }
}

/**
 * A promise of the package that the user's code gets. Where the environment cannot tell what follows from what, the
 * code that awaits the promise goes on in the context of now: a reaction of ours comes before the user's, one after it.
 */
export function followed<T>(promise: Promise<T>): Promise<T> {
  const context = currentContext();
  if (context === undefined || storage !== undefined) return promise;
  const enter = (): void => {
    current = context;
  };
  const leave = (): void => {
    if (current === context) current = undefined;
  };
  promise.then(enter, enter);
  queueMicrotask(() => promise.then(leave, leave));
  return promise;
}
