// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What ran when in the last run: a lane for each thread or device, and a table by op.

/**
 * @typedef {object} TraceEvent
 * @property {string} ph  'X' for what took time
 * @property {string} name
 * @property {number} ts  in microseconds
 * @property {number} dur  in microseconds
 * @property {number | string} tid
 * @property {{ device?: string }} [args]
 */

const MAX_BARS = 2000;

/** @param {readonly TraceEvent[]} events */
function timesByOp(events) {
  /** @type {Map<string, { calls: number, time: number }>} */
  const byOp = new Map();
  for (const { name, dur } of events) {
    const sum = byOp.get(name) ?? { calls: 0, time: 0 };
    byOp.set(name, { calls: sum.calls + 1, time: sum.time + dur });
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
    // One by one: there may be more of them than a call can have arguments.
    let [begin, end, busy] = [Infinity, -Infinity, 0];
    for (const { ts, dur } of events) {
      begin = Math.min(begin, ts);
      end = Math.max(end, ts + dur);
      busy += dur;
    }
    const span = Math.max(end - begin, 1e-3);
    /** @type {Map<number | string, TraceEvent[]>} */
    const lanes = new Map();
    for (const event of events.slice(0, MAX_BARS)) {
      const lane = lanes.get(event.tid);
      if (lane === undefined) lanes.set(event.tid, [event]);
      else lane.push(event);
    }
    this.#lanes.replaceChildren(...[...lanes.values()].map((bars) => this.#lane(bars, begin, span)));
    this.#words.textContent = events.length === 0 ? 'No op was run.'
      : `${events.length} ops in ${(span / 1000).toFixed(2)} ms, of which ${(busy / 1000).toFixed(2)} ms computing` +
        (events.length > MAX_BARS ? `; the first ${MAX_BARS} are shown` : '');
    this.#table.hidden = events.length === 0;
    this.#table.tBodies[0]?.replaceChildren(...timesByOp(events).map(([name, { calls, time }]) => {
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
