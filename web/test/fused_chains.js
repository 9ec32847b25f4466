// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Chains of calls as users write them: what is in between is gone when they are computed.

import { add, cast, exp, greater, maximum, mul, neg, relu, sigmoid, sub, where } from 'tandem-rt';

export const chains = {
  'arithmetic': (x, y) => neg(maximum(sub(mul(add(x, y), 0.5), y), x)),
  'functions': (x, y) => sigmoid(add(exp(mul(x, 0.01)), relu(y))),
  'rows and columns': (x, y, row, column) => add(mul(add(x, row), column), y),
  'conditions': (x, y) => where(greater(mul(x, 2), y), add(x, 1), neg(y)),
  'integers': (x, y) => cast(mul(cast(maximum(x, y), 'i32'), 3), 'f32'),
};

const ramp = (size, step) => Float32Array.from({ length: size }, (_, i) => ((i * 37) % 1009 - 500) * step);

/** What a chain takes: two matrices, a row and a column. */
export const inputsOf = (rt, rows, columns) => [
  rt.tensor(ramp(rows * columns, 0.01), { shape: [rows, columns] }),
  rt.tensor(ramp(rows * columns, -0.003), { shape: [rows, columns] }),
  rt.tensor(ramp(columns, 0.5), { shape: [1, columns] }),
  rt.tensor(ramp(rows, 0.25), { shape: [rows, 1] }),
];
