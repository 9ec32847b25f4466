// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes where it runs, a page or a program without one, and reports or prints what.

import { compute } from './compute.js';

const tell = globalThis.report ? (page) => globalThis.report({ end: { page } }) : (it) => console.log(JSON.stringify(it));
compute().catch((error) => String(error.stack ?? error)).then(tell);
