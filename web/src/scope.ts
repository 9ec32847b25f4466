// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Scopes: they free the tensors that were made in them and not returned.

import { contexts, currentContext, runIn } from './context.js';
import type { Context } from './context.js';
import type { Ref } from './engine.js';
import { Tensor } from './tensor.js';

// The tensors in a value: itself, or in arrays and plain objects.
function tensorsIn(value: unknown, found: Set<Tensor>, seen: Set<unknown>): void {
  if (value instanceof Tensor) {
    found.add(value);
    return;
  }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || seen.has(value)) return;
  seen.add(value);
  const parts: Iterable<unknown> =
    value instanceof Map ? [...value.keys(), ...value.values()]
    : Array.isArray(value) || value instanceof Set ? value as Iterable<unknown>
    : Object.values(value);
  for (const part of parts) tensorsIn(part, found, seen);
}

class Scope implements Context {
  readonly parent = currentContext();
  // References only: a scope does not keep tensors from being garbage.
  private refs: Map<Ref, Tensor['engine']> | undefined = new Map();

  adopt(tensor: object): boolean {
    if (this.refs === undefined) return false;
    const { ref, engine } = tensor as Tensor;
    this.refs.set(ref, engine);
    return true;
  }

  keep(tensor: Tensor): void {
    this.refs?.delete(tensor.ref);
  }

  close(result: unknown): void {
    --contexts.alive;
    const kept = new Set<Tensor>();
    tensorsIn(result, kept, new Set());
    for (const tensor of kept) {
      if (!this.refs?.delete(tensor.ref)) continue;
      tensor.context = this.parent;
      adoptInto(this.parent, tensor);
    }
    for (const [ref, engine] of this.refs ?? []) engine.release(ref);
    this.refs = undefined;
  }
}

function adoptInto(context: Context | undefined, tensor: Tensor): void {
  for (let at = context; at !== undefined; at = at.parent) {
    if (at.adopt?.(tensor)) return;
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

/** Runs `fn`, then frees the tensors that were made in it, but those in what it returns or resolves to. */
export function runInScope<T>(fn: () => T): T {
  const scope = new Scope();
  ++contexts.alive;
  let result: T;
  try {
    result = runIn(scope, fn);
  } catch (error) {
    scope.close(undefined);
    throw error;
  }
  if (!isPromise(result)) {
    scope.close(result);
    return result;
  }
  const closing = result.then((value) => {
    scope.close(value);
    return value;
  }, (error: unknown) => {
    scope.close(undefined);
    throw error;
  });
  return closing as T;
}

/** Takes a tensor out of the scopes it was made in. */
export function keepTensor(tensor: Tensor): void {
  for (let at = tensor.context; at !== undefined; at = at.parent) {
    if (at instanceof Scope) at.keep(tensor);
  }
  tensor.context = undefined;
}
