// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One section of the bench in a page: window.runSection(options) gives the rows.

import * as ort from 'onnxruntime-web/wasm';

import { measure } from './measure.mjs';
import { load as loadHandWritten } from './with_hand_written.mjs';
import { load as loadOrt } from './with_ort.mjs';
import { load as loadTandem, loadPrograms } from './with_tandem.mjs';
import { load as loadTfjs } from './with_tfjs.mjs';

window.runSection = async (options) => {
  const { threads } = options;
  const here = new URL('.', location.href).href;
  const libraries = [];
  const tandemUrl = `${here}tandem/index.js`;
  if (options.libraries.includes('tandem')) libraries.push(await loadTandem({ tandemUrl, threads }));
  if (options.libraries.includes('tandem-program')) libraries.push(await loadPrograms({ tandemUrl, threads }));
  if (options.libraries.includes('tfjs-wasm')) libraries.push(await loadTfjs({ tfjsPath: `${here}tfjs/`, threads }));
  if (options.libraries.includes('ort-web')) libraries.push(await loadOrt({ ort, ortPath: `${here}ort/`, threads }));
  if (options.libraries.includes('hand-written')) libraries.push(await loadHandWritten());
  return measure(libraries, { ...options, progress: (title) => console.log(title) });
};
