// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels of two inputs and more, element by element, which are broadcast to each other.

import { util } from '@tensorflow/tfjs-core';
import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { kernel } from '../kernel.js';
import type { Call, DataType, Kernel } from '../kernel.js';

interface AB {
  a: TensorInfo;
  b: TensorInfo;
}

type Fn = (a: Tensor, b: Tensor) => Tensor;

const asNumber = ({ dtype }: TensorInfo): DataType => (dtype === 'bool' ? 'int32' : dtype);

// One with booleans has what the other has.
function matched(call: Call<AB>, { a, b }: AB): [Tensor, Tensor] {
  if (asNumber(a) === asNumber(b)) return [call.numbers(a), call.numbers(b)];
  const dtype = a.dtype === 'complex64' || b.dtype === 'complex64' ? 'c64' : 'f32';
  return [call.as(a, dtype), call.as(b, dtype)];
}

// A result of this dtype.
function result(call: Call<AB>, tensor: Tensor, dtype: DataType): Tensor | TensorInfo {
  const { a, b } = call.inputs;
  return util.arraysEqual(a.shape, b.shape) ? call.like(tensor, a, dtype) : tensor;
}

/** Of numbers, whose dtype the result has. */
function numbers(kernelName: string, fn: Fn): Kernel {
  return kernel<AB>(kernelName, (call) => {
    const { a, b } = call.inputs;
    const computed = fn(...matched(call, call.inputs));
    return asNumber(a) === asNumber(b) ? result(call, computed, asNumber(a)) : computed;
  });
}

/** Of floats; integers become floats. */
function floats(kernelName: string, fn: Fn): Kernel {
  return kernel<AB>(kernelName, (call) => {
    const { a, b } = call.inputs;
    const computed = fn(call.floats(a), call.floats(b));
    return a.dtype === 'complex64' || b.dtype === 'complex64' ? computed : result(call, computed, 'float32');
  });
}

/** Of anything. */
function comparison(kernelName: string, fn: Fn): Kernel {
  return kernel<AB>(kernelName, (call) => {
    const { inputs: { a, b } } = call;
    return a.dtype === b.dtype && a.dtype !== 'bool' ? fn(call.tensor(a), call.tensor(b))
      : fn(...matched(call, call.inputs));
  });
}

/** Of an order: strings are compared by the places they have in it. */
function ordering(kernelName: string, fn: Fn): Kernel {
  return kernel<AB>(kernelName, (call) => {
    const { inputs: { a, b } } = call;
    return a.dtype === 'string' ? fn(...places(call, a, b)) : fn(...matched(call, call.inputs));
  });
}

function places(call: Call<AB>, a: TensorInfo, b: TensorInfo): [Tensor, Tensor] {
  const texts = [a, b].map((each) => call.tensor(each).dataSync<string[]>());
  const sorted = [...new Set(texts.flat())].sort();
  const placeOf = new Map(sorted.map((text, i) => [text, i]));
  const [x, y] = [a, b].map(({ shape }, i) => call.passing(
    call.runtime.tensor(Int32Array.from(texts[i]!, (text) => placeOf.get(text)!), { shape })));
  return [x!, y!];
}

function logical(kernelName: string, fn: Fn): Kernel {
  return kernel<AB>(kernelName, (call) => fn(call.as(call.inputs.a, 'bool'), call.as(call.inputs.b, 'bool')));
}

export const Add = /* @__PURE__ */ numbers('Add', td.add);
export const Atan2 = /* @__PURE__ */ floats('Atan2', td.atan2);
export const Maximum = /* @__PURE__ */ numbers('Maximum', td.maximum);
export const Minimum = /* @__PURE__ */ numbers('Minimum', td.minimum);
export const Mod = /* @__PURE__ */ numbers('Mod', td.floorMod);
export const Multiply = /* @__PURE__ */ numbers('Multiply', td.mul);
export const RealDiv = /* @__PURE__ */ floats('RealDiv', td.realDiv);
export const SquaredDifference = /* @__PURE__ */ numbers('SquaredDifference', td.squaredDifference);
export const Sub = /* @__PURE__ */ numbers('Sub', td.sub);
export const Equal = /* @__PURE__ */ comparison('Equal', td.equal);
export const NotEqual = /* @__PURE__ */ comparison('NotEqual', td.notEqual);
export const Greater = /* @__PURE__ */ ordering('Greater', td.greater);
export const GreaterEqual = /* @__PURE__ */ ordering('GreaterEqual', td.greaterEqual);
export const Less = /* @__PURE__ */ ordering('Less', td.less);
export const LessEqual = /* @__PURE__ */ ordering('LessEqual', td.lessEqual);
export const LogicalAnd = /* @__PURE__ */ logical('LogicalAnd', td.logicalAnd);
export const LogicalOr = /* @__PURE__ */ logical('LogicalOr', td.logicalOr);
export const LogicalXor = /* @__PURE__ */ logical('LogicalXor', td.notEqual);
export const BitwiseAnd = /* @__PURE__ */ kernel<AB>('BitwiseAnd',
  (call) => td.bitwiseAnd(call.as(call.inputs.a, 'i32'), call.as(call.inputs.b, 'i32')));

/** Rounds down to an int32, whatever it divides. */
export const FloorDiv = /* @__PURE__ */ kernel<AB>('FloorDiv', (call) => {
  const [a, b] = matched(call, call.inputs);
  const quotient = td.floorDiv(a, b);
  return a.dtype === 'i32' ? quotient : td.cast(call.passing(quotient), 'i32');
});

/** Integers to the power of negative ones are rounded towards zero. */
export const Pow = /* @__PURE__ */ kernel<AB>('Pow', (call) => {
  const [a, b] = matched(call, call.inputs);
  if (a.dtype !== 'i32') return td.pow(a, b);
  const base = call.passing(td.cast(a, 'f64'));
  const exponent = call.passing(td.cast(b, 'f64'));
  return td.cast(call.passing(td.pow(base, exponent)), 'i32');
});

export const AddN = /* @__PURE__ */ kernel<TensorInfo[]>('AddN', (call) => {
  const list = Object.values(call.inputs);
  if (list.length === 1) return call.reshaped(list[0]!, list[0]!.shape);
  return td.addN(list.map((each) => call.numbers(each)));
});

export const Prelu = /* @__PURE__ */ kernel<{ x: TensorInfo; alpha: TensorInfo }>('Prelu',
  (call) => td.prelu(call.floats(call.inputs.x), call.floats(call.inputs.alpha)));

export const EluGrad = /* @__PURE__ */ kernel<{ dy: TensorInfo; y: TensorInfo }>('EluGrad',
  (call) => td.eluGrad(call.floats(call.inputs.dy), call.floats(call.inputs.y)));

/** A condition of rank 1 chooses rows. */
export const Select = /* @__PURE__ */ kernel<{ condition: TensorInfo; t: TensorInfo; e: TensorInfo }>(
  'Select', (call) => {
    const { condition, e, t } = call.inputs;
    const isOfRows = condition.shape.length === 1 && t.shape.length > 1;
    const chosen = call.as(condition, 'bool',
      isOfRows ? [condition.shape[0]!, ...t.shape.slice(1).map(() => 1)] : condition.shape);
    const first = call.tensor(t);
    const second = call.tensor(e);
    if (first.dtype === second.dtype) return td.select(chosen, first, second);
    return td.select(chosen, ...matched(call as unknown as Call<AB>, { a: t, b: e }));
  });
