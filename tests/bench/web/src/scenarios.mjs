// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What is measured: the scenarios, each with the data that all libraries get.

import { randomSource } from './data.mjs';
import { bertTiny, mobileNetV2 } from './models.mjs';

const random = randomSource(4);
const tensor = (...shape) => ({ shape, values: random(shape.reduce((a, b) => a * b, 1)) });

const overhead = [1, 16, 1024].map((size) => ({
  id: `add${size}`,
  kind: 'add',
  title: `add, ${size} elements, dispose`,
  data: () => ({ x: tensor(size), y: tensor(size) }),
}));

const byName = [
  {
    id: 'add1ByName',
    kind: 'addByName',
    title: 'add, 1 element, by name',
    data: () => ({ x: tensor(1), y: tensor(1) }),
  },
  {
    id: 'matMul2',
    kind: 'matMul2',
    title: 'matMul 2x2, transposeB, dispose',
    data: () => ({ x: tensor(2, 2), y: tensor(2, 2) }),
  },
  {
    id: 'scopeChain',
    kind: 'scopeChain',
    title: '100 adds of 16 in a scope, per add',
    data: () => ({ x: tensor(16), y: tensor(16), length: 100 }),
    divisor: 100,
  },
  {
    id: 'chain100',
    kind: 'chain',
    title: '100 dependent adds of 16, read',
    data: () => ({ x: tensor(16), y: tensor(16), length: 100 }),
  },
];

const matMuls = [128, 256, 512, 1024].map((size) => ({
  id: `matMul${size}`,
  kind: 'matMul',
  title: `matMul ${size}x${size}`,
  data: () => ({ x: tensor(size, size), y: tensor(size, size) }),
}));

const kernels = [
  {
    id: 'matMulDense',
    kind: 'matMul',
    title: 'matMul 64x784x256',
    data: () => ({ x: tensor(64, 784), y: tensor(784, 256) }),
  },
  {
    id: 'gemv',
    kind: 'gemv',
    title: 'vector of 2048 times a matrix, a constant',
    data: () => ({ x: tensor(1, 2048), y: tensor(2048, 2048) }),
  },
  {
    id: 'conv2d',
    kind: 'conv2d',
    title: 'conv2d 3x3, 56x56x64 to 64',
    data: () => ({ x: tensor(1, 56, 56, 64), filter: tensor(3, 3, 64, 64) }),
  },
  {
    id: 'conv14',
    kind: 'conv2d',
    title: 'conv2d 3x3, 14x14x256 to 256',
    data: () => ({ x: tensor(1, 14, 14, 256), filter: tensor(3, 3, 256, 256) }),
  },
  {
    id: 'firstConv',
    kind: 'firstConv',
    title: 'conv2d 3x3 stride 2, 224x224x3 to 32',
    data: () => ({ x: tensor(1, 224, 224, 3), filter: tensor(3, 3, 3, 32) }),
  },
  {
    id: 'depthwise',
    kind: 'depthwise',
    title: 'depthwise 3x3, 112x112x32',
    data: () => ({ x: tensor(1, 112, 112, 32), filter: tensor(3, 3, 32, 1) }),
  },
  {
    id: 'maxPool',
    kind: 'maxPool',
    title: 'maxPool 3x3 stride 2, 112x112x64',
    data: () => ({ x: tensor(1, 112, 112, 64) }),
  },
  {
    id: 'maxPool2',
    kind: 'maxPool2',
    title: 'maxPool 2x2 stride 2, 112x112x64',
    data: () => ({ x: tensor(1, 112, 112, 64) }),
  },
  {
    id: 'avgPool',
    kind: 'avgPool',
    title: 'avgPool 3x3 stride 2, 112x112x64',
    data: () => ({ x: tensor(1, 112, 112, 64) }),
  },
  { id: 'softmax', kind: 'softmax', title: 'softmax 1000x1000', data: () => ({ x: tensor(1000, 1000) }) },
  { id: 'softmax128', kind: 'softmax', title: 'softmax 128x128', data: () => ({ x: tensor(128, 128) }) },
  {
    id: 'transpose',
    kind: 'transpose',
    title: 'transpose 0213, 8x128x12x64',
    data: () => ({ x: tensor(8, 128, 12, 64) }),
  },
  { id: 'relu1M', kind: 'relu', title: 'relu of 1 M', data: () => ({ x: tensor(1 << 20) }) },
  { id: 'sigmoid1M', kind: 'sigmoid', title: 'sigmoid of 1 M', data: () => ({ x: tensor(1 << 20) }) },
  { id: 'sum', kind: 'sum', title: 'sum of 1 M', data: () => ({ x: tensor(1 << 20) }) },
  { id: 'mixed1M', kind: 'mixed', title: 'ten ops on 1 M', data: () => ({ x: tensor(1 << 20), y: tensor(1 << 20) }) },
  { id: 'add1M', kind: 'addLarge', title: 'add of 1 M', data: () => ({ x: tensor(1 << 20), y: tensor(1 << 20) }) },
];

const models = [
  { id: 'mobileNetV2', kind: 'mobileNet', title: 'MobileNetV2, image to logits', data: mobileNetV2 },
  { id: 'bertTiny', kind: 'bert', title: 'BERT-tiny, 128 tokens', data: bertTiny },
];

/**
 * { id, kind, title, group, data(), calls, divisor }: `kind` names the function of a library's module that makes the
 * scenario; `calls`: so many a round, if not as many as fill it; `divisor`: how many ops a call is, if times are per op.
 */
export const SCENARIOS = [
  ...[...overhead, ...byName].map((scenario) => ({ ...scenario, group: 'calls' })),
  ...[...matMuls, ...kernels].map((scenario) => ({ ...scenario, group: 'kernels' })),
  ...models.map((scenario) => ({ ...scenario, group: 'models' })),
];

// Calls that wait for nothing, several thousands, and dispatches that wait for each other.
const dispatches = [
  ...[16, 1024].map((size) => ({
    id: `issue${size}`,
    kind: 'issue',
    title: `issue of an add, ${size} elements`,
    data: () => ({ x: tensor(size), y: tensor(size), length: 100 }),
    calls: 3000,
  })),
  ...[16, 1024].map((size) => ({
    id: `batch${size}`,
    kind: 'chain',
    title: `1,000 dependent adds of ${size}, read, per add`,
    data: () => ({ x: tensor(size), y: tensor(size), length: 1000 }),
    calls: 1,
    divisor: 1000,
  })),
];

const ON_GPU = ['matMul256', 'matMul512', 'matMul1024', 'conv2d', 'depthwise', 'softmax', 'sum', 'add1M', 'mixed1M'];

/** What is measured on a GPU. */
export const GPU_SCENARIOS = [
  ...dispatches.map((scenario) => ({ ...scenario, group: 'calls' })),
  ...SCENARIOS.filter(({ id, group }) => ON_GPU.includes(id) || group === 'models'),
];
