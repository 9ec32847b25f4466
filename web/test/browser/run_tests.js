// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs the bundled test files by Mocha in this page or worker, and reports each test.

import '/mocha/mocha.js';

const { mocha } = globalThis;

/** Reports each test as plain data, and at the end the counts. */
class Reporter {
  constructor(runner, { reporterOptions: { report } }) {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const titles = (test) => test.titlePath().join(' › ');
    runner.on('test', (test) => report({ begin: titles(test) }));
    runner.on('pass', (test) => {
      counts.passed += 1;
      report({ pass: titles(test), milliseconds: test.duration });
    });
    runner.on('pending', (test) => {
      counts.skipped += 1;
      report({ skip: titles(test) });
    });
    runner.on('fail', (test, error) => {
      counts.failed += 1;
      report({ fail: titles(test), error: describeError(error) });
    });
    runner.on('end', () => report({ end: counts }));
  }
}

/** An error as text, with its stack and those of its causes. */
function describeError(error) {
  const text = error?.stack ?? String(error);
  const comparison = error && 'expected' in error && 'actual' in error
    ? `\n  expected: ${show(error.expected)}\n  actual:   ${show(error.actual)}` : '';
  return text + comparison + (error?.cause ? `\ncaused by: ${describeError(error.cause)}` : '');
}

function show(value) {
  try {
    return JSON.stringify(value, (key, member) => (typeof member === 'bigint' ? `${member}n` : member)).slice(0, 1000);
  } catch {
    return String(value);
  }
}

/**
 * Runs all tests.
 * @param {(value: object) => void} report takes {begin}, {pass}, {skip} and {fail, error} by test, and {end: counts}
 */
export async function runTests(report) {
  try {
    mocha.setup({ ui: 'bdd', timeout: 60_000 });
    mocha.reporter(Reporter, { report });
    await import('/tests/tests.js');
    mocha.run();
  } catch (error) {
    report({ end: { error: describeError(error) } });
  }
}
