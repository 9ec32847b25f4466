// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes in Node, as an ES module; the argument, if there is one, is the number of threads.

import { compute } from './compute.js';

const threads = process.argv[2];
console.log(JSON.stringify(await compute(threads ? { threads: Number(threads) } : undefined)));
