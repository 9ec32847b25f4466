// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a kernel of TensorFlow.js is here: a function of a call, which knows its inputs as tensors of the runtime.

import type { DataType, KernelConfig, NamedAttrMap, NamedTensorInfoMap, TensorInfo } from '@tensorflow/tfjs-core';
import { cast, TandemError } from 'tandem-rt';
import type { DType, Runtime, Tensor } from 'tandem-rt';

import type { TandemBackend } from './backend.js';
import { toTandem } from './dtypes.js';
import { failureOf } from './failures.js';
import type { InputMap } from './failures.js';

/** A kernel that `registerKernels` makes known to TensorFlow.js. */
export interface Kernel {
  /** The name that TensorFlow.js has for it. */
  readonly kernelName: string;
  /** @internal */
  readonly kernelFunc: KernelConfig['kernelFunc'];
}

/** What a kernel gives for each of its outputs; a tensor becomes the backend's. */
type Result = Tensor | TensorInfo;

const isInfo = (result: Result): result is TensorInfo => 'dataId' in result;

/** One call of a kernel: inputs and attributes as TensorFlow.js has them, and what computing with them takes. */
export class Call<Inputs = NamedTensorInfoMap, Attrs = NamedAttrMap> {
  private temporary: Tensor[] | undefined;

  constructor(
    readonly backend: TandemBackend, readonly inputs: Inputs, readonly attrs: Attrs, private readonly onHost: boolean,
  ) {}

  /** Where the call's ops run. */
  get runtime(): Runtime {
    return this.onHost ? this.backend.host : this.backend.runtime;
  }

  /** An input as a tensor of the runtime, which belongs to the backend; with another shape, if one is given. */
  tensor(info: TensorInfo, shape?: readonly number[]): Tensor {
    return this.onHost ? this.backend.hostTensorOf(info, shape) : this.backend.tensorOf(info, shape);
  }

  /** A result whose shape and dtype are known, so that it is not asked for them. */
  known(tensor: Tensor, shape: readonly number[], dtype: DataType, own = shape): TensorInfo {
    return this.backend.adoptKnown(tensor, [...shape], dtype, own);
  }

  /** A result of the shape of an input and, by default, the dtype. */
  like(tensor: Tensor, { dtype: its, shape }: TensorInfo, dtype = its): TensorInfo {
    return this.known(tensor, shape, dtype);
  }

  /** A result that TensorFlow.js sees with another shape. */
  shaped(tensor: Tensor, shape: readonly number[]): TensorInfo {
    return this.backend.adopt(tensor, [...shape]);
  }

  /** An input, cast to a dtype; with another shape, if one is given. */
  as(info: TensorInfo, dtype: DType, shape?: readonly number[]): Tensor {
    const tensor = this.tensor(info, shape);
    return toTandem(info.dtype) === dtype ? tensor : this.passing(cast(tensor, dtype));
  }

  /** An input as floats: integers and booleans are cast to f32. */
  floats(info: TensorInfo): Tensor {
    return info.dtype === 'float32' || info.dtype === 'complex64' ? this.tensor(info) : this.as(info, 'f32');
  }

  /** An input as numbers: booleans are cast to i32. */
  numbers(info: TensorInfo): Tensor {
    return info.dtype === 'bool' ? this.as(info, 'i32') : this.tensor(info);
  }

  /** A tensor that is needed until the call has ended. */
  passing(tensor: Tensor): Tensor {
    (this.temporary ??= []).push(tensor);
    return tensor;
  }

  /** An input with another shape. */
  reshaped(info: TensorInfo, shape: readonly number[]): TensorInfo {
    return this.backend.share(info, [...shape]);
  }

  /** The elements of an input, at once. */
  values<T extends ArrayLike<number> = ArrayLike<number>>(info: TensorInfo): T {
    return this.backend.readSync(info.dataId) as unknown as T;
  }

  /** @internal */
  give(result: Result): TensorInfo {
    return isInfo(result) ? result : this.backend.adopt(result);
  }

  /** @internal */
  end(): void {
    this.temporary?.forEach((tensor) => tensor.dispose());
    this.backend.endCall();
  }
}

/** How a kernel is computed. */
interface KernelOptions {
  /** Whether its result depends on elements so that they must be known at once: its shape, say. */
  readonly onHost?: boolean;
}

/** A kernel that `run` computes. Types of inputs and attributes are what TensorFlow.js promises to call it with. */
export function kernel<Inputs = NamedTensorInfoMap, Attrs = NamedAttrMap>(
  kernelName: string, run: (call: Call<Inputs, Attrs>) => Result | Result[], { onHost = false }: KernelOptions = {},
): Kernel {
  return {
    kernelName,
    kernelFunc({ attrs, backend, inputs }) {
      const call = new Call<Inputs, Attrs>(
        backend as TandemBackend, inputs as unknown as Inputs, (attrs ?? {}) as unknown as Attrs,
        onHost || hasStrings(inputs as unknown as InputMap));
      try {
        const result = run(call);
        return Array.isArray(result) ? result.map((each) => call.give(each)) : call.give(result);
      } catch (error) {
        throw failureOf(kernelName, inputs as unknown as InputMap, attrs ?? {}, error);
      } finally {
        call.end();
      }
    },
  };
}

// Strings are always on the host.
function hasStrings(inputs: InputMap): boolean {
  for (const name in inputs) {
    const input = inputs[name] as TensorInfo | undefined;
    if (input?.dtype === 'string') return true;
  }
  return false;
}

/**
 * What `compute` gives, if it does not fail at once. If it does, `explain` may throw first, in TensorFlow.js's words.
 */
export function explained<Given extends Tensor | Tensor[]>(compute: () => Given, explain: () => void): Given {
  try {
    const given = compute();
    for (const tensor of [given].flat()) if (tensor.state === 'error') tensor.readySync();
    return given;
  } catch (error) {
    if (!(error instanceof TandemError) || error.code !== 'NotFound') explain();
    throw error;
  }
}

/** The number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

export type { DataType, TensorInfo };
