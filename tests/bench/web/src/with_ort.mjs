// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scenarios with ONNX Runtime Web; the same interface as with_tandem.mjs. It has no eager ops: the nearest to one is
// running a session whose model is one node.

import { channelsFirst, channelsLast, transposed } from './data.mjs';
import { OnnxGraph } from './onnx.mjs';

/** Runs of a model with inputs and outputs in JavaScript's memory, which is where the WebAssembly provider has them. */
function runsInMemory(ort, made, inputs, read) {
  const feeds = {};
  for (const [name, shape, values] of inputs) feeds[name] = new ort.Tensor(elementType(values), values, shape);
  const [output] = made.outputNames;
  return {
    async run(count) {
      for (let i = 0; i < count; ++i) await made.run(feeds);
    },
    output: async () => read((await made.run(feeds))[output].data),
    close: () => made.release(),
  };
}

/** Runs of a model with inputs and outputs on the device, of which the last one's is read. */
async function runsOnDevice(ort, made, inputs, read) {
  const device = await ort.env.webgpu.device;
  const buffers = [];
  const feeds = {};
  for (const [name, dims, values] of inputs) {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const buffer = device.createBuffer({ size: Math.ceil(values.byteLength / 16) * 16, usage });
    device.queue.writeBuffer(buffer, 0, values);
    buffers.push(buffer);
    feeds[name] = ort.Tensor.fromGpuBuffer(buffer, { dataType: elementType(values), dims });
  }
  const [output] = made.outputNames;
  const result = async () => {
    const tensor = (await made.run(feeds))[output];
    const values = await tensor.getData();
    tensor.dispose();
    return values;
  };
  return {
    async run(count) {
      for (let i = 1; i < count; ++i) (await made.run(feeds))[output].dispose();
      await result();
    },
    output: async () => read(await result()),
    async close() {
      await made.release();
      buffers.forEach((buffer) => buffer.destroy());
    },
  };
}

const elementType = (values) => (values instanceof BigInt64Array ? 'int64' : 'float32');

/**
 * `env`: { ort, ortPath, threads, provider }: the library's module (its entries for pages and for Node, for WebAssembly
 * and for WebGPU differ), where the .wasm file lies (left out: beside the library), for how many threads, and on what.
 */
export async function load({ ort, ortPath, threads, provider = 'wasm' }) {
  if (ortPath) ort.env.wasm.wasmPaths = ortPath;
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = 'error';

  // Runs of a model; `inputs`: [name, shape, values] of each input, `read` what makes the output's values comparable.
  const session = async (model, inputs, read = (values) => values) => {
    const place = provider === 'webgpu' ? { preferredOutputLocation: 'gpu-buffer' } : {};
    const made = await ort.InferenceSession.create(model, { executionProviders: [provider], ...place });
    return (provider === 'webgpu' ? runsOnDevice : runsInMemory)(ort, made, inputs, read);
  };

  // A model of one node with inputs x and y.
  const binary = (type, attributes = {}, resultShape = (x) => x.shape) => ({ x, y }) => {
    const graph = new OnnxGraph();
    const inputs = [graph.input('x', x.shape), graph.input('y', y.shape)];
    const model = graph.finish(graph.node(type, inputs, attributes), resultShape(x, y));
    return session(model, [['x', x.shape, x.values], ['y', y.shape, y.values]]);
  };

  const unary = (make, resultShape) => ({ x }) => {
    const graph = new OnnxGraph();
    return session(graph.finish(make(graph, graph.input('x', x.shape)), resultShape(x)), [['x', x.shape, x.values]]);
  };

  // A node on images, which ONNX has channels first; `filter`, if any, is a constant of the model.
  const onImages = (type, attributes, filterPerm, stride = 1) => ({ x, filter }) => {
    const graph = new OnnxGraph();
    const [n, h, w, c] = x.shape;
    const inputs = [graph.input('x', [n, c, h, w])];
    if (filter) {
      const shape = filterPerm.map((p) => filter.shape[p]);
      inputs.push(graph.constant(shape, transposed(filter.values, filter.shape, filterPerm)));
    }
    const result = [n, Math.ceil(h / stride), Math.ceil(w / stride), filterPerm?.[0] === 3 ? filter.shape[3] : c];
    const y = graph.node(type, inputs, { auto_pad: 'SAME_UPPER', ...attributes });
    const model = graph.finish(y, [n, result[3], result[1], result[2]]);
    const images = ['x', [n, c, h, w], channelsFirst(x.values, x.shape)];
    return session(model, [images], (values) => channelsLast(values, result));
  };

  const matMul = binary('MatMul', {}, (x, y) => [x.shape[0], y.shape[1]]);
  return {
    name: provider === 'webgpu' ? 'ort-webgpu' : 'ort-web',
    version: ort.env.versions.web,
    close() {},
    add: binary('Add'),
    matMul2: binary('Gemm', { transB: 1n }),
    chain({ x, y, length }) {
      const graph = new OnnxGraph();
      const inputs = [graph.input('x', x.shape), graph.input('y', y.shape)];
      let sum = graph.node('Add', inputs);
      for (let i = 1; i < length; ++i) sum = graph.node('Add', [sum, 'y']);
      return session(graph.finish(sum, x.shape), [['x', x.shape, x.values], ['y', y.shape, y.values]]);
    },
    mixed({ x, y }) {
      const graph = new OnnxGraph();
      const inputs = [graph.input('x', x.shape), graph.input('y', y.shape)];
      let z = graph.node('Add', [graph.node('Mul', [graph.node('Add', inputs), 'y']), 'y']);
      z = graph.node('Max', [graph.node('Sub', [graph.node('Mul', [z, 'x']), 'y']), 'x']);
      z = graph.node('Relu', [graph.node('Add', [graph.node('Neg', [graph.node('Abs', [z])]), 'y'])]);
      return session(graph.finish(z, x.shape), [['x', x.shape, x.values], ['y', y.shape, y.values]]);
    },
    matMul,
    addLarge: binary('Add'),
    conv2d: onImages('Conv', {}, [3, 2, 0, 1]),
    depthwise: onImages('Conv', { group: 32n }, [2, 3, 0, 1]),
    firstConv: onImages('Conv', { strides: [2n, 2n] }, [3, 2, 0, 1], 2),
    maxPool2: onImages('MaxPool', { kernel_shape: [2n, 2n], strides: [2n, 2n] }, undefined, 2),
    avgPool: onImages('AveragePool', { kernel_shape: [3n, 3n], strides: [2n, 2n] }, undefined, 2),
    relu: unary((graph, x) => graph.node('Relu', [x]), (x) => x.shape),
    sigmoid: unary((graph, x) => graph.node('Sigmoid', [x]), (x) => x.shape),
    transpose: unary(
      (graph, x) => graph.node('Transpose', [x], { perm: [0n, 2n, 1n, 3n] }),
      ({ shape: [a, b, c, d] }) => [a, c, b, d],
    ),
    gemv({ x, y }) {
      const graph = new OnnxGraph();
      const product = graph.node('MatMul', [graph.input('x', x.shape), graph.constant(y.shape, y.values)]);
      return session(graph.finish(product, [1, y.shape[1]]), [['x', x.shape, x.values]]);
    },
    maxPool: onImages('MaxPool', { kernel_shape: [3n, 3n], strides: [2n, 2n] }, undefined, 2),
    softmax: unary((graph, x) => graph.node('Softmax', [x], { axis: -1n }), (x) => x.shape),
    sum: unary((graph, x) => graph.node('ReduceSum', [x], { keepdims: 0n }), () => []),
    mobileNet: (model) => mobileNet(model, session),
    bert: (model) => bert(model, session),
  };
}

