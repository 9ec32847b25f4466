// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Nothing here is for tandem-rt: it is bundled as it comes.

import { defineConfig } from 'vite';

// With these headers a page may use several threads; without them it works as well, with one.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default defineConfig({
  base: './',
  // In this repository tandem-rt is a link to web/, outside this folder.
  server: { headers, fs: { allow: ['../..'] } },
  preview: { headers },
});
