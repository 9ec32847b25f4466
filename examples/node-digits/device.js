// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where the network runs.

import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { createRuntime } from 'tandem-rt';

import { InputError } from 'digits-js/input-error.js';

/** @typedef {import('./options.js').Settings} Settings */

/**
 * The GPU object of the npm package webgpu, which Node lacks and the example does not install: 130 MB.
 * @returns {Promise<object>}
 */
async function findGpu() {
  const require = createRequire(import.meta.url);
  let path;
  try {
    path = require.resolve('webgpu', { paths: [fileURLToPath(new URL('.', import.meta.url)), process.cwd()] });
  } catch {
    throw new InputError(
      '--device webgpu needs the npm package webgpu, here or in the current folder: run npm install --no-save webgpu',
    );
  }
  try {
    return (await import(pathToFileURL(path).href)).create([]);
  } catch (error) {
    throw new InputError(`${path}: expected a package that loads, got: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * InputError without the package that brings WebGPU; TandemError, if that finds no GPU.
 * @param {Settings} settings
 */
export async function openRuntime({ device, threads }) {
  const options = { device, threads: threads || availableParallelism() };
  return createRuntime(device === 'webgpu' ? { ...options, gpu: await findGpu() } : options);
}