function mobileNet(model, session) {
  const graph = new OnnxGraph();
  const [n, h, w, c] = model.inputShape;
  const limits = [graph.constant([], Float32Array.of(0)), graph.constant([], Float32Array.of(6))];
  let x = graph.input('image', [n, c, h, w]);
  let blockInput = x;
  for (const { kind, stride, relu6, filter, bias, blockStart, residual } of model.layers) {
    if (blockStart) blockInput = x;
    const perm = kind === 'conv' ? [3, 2, 0, 1] : [2, 3, 0, 1];
    const shape = perm.map((p) => filter.shape[p]);
    const weights = graph.constant(shape, transposed(filter.values, filter.shape, perm));
    x = graph.node('Conv', [x, weights, graph.constant([bias.length], bias)], {
      auto_pad: 'SAME_UPPER',
      strides: [BigInt(stride), BigInt(stride)],
      group: BigInt(kind === 'conv' ? 1 : bias.length),
    });
    if (relu6) x = graph.node('Clip', [x, ...limits]);
    if (residual) x = graph.node('Add', [x, blockInput]);
  }
  x = graph.node('ReduceMean', [x, graph.integers(2, 3)], { keepdims: 0n });
  const weights = graph.constant(model.dense.shape, model.dense.values);
  const bias = graph.constant([1000], model.denseBias);
  const bytes = graph.finish(graph.node('Gemm', [x, weights, bias]), [1, 1000]);
  return session(bytes, [['image', [n, c, h, w], channelsFirst(model.input, model.inputShape)]]);
}

function bert(model, session) {
  const { tokens, hidden, heads } = model;
  const graph = new OnnxGraph();
  const of = ({ shape, values }) => graph.constant(shape, values);
  const dense = (x, { weights, bias }) =>
    graph.node('Add', [graph.node('MatMul', [x, of(weights)]), graph.constant([bias.length], bias)]);
  const norm = (x, { scale, bias }) =>
    graph.node('LayerNormalization', [x, graph.constant([hidden], scale), graph.constant([hidden], bias)], {
      axis: -1n,
      epsilon: 1e-12,
    });
  const splitShape = graph.integers(tokens, heads, hidden / heads);
  const mergedShape = graph.integers(tokens, hidden);
  const scale = graph.constant([], Float32Array.of(1 / Math.sqrt(hidden / heads)));
  const split = (x, perm) => graph.node('Transpose', [graph.node('Reshape', [x, splitShape])], { perm });

  const ids = graph.input('ids', [tokens], true);
  let x = norm(
    graph.node('Add', [graph.node('Gather', [of(model.vocabulary), ids], { axis: 0n }), of(model.positions)]),
    model.norm,
  );
  for (const layer of model.layers) {
    const query = split(dense(x, layer.query), [1n, 0n, 2n]);
    const key = split(dense(x, layer.key), [1n, 2n, 0n]);
    const value = split(dense(x, layer.value), [1n, 0n, 2n]);
    const product = graph.node('MatMul', [query, key]);
    const scores = graph.node('Softmax', [graph.node('Mul', [product, scale])], { axis: -1n });
    const heads3 = graph.node('Transpose', [graph.node('MatMul', [scores, value])], { perm: [1n, 0n, 2n] });
    const mixed = graph.node('Reshape', [heads3, mergedShape]);
    x = norm(graph.node('Add', [dense(mixed, layer.output), x]), layer.norm);
    x = norm(graph.node('Add', [dense(graph.node('Gelu', [dense(x, layer.up)]), layer.down), x]), layer.lastNorm);
  }
  return session(graph.finish(x, [tokens, hidden]), [['ids', [tokens], BigInt64Array.from(model.ids, BigInt)]]);
}
