// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A minimal page with TensorFlow.js on WebAssembly: from nothing to the numbers of a small network.

import { matMul, ready, relu, setBackend, softmax, tensor2d } from '@tensorflow/tfjs-core';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';

setWasmPaths(new URL('.', import.meta.url).href);
await setBackend('wasm');
await ready();
const x = tensor2d([[1, 2], [3, 4]]);
const values = await softmax(relu(matMul(x, x, false, true))).data();
window.first = { at: performance.now(), values: [...values] };
