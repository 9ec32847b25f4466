// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Layers over the device of a module, and what they have found.

import type { DType } from '../../dtypes.js';
import type { Divergence, Layers, NanFinding, OpProfile, ProfileTimes, ShadowReport } from '../../programs.js';
import { describe } from '../../values.js';
import type { Task } from './task.js';

const NAMES = 'the layers \'profile\', \'nan-guard\', \'log\', \'shadow:\' with a device and { layer: \'substitute\' } with rules';
const SHADOW = 'shadow:';

// The options of a layer, which the module reads as text.
class OptionTexts {
  private readonly texts: string[] = [];

  constructor(private readonly layer: Readonly<Record<string, unknown>>, private readonly task: Task) {}

  // Written as `text` if it is `value`, which is not the default.
  flag(name: string, value: boolean, text: string): this {
    const given = this.layer[name];
    if (given !== undefined && typeof given !== 'boolean') throw this.wrong(name, 'true or false');
    if (given === value) this.texts.push(text);
    return this;
  }

  number(name: string, text: string, isCount = false): this {
    const given = this.layer[name];
    if (given === undefined) return this;
    const isNumber = typeof given === 'number' && given >= 0 && given < Infinity;
    if (!isNumber || (isCount && !(Number.isInteger(given) && given < 2 ** 31))) {
      throw this.wrong(name, isCount ? 'a count' : 'a number that is not negative');
    }
    this.texts.push(`${text}=${String(given).replace('+', '')}`);
    return this;
  }

  end(): string {
    return this.texts.length === 0 ? '' : `{${this.texts.join(',')}}`;
  }

  private wrong(name: string, expected: string): Error {
    return this.task.error('InvalidArgument', `expected the option ${name} of the layer '${
      String(this.layer['layer'])}' to be ${expected}, got ${describe(this.layer[name])}`);
  }
}

const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  profile: [],
  'nan-guard': ['infinities', 'fail'],
  shadow: ['device', 'fail', 'maxReports', 'ulp', 'abs', 'ofLargest'],
  log: ['maxElements'],
  substitute: ['rules'],
};

// A table of substitutions as the module reads it: where it is given as rules, the one at index i on line i + 2, and
// what the module wants first ahead of the rest.
function tableOf(rules: unknown, task: Task): string {
  if (typeof rules === 'string') return rules;
  const lines = task.copyOf(rules, 'the rules of the layer \'substitute\'').map((rule) => {
    if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
      throw task.error('InvalidArgument',
        `expected a rule of the layer 'substitute' to be an object with the keys op and use, got ${describe(rule)}`);
    }
    return task.read(() => JSON.stringify({ ...withFirst('op', rule), use: withFirst('op', (rule as { use?: unknown }).use) }));
  });
  return `{"substitutions": [\n${lines.join(',\n')}\n]}`;
}

function withFirst(key: string, value: unknown): object {
  const given = value as Record<string, unknown>;
  return typeof value !== 'object' || value === null || !(key in given) ? given : { [key]: given[key], ...given };
}

// A layer as a text, the device of a shadow, and the table of a layer of substitutions.
interface LayerText {
  readonly text: string;
  readonly reference?: string;
  readonly table?: string;
}

function readLayer(given: unknown, task: Task): LayerText {
  const fail = (): never => {
    throw task.error('InvalidArgument',
      `expected ${NAMES}, got ${typeof given === 'string' ? `'${given}'` : describe(given)}`);
  };
  if (typeof given === 'string') {
    if (given === 'profile' || given === 'nan-guard' || given === 'log') return { text: given };
    return given.startsWith(SHADOW) ? { text: 'shadow', reference: given.slice(SHADOW.length) } : fail();
  }
  if (typeof given !== 'object' || given === null) return fail();
  const layer = task.read((): Record<string, unknown> => ({ ...given }));
  const name = layer['layer'];
  const names = typeof name === 'string' && Object.hasOwn(OPTIONS, name) ? OPTIONS[name]! : fail();
  const unknown = Object.keys(layer).find((key) => key !== 'layer' && !names.includes(key));
  if (unknown !== undefined) {
    throw task.error('InvalidArgument', `expected ${names.length === 0 ? 'no options' : `the options ${names.join(', ')}`
      } of the layer '${String(name)}', got ${unknown}`);
  }
  const options = new OptionTexts(layer, task);
  if (name === 'nan-guard') options.flag('infinities', true, 'infinities').flag('fail', false, 'report');
  if (name === 'log') options.number('maxElements', 'elements', true);
  if (name === 'shadow') {
    options.flag('fail', true, 'fail').number('maxReports', 'reports', true);
    options.number('ulp', 'ulp').number('abs', 'abs').number('ofLargest', 'of-largest');
    task.checkText(layer['device'] ?? '', 'the device of the layer \'shadow\'');
  }
  if (name === 'substitute') return { text: 'substitute', table: tableOf(layer['rules'], task) };
  const text = `${String(name)}${options.end()}`;
  return name === 'shadow' ? { text, reference: layer['device'] as string } : { text };
}

