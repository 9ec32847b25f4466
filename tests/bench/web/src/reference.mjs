// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scenarios computed plainly in f64: what the libraries' results are compared with. The same interface as
// with_tandem.mjs, but for run().

const result = (values) => ({ output: () => values });

/** [rows, inner] times [inner, columns], plus `bias` of each column. */
function matMul(x, y, rows, inner, columns, bias) {
  const z = new Float64Array(rows * columns);
  for (let i = 0; i < rows; ++i) {
    if (bias) z.set(bias, i * columns);
    for (let k = 0; k < inner; ++k) {
      const factor = x[i * inner + k];
      for (let j = 0; j < columns; ++j) z[i * columns + j] += factor * y[k * columns + j];
    }
  }
  return z;
}

/** NHWC, one image; filters HWIO, or HWC1 if `isDepthwise`. TensorFlow's SAME: the odd pixel of padding at the end. */
function convolution({ shape: [, h, w, c], values }, filter, stride, isDepthwise) {
  const [fh, fw, , last] = filter.shape;
  const to = isDepthwise ? c : last;
  const [rows, columns] = [Math.ceil(h / stride), Math.ceil(w / stride)];
  const top = Math.max(0, (rows - 1) * stride + fh - h) >> 1;
  const left = Math.max(0, (columns - 1) * stride + fw - w) >> 1;
  const z = new Float64Array(rows * columns * to);
  const addPixel = (from, tap, at) => {
    for (let i = 0; i < c; ++i) {
      const x = values[from + i];
      if (isDepthwise) z[at + i] += x * filter.values[tap * c + i];
      else for (let o = 0; o < to; ++o) z[at + o] += x * filter.values[(tap * c + i) * to + o];
    }
  };
  for (let at = 0; at < rows * columns; ++at) {
    for (let tap = 0; tap < fh * fw; ++tap) {
      const y = Math.floor(at / columns) * stride + Math.floor(tap / fw) - top;
      const x = (at % columns) * stride + (tap % fw) - left;
      if (y >= 0 && y < h && x >= 0 && x < w) addPixel((y * w + x) * c, tap, at * to);
    }
  }
  return { shape: [1, rows, columns, to], values: z };
}

function softmax(x, columns) {
  const z = Float64Array.from(x);
  for (let at = 0; at < z.length; at += columns) {
    const row = z.subarray(at, at + columns);
    const largest = row.reduce((a, b) => Math.max(a, b));
    row.forEach((value, i) => (row[i] = Math.exp(value - largest)));
    const sum = row.reduce((a, b) => a + b);
    row.forEach((value, i) => (row[i] = value / sum));
  }
  return z;
}

function mobileNet(model) {
  let x = { shape: model.inputShape, values: model.input };
  let blockInput = x;
  for (const { kind, stride, relu6, filter, bias, blockStart, residual } of model.layers) {
    if (blockStart) blockInput = x;
    x = convolution(x, filter, stride, kind === 'depthwise');
    const { values } = x;
    for (let i = 0; i < values.length; ++i) {
      values[i] += bias[i % bias.length];
      if (relu6) values[i] = Math.min(Math.max(values[i], 0), 6);
      if (residual) values[i] += blockInput.values[i];
    }
  }
  const [, h, w, c] = x.shape;
  const mean = matMul(new Float64Array(h * w).fill(1 / (h * w)), x.values, 1, h * w, c);
  return matMul(mean, model.dense.values, 1, c, model.denseBias.length, model.denseBias);
}

// Abramowitz and Stegun, 7.1.5 (series) and 7.1.14 (continued fraction).
function erf(x) {
  const z = Math.abs(x);
  if (z > 3) {
    let fraction = z;
    for (let k = 60; k > 0; --k) fraction = z + k / 2 / fraction;
    return Math.sign(x) * (1 - Math.exp(-z * z) / (Math.sqrt(Math.PI) * fraction));
  }
  let term = z;
  let sum = z;
  for (let n = 1; n < 80; ++n) {
    term *= (-z * z) / n;
    sum += term / (2 * n + 1);
  }
  return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
}

function layerNorm(x, { scale, bias }) {
  const size = scale.length;
  const z = Float64Array.from(x);
  for (let at = 0; at < z.length; at += size) {
    const row = z.subarray(at, at + size);
    const mean = row.reduce((a, b) => a + b) / size;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / size;
    row.forEach((value, i) => (row[i] = ((value - mean) / Math.sqrt(variance + 1e-12)) * scale[i] + bias[i]));
  }
  return z;
}

function attention(query, key, value, { tokens, hidden, heads }) {
  const size = hidden / heads;
  const z = new Float64Array(tokens * hidden);
  const element = (x, token, head, i) => x[token * hidden + head * size + i];
  for (let head = 0; head < heads; ++head) {
    for (let token = 0; token < tokens; ++token) {
      const scores = Float64Array.from({ length: tokens }, (_, other) => {
        let sum = 0;
        for (let i = 0; i < size; ++i) sum += element(query, token, head, i) * element(key, other, head, i);
        return sum / Math.sqrt(size);
      });
      softmax(scores, tokens).forEach((share, other) => {
        for (let i = 0; i < size; ++i) z[token * hidden + head * size + i] += share * element(value, other, head, i);
      });
    }
  }
  return z;
}

function bert(model) {
  const { tokens, hidden, ids, vocabulary, positions } = model;
  const sum = (x, y) => x.map((value, i) => value + y[i]);
  const dense = (x, { weights: { shape, values }, bias }) => matMul(x, values, tokens, shape[0], shape[1], bias);
  const words = new Float64Array(tokens * hidden);
  ids.forEach((id, i) => words.set(vocabulary.values.subarray(id * hidden, (id + 1) * hidden), i * hidden));
  let x = layerNorm(sum(words, positions.values), model.norm);
  for (const layer of model.layers) {
    const mixed = attention(dense(x, layer.query), dense(x, layer.key), dense(x, layer.value), model);
    x = layerNorm(sum(dense(mixed, layer.output), x), layer.norm);
    const up = dense(x, layer.up).map((value) => 0.5 * value * (1 + erf(value * Math.SQRT1_2)));
    x = layerNorm(sum(dense(up, layer.down), x), layer.lastNorm);
  }
  return x;
}

const dependentSum = ({ x, y, length }) => result(Float64Array.from(x.values, (value, i) => value + length * y.values[i]));

const tenOps = ({ x, y }) => result(Float64Array.from(x.values, (a, i) => {
  const b = y.values[i];
  return Math.max(0, b - Math.abs(Math.max(((a + b) * b + b) * a - b, a)));
}));

export const REFERENCE = {
  add: ({ x, y }) => dependentSum({ x, y, length: 1 }),
  addLarge: ({ x, y }) => dependentSum({ x, y, length: 1 }),
  chain: dependentSum,
  issue: dependentSum,
  mixed: tenOps,
  matMul: ({ x, y }) => result(matMul(x.values, y.values, x.shape[0], x.shape[1], y.shape[1])),
  conv2d: ({ x, filter }) => result(convolution(x, filter, 1, false).values),
  depthwise: ({ x, filter }) => result(convolution(x, filter, 1, true).values),
  softmax: ({ x }) => result(softmax(x.values, x.shape.at(-1))),
  sum: ({ x }) => result([x.values.reduce((a, b) => a + b, 0)]),
  mobileNet: (model) => result(mobileNet(model)),
  bert: (model) => result(bert(model)),
};
