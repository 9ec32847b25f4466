// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The worker's part of a test run.

import { runTests } from './run_tests.js';

await runTests((value) => postMessage(value));