/** Gives the name under which the module has a table. */
export type TableNames = (table: string) => string;

/** What layers are in the module: the op handler, empty for none, and each of them, the first one outermost. */
export function textOfLayers(
  layers: readonly unknown[], device: string, task: Task, nameOf: TableNames,
): { text: string, names: string[] } {
  const read = layers.map((layer) => readLayer(layer, task));
  const text = read.length === 0 ? '' : read.reduceRight((inner, { text, reference, table }) => {
    if (table !== undefined) return `${text}:${nameOf(table)}|${inner}`;
    if (reference === undefined) return `${text}:${inner}`;
    return `${text}:${inner.includes('|') ? `(${inner})` : inner}|${reference}`;
  }, device);
  return { text, names: read.map((layer) => layer.text + (layer.reference === undefined ? '' : `:${layer.reference}`)) };
}

// As the module tells it: bindings/c/tandem.h. Numbers that are not finite are texts.

interface TimesOfModule {
  readonly count: number;
  readonly total: number;
  readonly min: number;
  readonly max: number;
}

interface ProfileOfModule extends Omit<OpProfile, 'dtype' | 'resultBytes' | 'call' | 'results'> {
  readonly dtype: DType | null;
  readonly result_bytes: number;
  readonly call: TimesOfModule;
  readonly results: TimesOfModule;
}

interface DivergenceOfModule extends Omit<Divergence, 'error' | 'ulp' | 'largestError' | 'numDifferent'> {
  readonly error: number | string;
  readonly ulp: number | string;
  readonly largest_error: number | string;
  readonly num_different: number;
}

interface ShadowOfModule extends Omit<ShadowReport, 'divergences'> {
  readonly divergences: readonly DivergenceOfModule[];
}

interface NanOfModule extends Omit<NanFinding, 'value'> {
  readonly value: number | string;
}

function numberOf(value: number | string): number {
  return value === 'inf' ? Infinity : value === '-inf' ? -Infinity : Number(value);
}

const MS_PER_NS = 1e-6;

function timesOf({ count, total, min, max }: TimesOfModule): ProfileTimes {
  const ms = total * MS_PER_NS;
  return { count, total: ms, mean: count === 0 ? 0 : ms / count, min: min * MS_PER_NS, max: max * MS_PER_NS };
}

/** The layers of an engine. */
export class ModuleLayers implements Layers {
  readonly names: readonly string[];

  constructor(names: readonly string[], private readonly task: Task) {
    this.names = Object.freeze([...names]);
  }

  profile(): OpProfile[] {
    const entries = this.read(this.profile, 'tandem_layers_profile') as ProfileOfModule[];
    return entries.map(({ call, dtype, result_bytes: resultBytes, results, ...counts }) => (
      { ...counts, dtype: dtype ?? undefined, resultBytes, call: timesOf(call), results: timesOf(results) }));
  }

  resetProfile(): void {
    const { engine, exports } = this.task;
    this.attributed(this.resetProfile, () => engine.run(() => exports.tandem_layers_reset_profile(engine.runtime)));
  }

  shadow(): ShadowReport {
    const report = this.read(this.shadow, 'tandem_layers_shadow') as ShadowOfModule;
    const divergences = report.divergences.map(
      ({ error, ulp, largest_error: largestError, num_different: numDifferent, ...found }) => (
        { ...found, error: numberOf(error), ulp: numberOf(ulp), largestError: numberOf(largestError), numDifferent }));
    return { ...report, divergences };
  }

  nanGuard(): NanFinding[] {
    const found = this.read(this.nanGuard, 'tandem_layers_nan_guard') as NanOfModule[];
    return found.map((each) => ({ ...each, value: numberOf(each.value) }));
  }

  private read(
    entry: () => unknown, name: 'tandem_layers_profile' | 'tandem_layers_shadow' | 'tandem_layers_nan_guard',
  ): unknown {
    const { engine, exports } = this.task;
    return JSON.parse(this.attributed(entry, () =>
      engine.takeText((_, scratch) => exports[name](engine.runtime, scratch, scratch + 4)))) as unknown;
  }

  private attributed<T>(entry: () => unknown, fn: () => T): T {
    try {
      return fn();
    } catch (error) {
      throw this.task.common.failure(error, entry);
    }
  }
}
