// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

/// <reference lib="esnext.disposable" preserve="true" />

// Memory of an engine that the user fills in place before it becomes a tensor.

import type { DType, TypedArray } from './dtypes.js';
import { Ref } from './engine.js';
import { attributed, errorIn } from './errors.js';
import { numElements } from './nested.js';
import type { Runtime } from './runtime.js';
import { newTensor } from './tensor.js';
import type { Tensor } from './tensor.js';

/** The memory of a tensor that is yet to be; made by `runtime.alloc`. What is in it at first is arbitrary. */
export class Allocation {
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** @internal */
  readonly ref: Ref;
  private readonly place: number;

  /** @internal */
  constructor(private readonly runtime: Runtime, shape: readonly number[], dtype: DType) {
    if (dtype === 'string') {
      throw errorIn('alloc', 'InvalidArgument', 'expected a dtype of numbers, got string; use tensor()');
    }
    this.shape = Object.freeze([...shape]);
    this.dtype = dtype;
    const { engine } = runtime;
    if (engine.closed !== undefined) throw engine.whyClosed();
    const { pointer, place } = engine.allocate(dtype, shape);
    this.ref = new Ref(pointer);
    this.place = place;
    engine.watch(this);
  }

  /**
   * The elements, row-major, to be written. Ask for it again after any call of anything of the runtime: these may move
   * the memory, and the array is empty then.
   *
   * @throws TandemError FailedPrecondition once it is a tensor, or disposed of.
   */
  view<A extends TypedArray = TypedArray>(): A {
    return attributed(this.view, () => {
      this.checkUnused();
      return this.runtime.engine.elements(this.dtype, this.place, numElements(this.shape)) as A;
    });
  }

  /** The tensor of these elements. Once only: the memory is the tensor's from then on. */
  tensor(): Tensor {
    return attributed(this.tensor, () => {
      this.checkUnused();
      const { runtime, runtime: { engine }, ref: { pointer } } = this;
      this.ref.pointer = 0;
      return newTensor(runtime, engine, engine.place(pointer));
    });
  }

  /** Frees the memory, unless it is a tensor's. */
  dispose(): void {
    this.runtime.engine.release(this.ref);
  }

  /** As `dispose`, for `using`. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  private checkUnused(): void {
    const { engine } = this.runtime;
    if (engine.closed !== undefined) throw engine.whyClosed();
    if (this.ref.pointer === 0) {
      throw errorIn('alloc', 'FailedPrecondition',
        'expected an allocation that is neither a tensor yet nor disposed of, got one that is');
    }
  }
}
