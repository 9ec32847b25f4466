// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A Mocha reporter for Node: the spec reporter, which also writes the counts that tools/count_tests.py adds up into the
// file that TANDEM_TEST_REPORT names.

'use strict';

const { writeFileSync } = require('node:fs');
const Mocha = require('mocha');

module.exports = class Report extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const file = process.env.TANDEM_TEST_REPORT;
    if (!file) return;
    const failures = [];
    runner.on('fail', (test, error) => failures.push({ test: test.fullTitle(), error: error.stack ?? String(error) }));
    runner.once('end', () => {
      const { passes, pending } = this.stats;
      const counts = { passed: passes, failed: this.stats.failures, skipped: pending, failures };
      writeFileSync(file, JSON.stringify(counts, null, 2));
    });
  }
};
