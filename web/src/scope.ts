// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Scopes: they free the tensors that were made in them and not returned.

import { contexts, currentContext, runIn } from './context.js';
import type { Context } from './context.js';
import type { Engine, Ref } from './engine.js';
import { attributed, errorIn } from './errors.js';
import type { Entry } from './errors.js';
import { isTensor } from './tensor.js';
import type { Tensor } from './tensor.js';
import { describe } from './values.js';

// The tensors in a value: itself, or in arrays and plain objects, however deep.
function tensorsIn(value: unknown): Set<Tensor> {
  const found = new Set<Tensor>();
  const seen = new Set<unknown>();
  const left = [value];
  while (left.length > 0) {
    const part = left.pop();
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part) || seen.has(part)) continue;
    seen.add(part);
    if (isTensor(part)) {
      found.add(part);
      continue;
    }
    const parts: Iterable<unknown> =
      part instanceof Map ? [...part.keys(), ...part.values()] : part instanceof Set ? part : Object.values(part);
    for (const each of parts) left.push(each);
  }
  return found;
}

// So many references are kept without looking for those that have been released.
const FIRST_SWEEP = 256;

class Scope implements Context {
  readonly parent = currentContext();
  private isOpen = true;
  // References only: a scope does not keep tensors from being garbage. A reference knows its scope, and is that of the
  // engine at the same place.
  private refs: Ref[] = [];
  private engines: Engine[] = [];
  private sweepAt = FIRST_SWEEP;

  adopt(tensor: object): boolean {
    if (!this.isOpen) return false;
    const { ref, engine } = tensor as Tensor;
    ref.scope = this;
    this.engines.push(engine);
    if (this.refs.push(ref) >= this.sweepAt) this.sweep();
    return true;
  }

  keep(tensor: Tensor): void {
    if (tensor.ref.scope === this) tensor.ref.scope = undefined;
  }

  close(result: unknown): void {
    --contexts.alive;
    const { engines, refs } = this;
    try {
      if (this.isOpen) this.giveUp(result);
    } finally {
      this.isOpen = false;
      for (let i = 0; i < refs.length; ++i) {
        if (refs[i]!.scope === this) engines[i]!.release(refs[i]!);
      }
      this.refs = [];
      this.engines = [];
    }
  }

  // The tensors of the result are the outer scope's.
  private giveUp(result: unknown): void {
    for (const tensor of tensorsIn(result)) {
      if (tensor.ref.scope !== this) continue;
      tensor.ref.scope = undefined;
      tensor.context = this.parent;
      adoptInto(this.parent, tensor);
    }
  }

  // Forgets what has been released, so that a long scope whose tensors are disposed of does not grow.
  private sweep(): void {
    let count = 0;
    for (let i = 0; i < this.refs.length; ++i) {
      const ref = this.refs[i]!;
      if (ref.pointer === 0 || ref.scope !== this) continue;
      this.refs[count] = ref;
      this.engines[count++] = this.engines[i]!;
    }
    this.refs.length = count;
    this.engines.length = count;
    this.sweepAt = Math.max(FIRST_SWEEP, 2 * count);
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
export function runInScope<T>(fn: () => T, entry: Entry): T {
  attributed(entry, () => {
    if (typeof fn !== 'function') throw errorIn('scope', 'InvalidArgument', `expected a function, got ${describe(fn)}`);
  });
  const scope = new Scope();
  ++contexts.alive;
  let result: T;
  let isLater: boolean;
  try {
    result = runIn(scope, fn);
    isLater = isPromise(result);
  } catch (error) {
    scope.close(undefined);
    throw error;
  }
  // What the program returned may be proxies and getters, of which errors are its own doing.
  const close = (value: unknown): void => attributed(entry, () => scope.close(value));
  if (!isLater) {
    close(result);
    return result;
  }
  const closing = Promise.resolve(result as Promise<unknown>).then((value) => {
    close(value);
    return value;
  }, (error: unknown) => {
    scope.close(undefined);
    throw error;
  });
  return closing as T;
}

/** Takes a tensor out of the scopes it was made in. */
export function keepTensor(tensor: Tensor, entry: Entry): void {
  attributed(entry, () => {
    if (!isTensor(tensor)) throw errorIn('keep', 'InvalidArgument', `expected a tensor, got ${describe(tensor)}`);
  });
  for (let at = tensor.context; at !== undefined; at = at.parent) {
    if (at instanceof Scope) at.keep(tensor);
  }
  tensor.context = undefined;
}
