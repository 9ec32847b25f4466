// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The two models of the bench, independent of a library: what layers they have, with random weights.

import { randomSource } from './data.mjs';

const BLOCKS = [
  // expansion, channels, repeats, first stride
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
];

/**
 * MobileNetV2 of width 1.0 for images [1, 224, 224, 3], batch normalization folded into biases.
 * Layers: { kind: 'conv' | 'depthwise', stride, relu6, filter: { shape, values }, bias, residual }; filters are HWIO
 * (depthwise: HWC1); `residual`: the layer's result is added to the input of the block that it ends. `blockStart`
 * marks where a block begins. Behind them the mean over the image, and dense weights [1280, 1000] with bias.
 */
export function mobileNetV2() {
  const random = randomSource(2018);
  const layers = [];
  // Of that scale the elements of all layers are about as large.
  const filter = (shape, terms) => ({ shape, values: random(shape.reduce((a, b) => a * b), Math.sqrt(2 / terms)) });
  const conv = (size, from, to, stride, relu6, more = {}) =>
    layers.push({
      kind: 'conv',
      stride,
      relu6,
      filter: filter([size, size, from, to], size * size * from),
      bias: random(to, 0.1),
      ...more,
    });
  conv(3, 3, 32, 2, true);
  let channels = 32;
  for (const [expansion, to, repeats, firstStride] of BLOCKS) {
    for (let i = 0; i < repeats; ++i) {
      const stride = i === 0 ? firstStride : 1;
      const wide = channels * expansion;
      const first = layers.length;
      if (expansion > 1) conv(1, channels, wide, 1, true);
      layers.push({
        kind: 'depthwise',
        stride,
        relu6: true,
        filter: filter([3, 3, wide, 1], 9),
        bias: random(wide, 0.1),
      });
      conv(1, wide, to, 1, false, { residual: stride === 1 && channels === to });
      layers[first].blockStart = true;
      channels = to;
    }
  }
  conv(1, channels, 1280, 1, true);
  return {
    inputShape: [1, 224, 224, 3],
    input: random(224 * 224 * 3),
    layers,
    dense: { shape: [1280, 1000], values: random(1280 * 1000, Math.sqrt(1 / 1280)) },
    denseBias: random(1000, 0.1),
  };
}

/** A BERT encoder of 2 layers, hidden size 128, 2 heads, 128 tokens, vocabulary 30,522; the result is [128, 128]. */
export function bertTiny() {
  const random = randomSource(2019);
  const [tokens, hidden, inner] = [128, 128, 512];
  const dense = (from, to) => ({
    weights: { shape: [from, to], values: random(from * to, Math.sqrt(1 / from)) },
    bias: random(to, 0.1),
  });
  const norm = () => ({ scale: random(hidden, 0.1).map((value) => 1 + value), bias: random(hidden, 0.1) });
  return {
    tokens,
    hidden,
    heads: 2,
    ids: random(tokens).map((value) => Math.floor(Math.abs(value) * 9000)),
    vocabulary: { shape: [30522, hidden], values: random(30522 * hidden) },
    positions: { shape: [tokens, hidden], values: random(tokens * hidden) },
    norm: norm(),
    layers: [0, 1].map(() => ({
      query: dense(hidden, hidden),
      key: dense(hidden, hidden),
      value: dense(hidden, hidden),
      output: dense(hidden, hidden),
      norm: norm(),
      up: dense(hidden, inner),
      down: dense(inner, hidden),
      lastNorm: norm(),
    })),
  };
}
