// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes on the page, with the module where a bundler's loader for files has put it.

import wasmUrl from 'tandem-rt/tandem.wasm';
import { compute } from './compute.js';

const page = await compute({ wasmUrl: new URL(wasmUrl, import.meta.url) });
globalThis.report({ end: { page } });
