// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The section of the bench on WebGPU, in a page: window.runSection(options) gives the rows, window.describeDevice() what
// it runs on.

import * as ort from 'onnxruntime-web/webgpu';

import { measure } from './measure.mjs';
import { REFERENCE } from './reference.mjs';
import { GPU_SCENARIOS } from './scenarios.mjs';
import { load as loadJax } from './with_jax.mjs';
import { load as loadOrt } from './with_ort.mjs';
import { load as loadTandem, loadPrograms } from './with_tandem.mjs';
import { load as loadTfjs } from './with_tfjs_webgpu.mjs';

window.describeDevice = async () => {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return 'no WebGPU adapter';
  const { vendor, architecture, description } = adapter.info;
  const features = ['shader-f16', 'subgroups', 'timestamp-query'].map(
    (feature) => `${adapter.features.has(feature) ? 'with' : 'without'} ${feature}`,
  );
  return [vendor, architecture, description, ...features].filter(Boolean).join(', ');
};

window.runSection = async (options) => {
  const here = new URL('.', location.href).href;
  const onDevice = { tandemUrl: `${here}tandem/index.js`, threads: 1, device: 'webgpu' };
  const loaders = {
    tandem: () => loadTandem(onDevice),
    'tandem-program': () => loadPrograms(onDevice),
    'tfjs-webgpu': loadTfjs,
    'ort-webgpu': () => loadOrt({ ort, ortPath: `${here}ort/`, threads: 1, provider: 'webgpu' }),
    'jax-js': loadJax,
  };
  const libraries = [];
  for (const name of options.libraries) libraries.push(await loaders[name]());
  const progress = (title) => console.log(title);
  return measure(libraries, { ...options, scenarios: GPU_SCENARIOS, reference: REFERENCE, progress });
};
