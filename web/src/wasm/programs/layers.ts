// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Layers over the device of a module, and what they have found.

import type { DType } from '../../dtypes.js';
import type { Divergence, Layer, Layers, OpProfile, ProfileTimes, ShadowReport } from '../../programs.js';
import { describe } from '../../values.js';
import type { Exports, Task } from './task.js';

const SHADOW = 'shadow:';

/** The op handler of the module that these layers are, the first one outermost; empty for none. */
export function textOfLayers(layers: readonly unknown[], device: string, task: Task): string {
  const fail = (layer: unknown): never => {
    throw task.error('InvalidArgument', 'expected the layers \'profile\', \'nan-guard\', \'log\' and \'shadow:\' ' +
      `with a device, got ${typeof layer === 'string' ? `'${layer}'` : describe(layer)}`);
  };
  return layers.length === 0 ? '' : layers.reduceRight<string>((inner, layer) => {
    if (typeof layer !== 'string') return fail(layer);
    if (layer === 'profile' || layer === 'nan-guard' || layer === 'log') return `${layer}:${inner}`;
    if (!layer.startsWith(SHADOW)) return fail(layer);
    return `${SHADOW}${inner.includes('|') ? `(${inner})` : inner}|${layer.slice(SHADOW.length)}`;
  }, device);
}

// Reads the fields of a record one after the other.
class Fields {
  private readonly fields: readonly string[];
  private at = 0;

  constructor(record: string) {
    this.fields = record.split('\x1f');
  }

  get isAtEnd(): boolean {
    // What is behind the last separator.
    return this.at >= this.fields.length - 1;
  }

  text(): string {
    return this.fields[this.at++]!;
  }

  number(): number {
    const text = this.text();
    return text === 'inf' ? Infinity : Number(text);
  }
}

const MS_PER_NS = 1e-6;

function timesOf(fields: Fields): ProfileTimes {
  const count = fields.number();
  const [total, min, max] = [fields.number() * MS_PER_NS, fields.number() * MS_PER_NS, fields.number() * MS_PER_NS];
  return { count, total, mean: count === 0 ? 0 : total / count, min, max };
}

function profileOf(fields: Fields): OpProfile {
  return {
    op: fields.text(), dtype: (fields.text() || undefined) as DType | undefined, calls: fields.number(),
    pending: fields.number(), errors: fields.number(), dropped: fields.number(), resultBytes: fields.number(),
    call: timesOf(fields), results: timesOf(fields),
  };
}

function divergenceOf(fields: Fields): Divergence {
  return {
    op: fields.text(), location: fields.text(), call: fields.number(), result: fields.number(),
    element: fields.number(), actual: fields.text(), expected: fields.text(), error: fields.number(),
    ulp: fields.number(), largestError: fields.number(), numDifferent: fields.number(), metadata: fields.text(),
    attrs: fields.text(), inputs: fields.text(), message: fields.text(),
  };
}

/** The layers of an engine. */
export class ModuleLayers implements Layers {
  readonly names: readonly Layer[];

  constructor(names: readonly Layer[], private readonly task: Task) {
    this.names = Object.freeze([...names]);
  }

  profile(): OpProfile[] {
    return this.records(this.profile, 'tandem_js_profile').map(profileOf);
  }

  resetProfile(): void {
    const { engine, exports } = this.task;
    this.attributed(this.resetProfile, () => engine.guard(() => exports.tandem_js_profile_reset(engine.js)));
  }

  shadow(): ShadowReport {
    const [counts, ...divergences] = this.records(this.shadow, 'tandem_js_shadow');
    const [equal, diverged] = [counts!.number(), counts!.number()];
    const skipped: Record<string, number> = {};
    while (!counts!.isAtEnd) {
      const count = counts!.number();
      const reason = counts!.text();
      if (count > 0) skipped[reason] = count;
    }
    return { equal, diverged, skipped, divergences: divergences.map(divergenceOf) };
  }

  private records(entry: () => unknown, name: keyof Exports & `tandem_js_${'profile' | 'shadow'}`): Fields[] {
    const { engine, exports } = this.task;
    const text = this.attributed(entry, () =>
      engine.takeText((_, scratch) => exports[name](engine.js, scratch, scratch + 4)));
    return text.split('\x1e').slice(0, -1).map((record) => new Fields(record));
  }

  private attributed<T>(entry: () => unknown, fn: () => T): T {
    try {
      return fn();
    } catch (error) {
      throw this.task.common.failure(error, entry);
    }
  }
}
