// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A minimal page with ONNX Runtime Web: from nothing to the numbers of a small network, which is a model in the page.

import { env, InferenceSession, Tensor } from 'onnxruntime-web/wasm';

import { OnnxGraph } from '../onnx.mjs';

env.wasm.numThreads = 1;
env.wasm.wasmPaths = { wasm: new URL('ort-wasm-simd-threaded.wasm', import.meta.url).href };
const graph = new OnnxGraph();
const x = graph.input('x', [2, 2]);
const product = graph.node('Gemm', [x, x], { transB: 1n });
const model = graph.finish(graph.node('Softmax', [graph.node('Relu', [product])], { axis: -1n }, 'y'), [2, 2]);
const session = await InferenceSession.create(model);
const { y } = await session.run({ x: new Tensor('float32', [1, 2, 3, 4], [2, 2]) });
window.first = { at: performance.now(), values: [...y.data] };
