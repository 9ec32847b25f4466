// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that a program defines itself, as users see them. What implements them is in the file of programs.

import type { AttrValue } from './attrs.js';
import type { TensorInput } from './call.js';
import type { DType, TypedArray } from './dtypes.js';
import type { TensorLike } from './nested.js';
import type { Tensor } from './tensor.js';

/**
 * The functions of ops by name, for `runtime.op`. A program adds its own:
 *
 *     declare module 'tandem-rt' {
 *       interface OpFunctions { 'my.Scale': (x: TensorInput, attrs?: { factor?: number }) => Tensor }
 *     }
 */
export interface OpFunctions {}

/** The values of attributes by the names of the op's definition. */
export type OpAttributes = Readonly<Record<string, AttrValue>>;

/**
 * Calls an op: an argument for each input of its definition, a list where that is a list of tensors, then attributes in
 * a plain object.
 * Gives a tensor, or a list of them if the definition has other than one output. Throws as `execute` does.
 */
export type OpFunction<Result extends Tensor | Tensor[] = Tensor> =
  (...inputs: (TensorInput | readonly TensorInput[] | OpAttributes)[]) => Result;

/** What is known of a tensor without its elements. */
export interface TensorType {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** An argument of a kernel: a copy of its elements as `tensor.data()` gives them. */
export interface KernelInput extends TensorType {
  readonly data: TypedArray | string[];
}

/** What a kernel is called with. */
export interface KernelCall {
  readonly inputs: readonly KernelInput[];
  /**
   * The attributes that the call gives or that have defaults, under the names of the definition: dtypes by name, shapes
   * as lists, integers beyond 2^53 as bigints. Without tensors.
   */
  readonly attrs: Readonly<Record<string, unknown>>;
  /** What is known of the results: all of it if the op has metadata. */
  readonly outputs: readonly Partial<TensorType>[];
  /** Aborted when nobody wants the results any more; then they are discarded. */
  readonly signal: AbortSignal;
}

/**
 * A result of a kernel: its elements, of a typed array that has the dtype's own form, nested arrays, or these with what
 * they are.
 */
export type KernelResult = TensorLike | TypedArray |
  { readonly data: TensorLike | TypedArray; readonly dtype?: DType; readonly shape?: readonly number[] };

/** Of one output its result, of several a list of them, of none anything. */
export type KernelResults = KernelResult | readonly KernelResult[] | void;

/** The shape of an output by a rule, such as `'x'`, `'broadcast(x, y)'`, `['x[0]', 'n + 1']`; see `OpSpec.metadata`. */
export type ShapeRule = string | readonly (string | number)[];

/** An op as `runtime.registerOp` takes it. Specs are in the grammar of TensorFlow's op definitions. */
export interface OpSpec {
  /** With a namespace: 'my.Scale'. */
  readonly name: string;
  /** 'x: T', 'x: float', 'xs: N * T' */
  readonly inputs?: readonly string[] | undefined;
  /** The same. */
  readonly outputs?: readonly string[] | undefined;
  /** 'T: {float, int32}', 'factor: float = 2.0', 'axis: int' */
  readonly attrs?: readonly string[] | undefined;
  /** The first sentence is a summary. */
  readonly doc?: string | undefined;
  /** Whether its calls happen in order, also those whose results nobody wants. Not for shaders. */
  readonly sideEffects?: boolean | undefined;
  /**
   * What the results are. A list has the shape of each output: that of an input, 'x'; the common one of several,
   * 'broadcast(x, y)'; or its sizes, made of numbers, dimensions (`x[0]`, `x[-1]`), `size(x)`, `rank(x)`, int attributes,
   * + - * / (which rounds down) and parentheses. Dtypes are those of the definition. It is computed at the call, where
   * what is wrong is thrown. A function is for kernels in JavaScript alone, and runs with them: what it throws the
   * results become, and their shapes are not known before. Without either the kernel says what its results are.
   */
  readonly metadata?: readonly ShapeRule[] |
    ((inputs: readonly TensorType[], attrs: KernelCall['attrs']) => Partial<TensorType> | readonly Partial<TensorType>[]) |
    undefined;
  /**
   * Computes the op on the CPU, on the thread that made the runtime, in a turn of its event loop. What it throws, or
   * its promise rejects with, is the error of the results.
   */
  readonly kernel?: ((call: KernelCall) => KernelResults | PromiseLike<KernelResults>) | undefined;
  /**
   * Computes the op on WebGPU: WGSL with either `fn element(i: u32) { … }`, which is called for each element of the
   * first output, or `fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) { … }`. It finds buffers under
   * the names of inputs and outputs, the dtypes as aliases (`T`) and `parameters.name`. README.md says more.
   */
  readonly wgsl?: string | undefined;
  /** Default: [64, 1, 1]. */
  readonly workgroup?: readonly number[] | undefined;
  /** How many invocations there are, in x, y and z, by rules as those of sizes, which may name outputs, too. */
  readonly invocations?: readonly (string | number)[] | undefined;
  /** Parameters of the shader: `{ rows: 'x[0]', factor: 'factor', 'axis: i32': 'axis' }`, each a rule or an attribute. */
  readonly parameters?: Readonly<Record<string, string | number>> | undefined;
}
