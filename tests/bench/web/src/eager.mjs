// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Scenarios with a library that has eager ops, whose tensors have dispose() and data(). `of` makes a tensor of
// { shape, values }; `make` makes a scenario of a call and the tensors that it is given.

const disposer = (inputs) => () => inputs.forEach((input) => input.dispose());

/** Calls whose result is thrown away at once, in a row. */
export function calls(call, inputs) {
  return {
    run(count) {
      for (let i = 0; i < count; ++i) call().dispose();
    },
    output: () => call().data(),
    close: disposer(inputs),
  };
}

/** Calls whose result is waited for by `ready`, one after the other. */
export function awaited(ready, call, inputs) {
  return {
    async run(count) {
      for (let i = 0; i < count; ++i) {
        const result = call();
        await ready(result);
        result.dispose();
      }
    },
    output: () => call().data(),
    close: disposer(inputs),
  };
}

// The next task of an event loop, by when the one before has handed to the device what it called.
const nextTask = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    resolve();
  };
  port2.postMessage(0);
});

/**
 * Calls of which the last one's result is read: a device computes them in their order. Each is a task by itself, whose
 * result is held until the next, since what nobody has need not be computed.
 */
export function readLast(call, inputs) {
  const read = async () => {
    const result = call();
    const values = await result.data();
    result.dispose();
    return values;
  };
  return {
    async run(count) {
      for (let i = 1; i < count; ++i) {
        const result = call();
        await nextTask();
        result.dispose();
      }
      await read();
    },
    output: read,
    close: disposer(inputs),
  };
}

export const unary = (of, make, call) => ({ x }) => {
  const a = of(x);
  return make(() => call(a), [a]);
};

export const binary = (of, make, call) => ({ x, y }) => {
  const [a, b] = [of(x), of(y)];
  return make(() => call(a, b), [a, b]);
};

export const filtered = (of, make, call) => ({ x, filter }) => binary(of, make, call)({ x, y: filter });

/** `length` dependent additions, x + y + y + ..., for `add(sum, b)` after `add(a, b)`. */
export function dependentSum(add, a, b, length) {
  let sum = add(a, b);
  for (let i = 1; i < length; ++i) {
    const next = add(sum, b);
    sum.dispose();
    sum = next;
  }
  return sum;
}

/** Ten cheap element-wise ops, each of the one before, by functions that all libraries have. */
export function tenOps({ add, mul, sub, maximum, abs, neg, relu }, x, y) {
  let z = add(mul(add(x, y), y), y);
  z = neg(abs(maximum(sub(mul(z, x), y), x)));
  return relu(add(z, y));
}

/** The same additions in a scope, which frees what they leave. */
export const scopeChain = (of, add, scope) => ({ x, y, length }) => {
  const [a, b] = [of(x), of(y)];
  const sumUp = () => {
    let sum = add(a, b);
    for (let i = 1; i < length; ++i) sum = add(sum, b);
    return sum;
  };
  return calls(() => scope(sumUp), [a, b]);
};

/** `length` dependent additions, whose result is read. */
export const chain = (of, add) => ({ x, y, length }) => {
  const [a, b] = [of(x), of(y)];
  return awaited((sum) => sum.data(), () => dependentSum(add, a, b, length), [a, b]);
};

/**
 * What it costs a program to call an addition, without what the device does: `run(count)` is so many dependent calls,
 * and what they are waiting for happens in `settle`, which is not timed.
 */
export const issue = (of, add) => ({ x, y, length }) => {
  const [a, b] = [of(x), of(y)];
  let last;
  const settle = async () => {
    const values = await last.data();
    last.dispose();
    return values;
  };
  return {
    run(count) {
      last = dependentSum(add, a, b, count);
    },
    settle,
    output() {
      last = dependentSum(add, a, b, length);
      return settle();
    },
    close: disposer([a, b]),
  };
};
