// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Nothing here is for tandem-rt/tfjs but what says that this repository has TensorFlow.js twice.

import { defineConfig } from 'vite';

// With these headers a page may use several threads; without them it works as well, with one.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default defineConfig({
  base: './',
  // In this repository tandem-rt is a link to web/, outside this folder, which has a TensorFlow.js for its own tests.
  resolve: { dedupe: ['@tensorflow/tfjs-core'] },
  server: { headers, fs: { allow: ['../..'] } },
  preview: { headers },
  build: { chunkSizeWarningLimit: 4000 },
});
