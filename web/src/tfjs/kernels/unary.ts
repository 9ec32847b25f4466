// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels of one input, element by element.

import type { TensorInfo } from '@tensorflow/tfjs-core';
import * as td from 'tandem-rt';
import type { Tensor } from 'tandem-rt';

import { ofTandem, toTandem } from '../dtypes.js';
import { kernel } from '../kernel.js';
import type { DataType, Kernel } from '../kernel.js';

interface X {
  x: TensorInfo;
}

/** Of floats; integers become floats. */
function floats(kernelName: string, fn: (x: Tensor) => Tensor): Kernel {
  return kernel<X>(kernelName, (call) => {
    const { x } = call.inputs;
    return call.like(fn(call.floats(x)), x, x.dtype === 'complex64' ? x.dtype : 'float32');
  });
}

/** Whether floats are such ones; integers become floats. */
function questions(kernelName: string, fn: (x: Tensor) => Tensor): Kernel {
  return kernel<X>(kernelName, (call) => call.like(fn(call.floats(call.inputs.x)), call.inputs.x, 'bool'));
}

/** Of numbers, whose dtype the result has. */
function numbers(kernelName: string, fn: (x: Tensor) => Tensor): Kernel {
  return kernel<X>(kernelName, (call) => {
    const { x } = call.inputs;
    return call.like(fn(call.numbers(x)), x, x.dtype === 'bool' ? 'int32' : x.dtype);
  });
}

/** Of floats; integers are what they would become. */
function rounding(kernelName: string, fn: (x: Tensor) => Tensor): Kernel {
  return kernel<X>(kernelName, (call) => {
    const { x } = call.inputs;
    return x.dtype === 'float32' ? call.like(fn(call.tensor(x)), x) : call.reshaped(x, x.shape);
  });
}

export const Abs = /* @__PURE__ */ numbers('Abs', td.abs);
export const Acos = /* @__PURE__ */ floats('Acos', td.acos);
export const Acosh = /* @__PURE__ */ floats('Acosh', td.acosh);
export const Asin = /* @__PURE__ */ floats('Asin', td.asin);
export const Asinh = /* @__PURE__ */ floats('Asinh', td.asinh);
export const Atan = /* @__PURE__ */ floats('Atan', td.atan);
export const Atanh = /* @__PURE__ */ floats('Atanh', td.atanh);
export const Ceil = /* @__PURE__ */ rounding('Ceil', td.ceil);
export const Cos = /* @__PURE__ */ floats('Cos', td.cos);
export const Cosh = /* @__PURE__ */ floats('Cosh', td.cosh);
export const Elu = /* @__PURE__ */ floats('Elu', td.elu);
export const Erf = /* @__PURE__ */ floats('Erf', td.erf);
export const Exp = /* @__PURE__ */ floats('Exp', td.exp);
export const Expm1 = /* @__PURE__ */ floats('Expm1', td.expm1);
export const Floor = /* @__PURE__ */ rounding('Floor', td.floor);
export const IsFinite = /* @__PURE__ */ questions('IsFinite', td.isFinite);
export const IsInf = /* @__PURE__ */ questions('IsInf', td.isInf);
export const IsNan = /* @__PURE__ */ questions('IsNan', td.isNan);
export const Log = /* @__PURE__ */ floats('Log', td.log);
export const Log1p = /* @__PURE__ */ floats('Log1p', td.log1p);
export const Neg = /* @__PURE__ */ numbers('Neg', td.neg);
export const Reciprocal = /* @__PURE__ */ floats('Reciprocal', td.reciprocal);
export const Relu = /* @__PURE__ */ numbers('Relu', td.relu);
export const Relu6 = /* @__PURE__ */ numbers('Relu6', td.relu6);
export const Round = /* @__PURE__ */ rounding('Round', td.round);
export const Rsqrt = /* @__PURE__ */ floats('Rsqrt', td.rsqrt);
export const Selu = /* @__PURE__ */ floats('Selu', td.selu);
export const Sigmoid = /* @__PURE__ */ floats('Sigmoid', td.sigmoid);
/** NaN has the sign 0. */
export const Sign = /* @__PURE__ */ kernel<X>('Sign', (call) => {
  const x = call.numbers(call.inputs.x);
  if (x.dtype !== 'f32') return td.sign(x);
  return td.select(call.passing(td.equal(x, x)), call.passing(td.sign(x)), 0);
});
export const Sin = /* @__PURE__ */ floats('Sin', td.sin);
export const Sinh = /* @__PURE__ */ floats('Sinh', td.sinh);
export const Softplus = /* @__PURE__ */ floats('Softplus', td.softplus);
export const Sqrt = /* @__PURE__ */ floats('Sqrt', td.sqrt);
export const Square = /* @__PURE__ */ numbers('Square', td.square);
export const Tan = /* @__PURE__ */ floats('Tan', td.tan);
export const Tanh = /* @__PURE__ */ floats('Tanh', td.tanh);

