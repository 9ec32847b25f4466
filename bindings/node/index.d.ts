// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The package as users see it. Everything that fails throws a TandemError, or rejects with one.

export type DType =
  | 'bool' | 'u8' | 'i8' | 'u16' | 'i16' | 'i32' | 'u32' | 'i64' | 'u64' | 'f16' | 'bf16' | 'f32' | 'f64' | 'c64'
  | 'string';

/** Elements of f16 and bf16 are their bits in a Uint16Array; of c64, real and imaginary parts in a Float32Array. */
export type TypedArray =
  | Uint8Array | Uint8ClampedArray | Int8Array | Uint16Array | Int16Array | Int32Array | Uint32Array | BigInt64Array
  | BigUint64Array | Float32Array | Float64Array;

/** Numbers are f32, bigints i64. */
export type Nested = number | bigint | boolean | string | readonly Nested[];

export type ErrorCode =
  | 'Cancelled' | 'Unknown' | 'InvalidArgument' | 'DeadlineExceeded' | 'NotFound' | 'AlreadyExists'
  | 'ResourceExhausted' | 'FailedPrecondition' | 'OutOfRange' | 'Unimplemented' | 'Internal' | 'Unavailable'
  | 'DataLoss';

export declare class TandemError extends Error {
  readonly code: ErrorCode;
  /** The op that failed. */
  readonly op?: string;
  /** Where the program made the call, "file:line:column". */
  readonly location: string;
  /** The error of the library with its way and its causes. */
  readonly text?: string;
}

/** The version of the library, such as '0.1.0'. */
export declare const version: string;

/** A reference to a tensor, which is immutable. `dispose()` frees it, and else the garbage collector. */
export declare class Tensor {
  private constructor();
  readonly runtime: Runtime;
  readonly state: 'pending' | 'available' | 'error';
  /** Known without waiting unless it depends on data that is pending; then this waits. */
  readonly dtype: DType;
  /** Likewise. */
  readonly shape: number[];
  /** The number of elements. */
  readonly size: number;
  readonly disposed: boolean;
  /** Resolves to the tensor when it is available. */
  ready(): Promise<this>;
  /** A copy of the elements. */
  data(): Promise<TypedArray | string[]>;
  /** The elements in nested arrays. */
  array(): Promise<unknown>;
  /**
   * The elements themselves, of an available tensor on the CPU: not copied, and not to be written to. They live as long
   * as the array. Of a tensor on another device they are those of a copy.
   */
  view(): TypedArray;
  /** "f32[2,2] = [1, 2, 3, 4]", with at most so many elements. */
  text(maxElements?: number): Promise<string>;
  /** Where the elements of an available tensor are in memory. */
  readonly address: bigint;
  dispose(): void;
}

export interface RuntimeOptions {
  /** For long ops; 0, the default: one for each core. */
  threads?: number;
  /** Bytes of tensor data; 0, the default: no limit. */
  memoryLimit?: number;
  /** Where calls run: 'cpu', the default, 'vulkan', or these with layers: 'profile:cpu'. */
  device?: string;
  /** Results of the CPU are the same bits everywhere. Default: false. */
  exact?: boolean;
  /** Whether element-wise ops that wait for each other may be computed as one. Default: true. */
  fuse?: boolean;
  /** Whether errors that come after a call has returned have its place. Some microseconds a call. Default: true. */
  trackLocations?: boolean;
}

export type Operand = Tensor | TypedArray | Nested;
export type AttrValue = boolean | number | bigint | string | readonly AttrValue[];

/** Calls of ops that run other ops, or compiled functions, instead; core/handlers/README.md has the form. */
export interface Substitutions {
  substitutions: readonly {
    op: string;
    inputs?: readonly string[];
    attrs?: Readonly<Record<string, AttrValue>>;
    use: { op: string; attrs?: Readonly<Record<string, AttrValue | { from: string }>> } |
      { library: string; function: string };
  }[];
}

export declare class Runtime {
  constructor(options?: RuntimeOptions);
  /** Where calls run that name no device. */
  readonly device: string;
  /** A tensor with a copy of the elements. */
  tensor(data: TypedArray | Nested, shape?: readonly number[], dtype?: DType): Tensor;
  /**
   * A tensor over the memory of a typed array, which must be neither written to nor transferred until nothing refers to
   * the tensor or to results in its memory.
   */
  wrap(array: TypedArray, shape?: readonly number[], dtype?: DType): Tensor;
  /**
   * Calls an op, by its name and those of its attributes in the op reference; returns before the results are computed.
   * `results`: how many there are, where the definition does not say.
   */
  execute(
    op: string, inputs?: readonly Operand[], attrs?: Readonly<Record<string, AttrValue | undefined>>,
    options?: { device?: string; results?: number }): Tensor[];
  /** Adds the ops of a shared library (tandem_plugin.h), until it is unloaded. */
  loadOpLibrary(path: string): { unload(): void };
  /** Makes a device available to calls: 'vulkan'. */
  addDevice(device: string): void;
  /** Has later calls run on a device, or on one with layers: 'profile:cpu'. */
  useDevice(device: string): void;
  /** Has later calls that a table names run what it says instead: an object, its JSON, or the table of a library. */
  substitute(table: Substitutions | string | { library: string }): void;
  /** Defines tandem.TvmDso and tandem.TvmDsoDynamic; calls of functions of `loadModule` do so themselves. */
  addTvmOps(): void;
  memory(): { bytesInUse: number; peakBytesInUse: number; bytesCached: number };
  /** Makes all that is pending an error, and every later call, until `restart`. */
  cancel(reason?: string): void;
  restart(): void;
  /** Cancels what is pending, waits for what runs, and frees the runtime. */
  dispose(): void;
}

export declare function createRuntime(options?: RuntimeOptions): Runtime;

/** A result of a compiled function, as far as it is not like the first input. */
export interface Output {
  dtype?: DType;
  /** A tensor of i32 or i64 has the shape as its elements. */
  shape?: readonly number[] | Tensor;
}

/** Arguments are inputs, at least one of them a tensor; then, maybe, what the results are: `{ outputs }` of several. */
export type CompiledFunction = {
  (...args: [...Operand[], { outputs: readonly Output[] }]): Tensor[];
  (...args: (Operand | Output)[]): Tensor;
};

/**
 * The functions of a library that TVM compiled, or that follows its classic ABI or tvm-ffi:
 *
 *     const y = loadModule('libaddone.so').addone(x);
 *
 * Throws where it is called if there is no such library or function.
 */
export declare function loadModule(path: string): Readonly<Record<string, CompiledFunction>>;

/** A typed array for elements of the dtype whose memory is aligned to 64 bytes, as compiled functions want it. */
export declare function alignedArray(dtype: Exclude<DType, 'string'>, length: number): TypedArray;
/** Where the elements of a typed array are in memory. */
export declare function addressOf(array: TypedArray): bigint;
