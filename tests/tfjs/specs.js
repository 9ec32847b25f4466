// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs the specs that TensorFlow.js ships over a backend of tandem-rt/tfjs, with Jasmine, here: in Node or on a page.

import jasmineRequire from 'jasmine-core/lib/jasmine-core/jasmine.js';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.js';
import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
import { setTestEnvs, setupTestFilters } from '@tensorflow/tfjs-core/dist/jasmine_util.js';
import { setRuntimeOptions } from 'tandem-rt/tfjs';

const SPEC_TIMEOUT_MS = 30_000;

const loadCoreSpecs = () => import('@tensorflow/tfjs-core/dist/tests.js');

/**
 * @param {object} options
 * @param {string} options.backend
 * @param {() => Promise<unknown>} [options.load] defines the specs, by default those of tfjs-core
 * @param {string} [options.grep] what the names of specs are to have in them
 * @param {string[]} [options.expected] the specs that are expected to fail
 * @param {object} [options.runtime] options of the runtime
 * @param {(done: number) => void} [options.onProgress]
 * @returns {Promise<{ passed: number, skipped: number, failures: Record<string, string>, passes: string[] }>} with what
 *   each that failed said first, and which of the expected ones did not fail
 */
export async function runSpecs({ backend, expected = [], grep, load = loadCoreSpecs, runtime = {}, onProgress = () => {} }) {
  setRuntimeOptions(runtime);
  const jasmine = jasmineRequire.core(jasmineRequire);
  const env = jasmine.getEnv();
  Object.assign(globalThis, jasmineRequire.interface(jasmine, env), { jasmine });
  jasmine.DEFAULT_TIMEOUT_INTERVAL = SPEC_TIMEOUT_MS;
  env.configure({ ...env.configuration(), random: false });

  // Specs ask for these when they are defined, so that they come first. Some choose a backend by the environment's name.
  setTestEnvs([{ name: backend, backendName: backend, isDataSync: !backend.endsWith('webgpu') }]);
  setupTestFilters([], (name) => grep === undefined || name.includes(grep));
  await load();

  const result = { passed: 0, skipped: 0, failures: {}, passes: [] };
  const expectedToFail = new Set(expected);
  let done = 0;
  env.clearReporters();
  env.addReporter({
    specDone({ failedExpectations, fullName, status }) {
      if (status === 'excluded') return;
      if (status === 'passed') ++result.passed;
      else if (status === 'pending') ++result.skipped;
      else result.failures[fullName] = String(failedExpectations[0]?.message) + (globalThis.STACK ? failedExpectations[0].stack : '');
      if (status !== 'failed' && expectedToFail.has(fullName)) result.passes.push(fullName);
      if (++done % 500 === 0) onProgress(done);
    },
    suiteDone({ failedExpectations = [], fullName }) {
      for (const { message } of failedExpectations) result.failures[`${fullName} (the suite)`] = message;
    },
  });
  await env.execute();
  return result;
}