export const LogicalNot = /* @__PURE__ */ kernel<X>('LogicalNot',
  (call) => td.logicalNot(call.as(call.inputs.x, 'bool')));

export const LeakyRelu = /* @__PURE__ */ kernel<X, { alpha: number }>('LeakyRelu',
  (call) => td.leakyRelu(call.floats(call.inputs.x), { alpha: call.attrs.alpha }));

/** 1 above 0, NaN for NaN, else alpha. */
export const Step = /* @__PURE__ */ kernel<X, { alpha: number }>('Step', (call) => {
  const { alpha } = call.attrs;
  const x = call.numbers(call.inputs.x);
  const sign = call.passing(td.sign(x));
  if (alpha === 0) return td.relu(sign);
  if (x.dtype === 'i32') return td.select(call.passing(td.greater(x, 0)), sign, Math.trunc(alpha));
  const isAbove = call.passing(td.greater(x, 0));
  const isNan = call.passing(td.isNan(x));
  const rest = call.passing(td.select(isNan, x, alpha));
  return td.select(isAbove, sign, rest);
});

export const ClipByValue = /* @__PURE__ */ kernel<X, { clipValueMin: number; clipValueMax: number }>(
  'ClipByValue', (call) => {
    const { clipValueMax, clipValueMin } = call.attrs;
    const x = call.numbers(call.inputs.x);
    if (x.dtype === 'f32') return td.clipByValue(x, Math.fround(clipValueMin), Math.fround(clipValueMax));
    const integer = (value: number): number => Math.min(Math.max(Math.trunc(value), -(2 ** 31)), 2 ** 31 - 1);
    return td.clipByValue(x, integer(clipValueMin), integer(clipValueMax));
  });

export const Cast = /* @__PURE__ */ kernel<X, { dtype: DataType }>('Cast', (call) => {
  const { attrs: { dtype }, inputs: { x } } = call;
  if (dtype === x.dtype) return call.reshaped(x, x.shape);
  if (dtype === 'string' || x.dtype === 'string') {
    throw new td.TandemError('InvalidArgument', `Error in Cast: failed to cast ${x.dtype} to ${dtype}`);
  }
  return td.cast(call.tensor(x), toTandem(dtype));
});

export const Identity = /* @__PURE__ */ kernel<X>('Identity',
  (call) => call.reshaped(call.inputs.x, call.inputs.x.shape));

function checkNoStrings(kernelName: string, { dtype }: TensorInfo): void {
  if (dtype === 'string') {
    throw new td.TandemError('InvalidArgument', `${kernelName} is not supported for string dtype`);
  }
}

export const OnesLike = /* @__PURE__ */ kernel<X>('OnesLike', (call) => {
  const { x } = call.inputs;
  checkNoStrings('onesLike', x);
  return call.runtime.ones(x.shape, toTandem(x.dtype));
});

export const ZerosLike = /* @__PURE__ */ kernel<X>('ZerosLike', (call) => {
  const { x } = call.inputs;
  checkNoStrings('zerosLike', x);
  return call.runtime.zeros(x.shape, toTandem(x.dtype));
});

// Complex numbers.

export const Complex = /* @__PURE__ */ kernel<{ real: TensorInfo; imag: TensorInfo }>('Complex',
  (call) => td.complex(call.floats(call.inputs.real), call.floats(call.inputs.imag)));

interface Input {
  input: TensorInfo;
}

export const Real = /* @__PURE__ */ kernel<Input>('Real', (call) => {
  const { input } = call.inputs;
  if (ofTandem(call.tensor(input).dtype) !== 'complex64') return call.reshaped(input, input.shape);
  return td.real(call.tensor(input));
});
export const Imag = /* @__PURE__ */ kernel<Input>('Imag',
  (call) => td.imag(call.as(call.inputs.input, 'c64')));
export const ComplexAbs = /* @__PURE__ */ kernel<X>('ComplexAbs',
  (call) => td.complexAbs(call.as(call.inputs.x, 'c64')));
export const FFT = /* @__PURE__ */ kernel<Input>('FFT',
  (call) => td.fFT(call.as(call.inputs.input, 'c64')));
export const IFFT = /* @__PURE__ */ kernel<Input>('IFFT',
  (call) => td.iFFT(call.as(call.inputs.input, 'c64')));
