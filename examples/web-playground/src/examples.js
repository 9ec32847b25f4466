// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs to begin with.

/** @type {readonly { name: string, code: string }[]} */
export const EXAMPLES = [
  {
    name: 'First steps',
    code: `// Every function of tandem-rt is here, and rt, the runtime.
const x = rt.tensor([[1, 2], [3, 4]]);
const y = matMul(x, x, { transposeB: true });
show(y, 'x times its transpose');
show(softmax(y));

// Methods, as in TensorFlow.js
show(x.mul(2).sub(1).relu(), 'relu(2 x - 1)');
`,
  },
  {
    name: 'Pictures: blur and edges',
    code: `// A picture of stripes and a disc, then filters of it.
const size = 128;
const i = reshape(range(rt, 0, size, 1), [size, 1]).cast('f32');
const j = reshape(i, [1, size]);
const stripes = sin(add(mul(i, 0.35), mul(j, 0.2)));
const inside = less(add(square(sub(i, 64)), square(sub(j, 64))), 1600);
const picture = select(inside, mul(stripes, -1), stripes);
show(picture, 'the picture');

const image = reshape(picture, [1, size, size, 1]);
const blur = fill(rt, [9, 9, 1, 1], 1 / 81);
show(squeeze(conv2d(image, blur, 1, 'same')), 'blurred');

const laplace = rt.tensor([0, 1, 0, 1, -4, 1, 0, 1, 0], [3, 3, 1, 1]);
show(abs(squeeze(conv2d(image, laplace, 1, 'same'))), 'edges');
`,
  },
  {
    name: 'Mandelbrot set',
    code: `const [height, width, steps] = [180, 240, 40];
const re = reshape(linSpace(rt, -2.2, 0.8, width), [1, width]);
const im = reshape(linSpace(rt, -1.15, 1.15, height), [height, 1]);
let zr = zerosLike(add(re, im));
let zi = zr;
let count = zr;
for (let step = 0; step < steps; ++step) {
  const a = square(zr);
  const b = square(zi);
  const inside = lessEqual(add(a, b), 4);
  count = add(count, cast(inside, 'f32'));
  // What has left stays where it is, so that nothing overflows.
  const next = add(sub(a, b), re);
  zi = select(inside, add(mul(mul(zr, zi), 2), im), zi);
  zr = select(inside, next, zr);
}
show(log(add(count, 1)), 'steps until it leaves');
`,
  },
  {
    name: 'Fit a line',
    code: `// Gradient descent by hand: y = 2 x + 1, and noise.
const x = rt.tensor(Array.from({ length: 64 }, (_, i) => i / 32 - 1));
const noise = mul(statelessRandomNormal(rt, [64], [1, 2]), 0.1);
const y = add(add(mul(x, 2), 1), noise);
let slope = rt.scalar(0);
let offset = rt.scalar(0);
for (let step = 0; step < 100; ++step) {
  const error = sub(add(mul(x, slope), offset), y);
  slope = sub(slope, mul(mean(mul(error, x)), 0.4));
  offset = sub(offset, mul(mean(error), 0.4));
}
show(slope, 'slope, nearly 2');
show(offset, 'offset, nearly 1');
console.log('loss', await mean(square(sub(add(mul(x, slope), offset), y))).item());
`,
  },
  {
    name: 'An error, and its line',
    code: `const a = rt.ones([2, 3]);
const b = rt.ones([2, 3]);
show(add(a, b));
show(matMul(a, b));      // the inner dimensions differ
`,
  },
];
