// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scenarios with Tandem. Every one is { run(count), output(), close() }: `run` returns when the work is done, or, if
// there is a settle(), that does.

import * as eager from './eager.mjs';
import { calls, readLast } from './eager.mjs';

const STRIDE_1 = [1, 1, 1, 1];

/** `env`: { tandemUrl, threads, device }. The same functions for the page and for Node. */
export const load = (env) => loadWith(env, (rt, forward) => () => rt.scope(forward));

/** As programs: what more than one op makes is recorded once, with all but its inputs as constants. */
export async function loadPrograms(env) {
  const library = await loadWith(env, async (rt, forward, inputs) => {
    const { program, result } = await rt.record(forward, { inputs });
    result.dispose();
    return () => program.run('main', inputs)[0];
  });
  const { version, close, chain, mixed, mobileNet, bert } = library;
  return { name: 'tandem-program', version, close, chain, mixed, mobileNet, bert };
}

// `prepare` makes a call without arguments of a function of tensors and what it is given, or a promise of one.
async function loadWith({ tandemUrl, threads, device = 'cpu' }, prepare) {
  const tandem = await import(tandemUrl);
  const rt = await tandem.createRuntime({ device, threads });
  const { add, matMul } = tandem;
  const of = ({ shape, values }) => rt.tensor(values, shape);

  // A result of the GPU is there when it can be read, not when it is ready to be an argument.
  const awaited = (call, inputs) => eager.awaited((result) => result.ready(), call, inputs);
  const work = device === 'cpu' ? awaited : readLast;
  const binary = (make, call) => eager.binary(of, make, call);
  const unary = (call) => eager.unary(of, work, call);
  const filtered = (call) => eager.filtered(of, work, call);

  return {
    name: 'tandem',
    version: tandem.VERSION ?? '',
    close: () => rt.dispose(),
    add: binary(calls, (a, b) => add(a, b)),
    addByName: binary(calls, (a, b) => rt.execute('tf.AddV2', [a, b])[0]),
    matMul2: binary(calls, (a, b) => matMul(a, b, { transposeB: true })),
    scopeChain: eager.scopeChain(of, add, (fn) => rt.scope(fn)),
    async chain({ x, y, length }) {
      const inputs = [of(x), of(y)];
      const forward = (a = inputs[0], b = inputs[1]) => eager.dependentSum(add, a, b, length);
      return eager.awaited((sum) => sum.data(), await prepare(rt, forward, inputs), inputs);
    },
    async mixed({ x, y }) {
      const inputs = [of(x), of(y)];
      const forward = (a = inputs[0], b = inputs[1]) => eager.tenOps(tandem, a, b);
      return work(await prepare(rt, forward, inputs), inputs);
    },
    issue: eager.issue(of, add),
    matMul: binary(work, (a, b) => matMul(a, b)),
    addLarge: binary(work, (a, b) => add(a, b)),
    conv2d: filtered((a, filter) => tandem.conv2d(a, filter, STRIDE_1, 'SAME')),
    depthwise: filtered((a, filter) => tandem.depthwiseConv2dNative(a, filter, STRIDE_1, 'SAME')),
    firstConv: filtered((a, filter) => tandem.conv2d(a, filter, [1, 2, 2, 1], 'SAME')),
    maxPool2: unary((a) => tandem.maxPool(a, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')),
    avgPool: unary((a) => tandem.avgPool(a, [1, 3, 3, 1], [1, 2, 2, 1], 'SAME')),
    relu: unary((a) => tandem.relu(a)),
    sigmoid: unary((a) => tandem.sigmoid(a)),
    transpose: unary((a) => tandem.transpose(a, [0, 2, 1, 3])),
    gemv: binary(work, (a, b) => matMul(a, b)),
    maxPool: unary((a) => tandem.maxPool(a, [1, 3, 3, 1], [1, 2, 2, 1], 'SAME')),
    softmax: unary((a) => tandem.softmax(a)),
    sum: unary((a) => tandem.sum(a, [0])),
    mobileNet: (model) => mobileNet(tandem, rt, model, work, prepare),
    bert: (model) => bert(tandem, rt, model, work, prepare),
  };
}

async function mobileNet(tandem, rt, model, work, prepare) {
  const { add, biasAdd, depthwiseConv2dNative, fusedConv2d, fusedMatMul, mean, relu6 } = tandem;
  const of = ({ shape, values }) => rt.tensor(values, shape);
  const layers = model.layers.map((layer) => ({ ...layer, filter: of(layer.filter), bias: rt.tensor(layer.bias) }));
  const [dense, denseBias] = [of(model.dense), rt.tensor(model.denseBias)];
  const input = rt.tensor(model.input, model.inputShape);

  const forward = (image = input) => {
    let x = image;
    let blockInput = image;
    for (const { kind, stride, relu6: clip, filter, bias, blockStart, residual } of layers) {
      if (blockStart) blockInput = x;
      const strides = [1, stride, stride, 1];
      if (kind === 'conv') {
        x = fusedConv2d(x, filter, [bias], strides, 'SAME', { fusedOps: clip ? ['BiasAdd', 'Relu6'] : ['BiasAdd'] });
      } else {
        x = relu6(biasAdd(depthwiseConv2dNative(x, filter, strides, 'SAME'), bias));
      }
      if (residual) x = add(x, blockInput);
    }
    return fusedMatMul(mean(x, [1, 2]), dense, [denseBias], { fusedOps: ['BiasAdd'] });
  };
  const kept = [input, dense, denseBias, ...layers.flatMap(({ filter, bias }) => [filter, bias])];
  return work(await prepare(rt, forward, [input]), kept);
}

async function bert(tandem, rt, model, work, prepare) {
  const { add, batchMatMul, fusedMatMul, gather, layerNorm, mul, reshape, softmax, transpose } = tandem;
  const { tokens, hidden, heads } = model;
  const kept = [];
  const of = (values, shape) => {
    kept.push(rt.tensor(values, shape));
    return kept.at(-1);
  };
  const denseOf = ({ weights, bias }) => ({ weights: of(weights.values, weights.shape), bias: of(bias) });
  const normOf = ({ scale, bias }) => ({ scale: of(scale), bias: of(bias) });
  const ids = of(Int32Array.from(model.ids));
  const vocabulary = of(model.vocabulary.values, model.vocabulary.shape);
  const positions = of(model.positions.values, model.positions.shape);
  const firstNorm = normOf(model.norm);
  const layers = model.layers.map((layer) => ({
    query: denseOf(layer.query),
    key: denseOf(layer.key),
    value: denseOf(layer.value),
    output: denseOf(layer.output),
    norm: normOf(layer.norm),
    up: denseOf(layer.up),
    down: denseOf(layer.down),
    lastNorm: normOf(layer.lastNorm),
  }));

  const dense = (x, { weights, bias }, ...more) => fusedMatMul(x, weights, [bias], { fusedOps: ['BiasAdd', ...more] });
  const norm = (x, { scale, bias }) => layerNorm(x, scale, bias, { epsilon: 1e-12 });
  const split = (x) => transpose(reshape(x, [tokens, heads, hidden / heads]), [1, 0, 2]);
  const scale = 1 / Math.sqrt(hidden / heads);
  const forward = (words = ids) => {
    let x = norm(add(gather(vocabulary, words, 0), positions), firstNorm);
    for (const layer of layers) {
      const [query, key, value] = [layer.query, layer.key, layer.value].map((weights) => split(dense(x, weights)));
      const scores = mul(batchMatMul(query, key, { adjY: true }), scale);
      const mixed = reshape(transpose(batchMatMul(softmax(scores), value), [1, 0, 2]), [tokens, hidden]);
      x = norm(add(dense(mixed, layer.output), x), layer.norm);
      const up = dense(x, layer.up, 'GeluExact');
      x = norm(add(dense(up, layer.down), x), layer.lastNorm);
    }
    return x;
  };
  return work(await prepare(rt, forward, [ids]), kept);
}
