// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element types and values, as TensorFlow.js has them and as the runtime does.

import type { DataType } from '@tensorflow/tfjs-core';
import { TandemError } from 'tandem-rt';
import type { DType, Runtime, Tensor, TypedArray } from 'tandem-rt';

/** The elements of a tensor of TensorFlow.js: complex numbers as pairs, strings as bytes. */
export type Values = Float32Array | Int32Array | Uint8Array | Uint8Array[];

const TO_TANDEM: Readonly<Record<string, DType>> = {
  float32: 'f32', int32: 'i32', bool: 'bool', complex64: 'c64', string: 'string',
};
const OF_TANDEM: Readonly<Partial<Record<DType, DataType>>> = {
  f32: 'float32', i32: 'int32', bool: 'bool', c64: 'complex64', string: 'string',
};

/** The runtime's name of an element type of TensorFlow.js. */
export function toTandem(dtype: DataType): DType {
  const own = TO_TANDEM[dtype];
  if (own === undefined) {
    throw new TandemError('InvalidArgument',
      `expected float32, int32, bool, complex64 or string as dtype, got ${String(dtype)}`);
  }
  return own;
}

/** The name in TensorFlow.js of an element type of the runtime. */
export function ofTandem(dtype: DType): DataType {
  const own = OF_TANDEM[dtype];
  if (own === undefined) {
    throw new TandemError('InvalidArgument',
      `expected a tensor of f32, i32, bool, c64 or string, which TensorFlow.js has, got ${dtype}; cast it`);
  }
  return own;
}

// Whether a typed array has lost its elements.
function isDetached(values: Values): boolean {
  if (values.length > 0 || !('buffer' in values)) return false;
  try {
    return new Uint8Array(values.buffer).length < 0;
  } catch {
    return true;
  }
}

/** The elements that a program gave, which must be there still. */
export function present(values: Values): Values {
  if (!isDetached(values)) return values;
  throw new TandemError('InvalidArgument', 'expected elements of a tensor, got a typed array whose buffer is detached, ' +
    'such as one that was transferred to a worker; give TensorFlow.js a copy, or transfer that');
}

/** A tensor of a runtime with a copy of these elements. */
export function newTensor(runtime: Runtime, values: Values, shape: readonly number[], dtype: DataType): Tensor {
  const own = toTandem(dtype);
  present(values);
  if (own === 'string') {
    // A buffer of TensorFlow.js has nothing where nothing was set.
    const bytes = Array.from(values as Uint8Array[], (each) => each ?? new Uint8Array(0));
    return runtime.tensor(bytes, { shape, dtype: own });
  }
  const allocation = runtime.alloc(shape, own);
  try {
    fillElements(allocation.view(), values as TypedArray, dtype);
  } catch (error) {
    allocation.dispose();
    throw error;
  }
  return allocation.tensor();
}

// How many there are is for TensorFlow.js to check, which lets some programs by with too few or too many.
function fillElements(to: TypedArray, values: TypedArray, dtype: DataType): void {
  const own = values.length > to.length ? values.subarray(0, to.length) : values;
  (to as Float32Array).set(own as Float32Array);
  if (own.length < to.length) (to as Float32Array).fill(dtype === 'int32' || dtype === 'bool' ? 0 : NaN, own.length);
  // Any byte is true.
  if (dtype === 'bool') to.forEach((value, i) => value > 1 && (to[i] = 1));
}
