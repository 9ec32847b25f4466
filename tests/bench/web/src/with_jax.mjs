// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scenarios with jax-js on WebGPU; the same interface as with_tandem.mjs. Arrays are counted: an argument is taken
// over unless it is given as `.ref`. Nothing is computed before a result is waited for, so all results are; functions
// of more than one op are compiled by jit().

import { blockUntilReady, defaultDevice, init, jit, lax, nn, numpy as np } from '@jax-js/jax';

import { channelsFirst, channelsLast, transposed } from './data.mjs';

const of = ({ shape, values }) => np.array(values, { shape });

/** Calls in a row, of which the last one's result is read; `read` makes its values comparable. */
function readLast(call, inputs, read = (values) => values) {
  return {
    async run(count) {
      const results = Array.from({ length: count }, call);
      await blockUntilReady(results);
      const last = results.pop();
      results.forEach((result) => result.dispose());
      await last.data();
    },
    output: async () => read(await call().data()),
    close: () => inputs.forEach((input) => input.dispose()),
  };
}

function dependentSum(a, b, length) {
  let sum = a.ref.add(b.ref);
  for (let i = 1; i < length; ++i) sum = sum.add(b.ref);
  return sum;
}

function issue({ x, y, length }) {
  const [a, b] = [of(x), of(y)];
  let last;
  return {
    run(count) {
      last = dependentSum(a, b, count);
    },
    settle: () => last.data(),
    output: () => dependentSum(a, b, length).data(),
    close: () => [a, b].forEach((input) => input.dispose()),
  };
}

const binary = (call) => ({ x, y }) => {
  const [a, b] = [of(x), of(y)];
  return readLast(() => call(a.ref, b.ref), [a, b]);
};

const unary = (call) => ({ x }) => {
  const a = of(x);
  return readLast(() => call(a.ref), [a]);
};

// On images, which it has channels first.
const filtered = (perm, call) => ({ x, filter }) => {
  const [n, h, w, c] = x.shape;
  const image = np.array(channelsFirst(x.values, x.shape), { shape: [n, c, h, w] });
  const weights = filterOf(filter, perm);
  const result = [n, h, w, weights.shape[0]];
  return readLast(() => call(image.ref, weights.ref), [image, weights], (values) => channelsLast(values, result));
};

function filterOf({ shape, values }, perm) {
  return np.array(transposed(values, shape, perm), { shape: perm.map((p) => shape[p]) });
}

export async function load() {
  if (!(await init('webgpu')).includes('webgpu')) throw new Error('jax-js has no WebGPU here');
  defaultDevice('webgpu');
  const depthwise = jit((image, weights) =>
    lax.convGeneralDilated(image, weights, [1, 1], 'SAME', { featureGroupCount: 32 }),
  );
  const conv = jit((image, weights) => lax.convGeneralDilated(image, weights, [1, 1], 'SAME'));
  return {
    name: 'jax-js',
    close() {},
    chain: ({ x, y, length }) => {
      const [a, b] = [of(x), of(y)];
      return readLast(() => dependentSum(a, b, length), [a, b]);
    },
    issue,
    matMul: binary(jit((a, b) => np.matmul(a, b))),
    addLarge: binary((a, b) => a.add(b)),
    conv2d: filtered([3, 2, 0, 1], conv),
    depthwise: filtered([2, 3, 0, 1], depthwise),
    softmax: unary(jit((a) => nn.softmax(a))),
    sum: unary((a) => a.sum()),
    mobileNet,
    bert,
  };
}

function mobileNet(model) {
  const [n, h, w, c] = model.inputShape;
  const input = np.array(channelsFirst(model.input, model.inputShape), { shape: [n, c, h, w] });
  const filters = model.layers.map(({ kind, filter }) => filterOf(filter, kind === 'conv' ? [3, 2, 0, 1] : [2, 3, 0, 1]));
  const biases = model.layers.map(({ bias }) => np.array(bias, { shape: [bias.length, 1, 1] }));
  const head = [of(model.dense), np.array(model.denseBias)];

  const forward = jit((image, filters, biases, [dense, denseBias]) => {
    let x = image;
    let blockInput;
    model.layers.forEach(({ kind, stride, relu6, bias, blockStart, residual }, i) => {
      if (blockStart) {
        blockInput?.dispose();
        blockInput = x.ref;
      }
      const groups = { featureGroupCount: kind === 'conv' ? 1 : bias.length };
      x = lax.convGeneralDilated(x, filters[i], [stride, stride], 'SAME', groups).add(biases[i]);
      if (relu6) x = nn.relu6(x);
      if (residual) x = x.add(blockInput.ref);
    });
    blockInput?.dispose();
    return np.matmul(np.mean(x, [2, 3]), dense).add(denseBias);
  });
  const refs = (arrays) => arrays.map((array) => array.ref);
  const inputs = [input, ...filters, ...biases, ...head];
  return readLast(() => forward(input.ref, refs(filters), refs(biases), refs(head)), inputs);
}

function bert(model) {
  const { tokens, hidden, heads } = model;
  const kept = [];
  const of = (values, shape) => {
    kept.push(np.array(values, shape && { shape }));
    return kept.at(-1);
  };
  const denseOf = ({ weights, bias }) => [of(weights.values, weights.shape), of(bias)];
  const normOf = ({ scale, bias }) => [of(scale), of(bias)];
  const weights = {
    ids: of(Int32Array.from(model.ids)),
    vocabulary: of(model.vocabulary.values, model.vocabulary.shape),
    positions: of(model.positions.values, model.positions.shape),
    norm: normOf(model.norm),
    layers: model.layers.map((layer) => ({
      query: denseOf(layer.query),
      key: denseOf(layer.key),
      value: denseOf(layer.value),
      output: denseOf(layer.output),
      norm: normOf(layer.norm),
      up: denseOf(layer.up),
      down: denseOf(layer.down),
      lastNorm: normOf(layer.lastNorm),
    })),
  };

  const dense = (x, [matrix, bias]) => np.matmul(x, matrix).add(bias);
  const norm = (x, [scale, bias]) => nn.standardize(x, -1, { epsilon: 1e-12 }).mul(scale).add(bias);
  const split = (x) => x.reshape([tokens, heads, hidden / heads]).transpose([1, 0, 2]);
  const scale = 1 / Math.sqrt(hidden / heads);
  const forward = jit((given) => {
    let x = norm(np.take(given.vocabulary, given.ids, 0).add(given.positions), given.norm);
    for (const layer of given.layers) {
      const query = split(dense(x.ref, layer.query));
      const key = split(dense(x.ref, layer.key));
      const value = split(dense(x.ref, layer.value));
      const scores = nn.softmax(np.matmul(query, key.transpose([0, 2, 1])).mul(scale), -1);
      const mixed = np.matmul(scores, value).transpose([1, 0, 2]).reshape([tokens, hidden]);
      x = norm(dense(mixed, layer.output).add(x), layer.norm);
      const up = nn.gelu(dense(x.ref, layer.up), { approximate: false });
      x = norm(dense(up, layer.down).add(x), layer.lastNorm);
    }
    return x;
  });
  const refs = (tree) => {
    if (Array.isArray(tree)) return tree.map(refs);
    if (kept.includes(tree)) return tree.ref;
    return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, refs(value)]));
  };
  return readLast(() => forward(refs(weights)), kept);
}
