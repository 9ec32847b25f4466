// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes on the page, with the modules where a bundler's loader for files has put them.

import fusionUrl from 'tandem-rt/tandem-fusion.wasm';
import kernelsUrl from 'tandem-rt/tandem-kernels.wasm';
import programsUrl from 'tandem-rt/tandem-programs.wasm';
import wasmUrl from 'tandem-rt/tandem.wasm';
import { compute } from './compute.js';

const at = (url) => new URL(url, import.meta.url);
const page = await compute({
  wasmUrl: at(wasmUrl), fusionUrl: at(fusionUrl), kernelsUrl: at(kernelsUrl), programsUrl: at(programsUrl),
});
globalThis.report({ end: { page } });
