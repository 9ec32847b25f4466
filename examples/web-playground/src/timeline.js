// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What ran when in the last run: a lane for each thread or device, and a table by op.

/**
 * @typedef {object} TraceEvent
 * @property {string} ph  'X' for what took time
 * @property {string} name
 * @property {string} [cat]  'op' for a call on the host, 'device' for what a device did for one, by its own clock
 * @property {number} ts  in microseconds
 * @property {number} dur  in microseconds
 * @property {number} pid  of the host or of the devices
 * @property {number | string} tid
 * @property {{ device?: string }} [args]
 */

const MAX_BARS = 2000;

/**
 * Calls by op, and how long was computed for them.
 * @param {readonly TraceEvent[]} calls
 * @param {readonly TraceEvent[]} computed  calls, and in the place of those on a device with a clock what that did
 */
function timesByOp(calls, computed) {
  /** @type {Map<string, { calls: number, time: number }>} */
  const byOp = new Map();
  for (const { name } of calls) byOp.set(name, { calls: (byOp.get(name)?.calls ?? 0) + 1, time: 0 });
  for (const { name, dur } of computed) {
    const sum = byOp.get(name) ?? { calls: 0, time: 0 };
    byOp.set(name, { calls: sum.calls, time: sum.time + dur });
  }
  return [...byOp].sort(([, a], [, b]) => b.time - a.time);
}

export class Timeline {
  #lanes;
  #words;
  #table;

  /** @param {{ lanes: HTMLElement, words: HTMLElement, table: HTMLTableElement }} elements */
  constructor({ lanes, words, table }) {
    this.#lanes = lanes;
    this.#words = words;
    this.#table = table;
  }

  /** @param {string} json  as `runtime.trace.json()` gives it; empty for none */
  show(json) {
    /** @type {{ traceEvents: TraceEvent[] }} */
    const { traceEvents } = json === '' ? { traceEvents: [] } : JSON.parse(json);
    const events = traceEvents.filter(({ ph, args }) => ph === 'X' && args?.device !== undefined);
    const calls = events.filter(({ cat }) => cat !== 'device');
    const onDevice = events.filter(({ cat }) => cat === 'device');
    const withClock = new Set(onDevice.map(({ args }) => args?.device));
    const computed = [...onDevice, ...calls.filter(({ args }) => !withClock.has(args?.device))];
    // One by one: there may be more of them than a call can have arguments.
    let [begin, end] = [Infinity, -Infinity];
    for (const { ts, dur } of events) {
      begin = Math.min(begin, ts);
      end = Math.max(end, ts + dur);
    }
    const busy = computed.reduce((sum, { dur }) => sum + dur, 0);
    const span = Math.max(end - begin, 1e-3);
    /** @type {Map<string, TraceEvent[]>} */
    const lanes = new Map();
    for (const event of [...calls.slice(0, MAX_BARS), ...onDevice.slice(0, MAX_BARS)]) {
      const row = `${event.pid}/${event.tid}`;
      const lane = lanes.get(row);
      if (lane === undefined) lanes.set(row, [event]);
      else lane.push(event);
    }
    this.#lanes.replaceChildren(...[...lanes.values()].map((bars) => this.#lane(bars, begin, span)));
    this.#words.textContent = events.length === 0 ? 'No op was run.'
      : `${calls.length} ops in ${(span / 1000).toFixed(2)} ms, of which ${(busy / 1000).toFixed(2)} ms computing` +
        (calls.length > MAX_BARS ? `; the first ${MAX_BARS} are shown` : '');
    this.#table.hidden = events.length === 0;
    this.#table.tBodies[0]?.replaceChildren(...timesByOp(calls, computed).map(([name, { calls, time }]) => {
      const row = document.createElement('tr');
      for (const text of [name, String(calls), (time / 1000).toFixed(3)]) row.insertCell().textContent = text;
      return row;
    }));
  }

  /** @param {readonly TraceEvent[]} bars @param {number} begin @param {number} span */
  #lane(bars, begin, span) {
    const lane = document.createElement('div');
    lane.className = 'lane';
    lane.append(...bars.map(({ name, ts, dur }) => {
      const bar = document.createElement('span');
      bar.style.left = `${(100 * (ts - begin)) / span}%`;
      bar.style.width = `${(100 * dur) / span}%`;
      bar.title = `${name}: ${dur.toFixed(1)} µs`;
      // A text only where some of it can be read.
      if (dur / span > 0.06) bar.textContent = name.replace(/^\w+\./, '');
      return bar;
    }));
    return lane;
  }
}
