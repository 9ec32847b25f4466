// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs the cases of one file on a runtime, in Node, on a page or in a worker.

import { parseCase } from './conformance_case.mjs';
import { Session } from './session.mjs';
import { CaseList, ToleranceList } from './target.mjs';

/** A runtime of the package and the session on it. Ops without a shader run on the CPU. */
export async function openSession(createRuntime, { device, threads, exact, gpu }) {
  const runtime = await createRuntime({ device, threads, exact, gpu, onPrint: () => undefined });
  return { runtime, session: new Session(runtime, exact) };
}

const HANG_MS = 120_000;

// A case that never ends is a failure, which says its name.
async function withoutHanging(running) {
  let timer;
  const limit = new Promise((resolve) => {
    timer = setTimeout(() => resolve({ failure: `no end within ${HANG_MS / 1000} s`, worstUlp: 0 }), HANG_MS);
  });
  try {
    return await Promise.race([running, limit]);
  } finally {
    clearTimeout(timer);
  }
}

async function outcomeOf(session, conformanceCase, lists) {
  const unsupported = lists.unsupported.reasonFor(conformanceCase);
  if (unsupported !== undefined) return { outcome: 'skipped', ulp: 0, reason: unsupported, bits: 'skipped' };
  const { failure, worstUlp: ulp, bits: hash } = await withoutHanging(session.run(conformanceCase));
  const bits = failure !== '' ? 'failed' : conformanceCase.error === undefined ? hash : 'error';
  const expected = lists.expectedFailures.reasonFor(conformanceCase);
  if (expected === undefined) return { outcome: failure === '' ? 'passed' : 'failed', ulp, reason: failure, bits };
  if (failure !== '') return { outcome: 'skipped', ulp: 0, reason: expected, bits };
  return { outcome: 'failed', ulp, reason: `passed, though it is listed as an expected failure: ${expected}`, bits };
}

/**
 * What became of each case: { place, name, op, dtype, outcome, ulp, reason, bits }; the bits are a hash of the results,
 * or 'error', 'failed' or 'skipped'. A line that is no case is a failure without op and bits.
 *
 * @param file { name, text }
 * @param settings { filter?: string, unsupported: object, expectedFailures: object, tolerances: object }
 */
export async function runFile(session, file, settings) {
  const lists = {
    unsupported: new CaseList(settings.unsupported, 'unsupported.json'),
    expectedFailures: new CaseList(settings.expectedFailures, 'expected_failures.json'),
  };
  const tolerances = new ToleranceList(settings.tolerances, 'tolerances.json');
  const filter = settings.filter ? new RegExp(settings.filter) : undefined;
  const outcomes = [];
  const names = new Set();
  const bad = (place, reason) =>
    outcomes.push({ place, name: '', op: '', dtype: '', outcome: 'failed', ulp: 0, reason });
  for (const [i, line] of file.text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const place = `${file.name}:${i + 1}`;
    try {
      const conformanceCase = parseCase(line);
      conformanceCase.tolerance = tolerances.find(conformanceCase);
      const { name, op } = conformanceCase;
      if (names.has(name)) throw new Error(`there is another case named ${name}`);
      names.add(name);
      if (filter && !filter.test(name) && !filter.test(op)) continue;
      const outcome = await outcomeOf(session, conformanceCase, lists);
      outcomes.push({ place, name, op, dtype: session.kernelDType(conformanceCase), ...outcome });
    } catch (error) {
      bad(place, error.message);
    }
  }
  if (names.size === 0) bad(file.name, 'has no cases');
  return outcomes;
}
