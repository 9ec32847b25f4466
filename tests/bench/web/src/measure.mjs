// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Measures scenarios of several libraries in turn: the same for a page and for Node.

import { SCENARIOS } from './scenarios.mjs';

const now = () => performance.now();
const TOLERANCE = 1e-3;

async function timed(scenario, count) {
  const start = now();
  await scenario.run(count);
  const time = now() - start;
  await scenario.settle?.();
  return time;
}

// Until the threads of the library before have stopped to look for work, which takes a core from the next one.
const pause = () => new Promise((resolve) => setTimeout(resolve, 60));

// How many calls take about `roundMs` undisturbed; the calls made to find out are the warm-up.
async function callsPerRound(scenario, roundMs) {
  for (let count = 1; ; count *= 2) {
    let least = await timed(scenario, count);
    if (least < roundMs / 2) continue;
    if (count === 1 && least > 4 * roundMs) return 1;
    for (let i = 0; i < 3; ++i) least = Math.min(least, await timed(scenario, count));
    if (least < roundMs / 2) continue;
    return Math.max(1, Math.round((count * roundMs) / least));
  }
}

function difference(values, expected) {
  if (values.length !== expected.length) return Infinity;
  let largest = 0;
  let off = 0;
  for (let i = 0; i < values.length; ++i) {
    largest = Math.max(largest, Math.abs(expected[i]));
    const d = Math.abs(values[i] - expected[i]);
    off = d <= off ? off : d;
  }
  return largest > 0 ? off / largest : Infinity;
}

// Throws unless all entries' results are the first one's, or those of `reference` if there is one. Gives the largest
// difference.
async function checkResults(title, entries, reference) {
  const outputs = [];
  for (const entry of entries) outputs.push({ name: entry.name, values: Float32Array.from(await entry.output()) });
  const expected = reference ? Float32Array.from(await reference.output()) : outputs[0].values;
  let worst = 0;
  for (const { name, values } of outputs) {
    const off = difference(values, expected);
    if (!(off <= TOLERANCE)) {
      throw new Error(`${title}: ${name} is off by ${off} from ${reference ? 'the reference' : outputs[0].name}`);
    }
    worst = Math.max(worst, off);
  }
  return worst;
}

/**
 * Runs those of `scenarios` whose id or group is in `only` (all, if empty) with `libraries` (what their load() returned).
 * Before it is timed, all libraries must give the same result, that of `reference` if there is one, within 1e-3 of its
 * largest element; throws if not.
 * @returns rows { id, title, group, best, median, difference }: µs a call by library's name.
 */
export async function measure(libraries, options) {
  const { scenarios = SCENARIOS, reference, only = [], rounds = 15, roundMs = 40, progress = () => {} } = options;
  const rows = [];
  for (const { id, kind, title, group, data, calls, divisor = 1 } of scenarios) {
    if (only.length > 0 && !only.includes(id) && !only.includes(group)) continue;
    progress(title);
    const taking = libraries.filter((library) => library[kind]);
    const given = data();
    const entries = [];
    for (const library of taking) entries.push({ name: library.name, times: [], ...(await library[kind](given)) });
    const worst = await checkResults(title, entries, reference?.[kind](given));

    for (const entry of entries) entry.count = calls ?? (await callsPerRound(entry, roundMs));
    for (let round = 0; round < rounds; ++round) {
      for (const entry of entries) {
        await pause();
        entry.times.push(((await timed(entry, entry.count)) * 1000) / (entry.count * divisor));
      }
    }
    const row = { id, title, group, best: {}, median: {}, difference: worst };
    for (const { name, times, close } of entries) {
      times.sort((a, b) => a - b);
      row.best[name] = times[0];
      row.median[name] = times[times.length >> 1];
      await close();
    }
    rows.push(row);
  }
  return rows;
}
