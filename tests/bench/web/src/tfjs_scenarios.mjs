// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scenarios with TensorFlow.js on the backend that is set.

import * as tf from '@tensorflow/tfjs-core';

import * as eager from './eager.mjs';
import { calls } from './eager.mjs';

/** `work` makes a scenario of a call and its tensors, such that `run` returns when the work is done. */
export function tfjsScenarios(work) {
  const of = ({ shape, values }) => tf.tensor(values, shape);
  const binary = (call) => eager.binary(of, work, call);
  const unary = (call) => eager.unary(of, work, call);
  const filtered = (call) => eager.filtered(of, work, call);

  return {
    version: tf.version_core,
    close() {},
    add: eager.binary(of, calls, tf.add),
    matMul2: eager.binary(of, calls, (a, b) => tf.matMul(a, b, false, true)),
    scopeChain: eager.scopeChain(of, tf.add, tf.tidy),
    chain: eager.chain(of, tf.add),
    mixed: binary((a, b) => tf.tidy(() => eager.tenOps(tf, a, b))),
    issue: eager.issue(of, tf.add),
    matMul: binary((a, b) => tf.matMul(a, b)),
    addLarge: binary((a, b) => tf.add(a, b)),
    conv2d: filtered((a, filter) => tf.conv2d(a, filter, 1, 'same')),
    depthwise: filtered((a, filter) => tf.depthwiseConv2d(a, filter, 1, 'same')),
    firstConv: filtered((a, filter) => tf.conv2d(a, filter, 2, 'same')),
    maxPool2: unary((a) => tf.maxPool(a, 2, 2, 'same')),
    avgPool: unary((a) => tf.avgPool(a, 3, 2, 'same')),
    relu: unary((a) => tf.relu(a)),
    sigmoid: unary((a) => tf.sigmoid(a)),
    transpose: unary((a) => tf.transpose(a, [0, 2, 1, 3])),
    gemv: binary((a, b) => tf.matMul(a, b)),
    maxPool: unary((a) => tf.maxPool(a, 3, 2, 'same')),
    softmax: unary((a) => tf.softmax(a)),
    sum: unary((a) => tf.sum(a)),
    mobileNet: (model) => mobileNet(model, work),
    bert: (model) => bert(model, work),
  };
}

function mobileNet(model, work) {
  const of = ({ shape, values }) => tf.tensor(values, shape);
  const layers = model.layers.map((layer) => ({ ...layer, filter: of(layer.filter), bias: tf.tensor1d(layer.bias) }));
  const [dense, denseBias] = [of(model.dense), tf.tensor1d(model.denseBias)];
  const input = tf.tensor(model.input, model.inputShape);

  const forward = () => {
    let x = input;
    let blockInput = input;
    for (const { kind, stride, relu6, filter, bias, blockStart, residual } of layers) {
      if (blockStart) blockInput = x;
      const conv = kind === 'conv' ? tf.fused.conv2d : tf.fused.depthwiseConv2d;
      x = conv({ x, filter, strides: stride, pad: 'same', bias, activation: relu6 ? 'relu6' : 'linear' });
      if (residual) x = tf.add(x, blockInput);
    }
    return tf.fused.matMul({ a: tf.mean(x, [1, 2]), b: dense, bias: denseBias });
  };
  return work(() => tf.tidy(forward), [input, dense, denseBias, ...layers.flatMap((l) => [l.filter, l.bias])]);
}

function bert(model, work) {
  const { tokens, hidden, heads } = model;
  const kept = [];
  const of = (values, shape, dtype) => {
    kept.push(tf.tensor(values, shape, dtype));
    return kept.at(-1);
  };
  const denseOf = ({ weights, bias }) => ({ weights: of(weights.values, weights.shape), bias: of(bias) });
  const normOf = ({ scale, bias }) => ({ scale: of(scale), bias: of(bias) });
  const ids = of(Int32Array.from(model.ids), [tokens], 'int32');
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

  const dense = (x, { weights, bias }) => tf.fused.matMul({ a: x, b: weights, bias });
  // The library has no layer normalization and no exact GELU: what its users write.
  const norm = (x, { scale, bias }) => {
    const { mean, variance } = tf.moments(x, -1, true);
    return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-12))), scale), bias);
  };
  const gelu = (x) => tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1));
  const split = (x) => tf.transpose(tf.reshape(x, [tokens, heads, hidden / heads]), [1, 0, 2]);
  const scale = 1 / Math.sqrt(hidden / heads);
  const forward = () => {
    let x = norm(tf.add(tf.gather(vocabulary, ids), positions), firstNorm);
    for (const layer of layers) {
      const [query, key, value] = [layer.query, layer.key, layer.value].map((weights) => split(dense(x, weights)));
      const scores = tf.mul(tf.matMul(query, key, false, true), scale);
      const mixed = tf.reshape(tf.transpose(tf.matMul(tf.softmax(scores), value), [1, 0, 2]), [tokens, hidden]);
      x = norm(tf.add(dense(mixed, layer.output), x), layer.norm);
      x = norm(tf.add(dense(gelu(dense(x, layer.up)), layer.down), x), layer.lastNorm);
    }
    return x;
  };
  return work(() => tf.tidy(forward), kept);
}
