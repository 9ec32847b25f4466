// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Counts, worst errors and failures, as text and as the JSON that conformance_runner writes as well.

import { isFloat } from './numbers.mjs';

function newCounts() {
  return { passed: 0, failed: 0, skipped: 0 };
}

// As %.3g: three significant digits, without zeros at the end.
function threeDigits(value) {
  return String(Number(value.toPrecision(3)));
}

export class Report {
  #device;
  #ops = new Map();
  #failures = [];
  #skips = [];
  total = newCounts();

  constructor(device) {
    this.#device = device;
  }

  /** An outcome of runFile. */
  add({ place, name, op, dtype, outcome, ulp, reason }) {
    ++this.total[outcome];
    if (op !== '') {
      if (!this.#ops.has(op)) this.#ops.set(op, new Map());
      const entries = this.#ops.get(op);
      if (!entries.has(dtype)) entries.set(dtype, { ...newCounts(), worst_ulp: 0 });
      const entry = entries.get(dtype);
      ++entry[outcome];
      entry.worst_ulp = Math.max(entry.worst_ulp, ulp);
    }
    if (outcome === 'failed') this.#failures.push({ place, case: name, reason });
    if (outcome === 'skipped') this.#skips.push({ place, case: name, reason });
  }

  #sorted() {
    const byKey = ([a], [b]) => (a < b ? -1 : a > b ? 1 : 0);
    return [...this.#ops].sort(byKey).map(([op, entries]) => [op, [...entries].sort(byKey)]);
  }

  /** A line for each op with floating-point cases. */
  worstUlpLines() {
    const lines = this.#sorted().map(([op, entries]) => {
      const floats = entries.filter(([dtype]) => isFloat(dtype));
      return [op, floats.map(([dtype, { worst_ulp: ulp }]) => `  ${dtype} ${threeDigits(ulp)}`).join('')];
    });
    return lines.filter(([, text]) => text !== '').map(([op, text]) => `worst ulp  ${op}${text}`);
  }

  totalLine() {
    const { passed, failed, skipped } = this.total;
    return `${passed} passed, ${failed} failed, ${skipped} skipped`;
  }

  json() {
    const ops = Object.fromEntries(this.#sorted().map(([op, entries]) => [op, Object.fromEntries(entries)]));
    const report = { device: this.#device, ...this.total, ops, failures: this.#failures, skips: this.#skips };
    return `${JSON.stringify(report, undefined, 1)}\n`;
  }
}
