// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

/// <reference lib="esnext.disposable" preserve="true" />

// Programs, recordings and layers, as users see them, and what opens these and ops of the user's own. What implements them is in a file of its own, which is loaded
// when one of them is asked for.

import type { requestOf, TensorInput } from './call.js';
import type { Context, runIn } from './context.js';
import type { createTensor } from './create.js';
import type { OpFunction, OpSpec } from './custom_ops.js';
import type { DType } from './dtypes.js';
import type { errorFor, failure, locationOf, Over, TandemError } from './errors.js';
import type { openFile, platform } from './platform.js';
import type { Runtime } from './runtime.js';
import type { Safetensors, SafetensorsSource } from './safetensors.js';
import type { isTensor, newTensor, Tensor } from './tensor.js';
import type { copyOf } from './values.js';
import type { signalOf, WaitOptions } from './waiting.js';

/**
 * Where a program comes from, as text or in the binary form: its text itself, which is any string with a `{` in it, as
 * every program's text has; another string, which is a URL to fetch (relative to the page; in Node, without a scheme, a
 * file); a URL; a response of `fetch`; a Blob or File; or all the bytes, which must not change meanwhile.
 */
export type ProgramSource = SafetensorsSource;

/** Tensors by name. */
export type Weights = Safetensors | ReadonlyMap<string, Tensor> | Readonly<Record<string, Tensor>>;

/** How a program is loaded. */
export interface LoadProgramOptions extends WaitOptions {
  /**
   * What the program takes from outside, by name: tensors, what `loadSafetensors` gives, or a promise of that. The
   * program refers to the tensors itself: they stay the caller's, who may dispose of them. Those of a promise, which
   * nobody else has, are disposed of.
   */
  weights?: Weights | PromiseLike<Weights> | undefined;
  /** What errors and locations call the program. By default its URL, path or name. */
  file?: string | undefined;
  /**
   * Where its ops run. 'runtime', the default: where those of the runtime do, whatever devices the program names, so
   * that a program recorded on one device runs on another. 'program': on those that it names, such as 'cpu'.
   */
  device?: 'runtime' | 'program' | undefined;
  /** Whether element-wise ops that follow each other may be computed as one. Results are the same. Default: true. */
  fuse?: boolean | undefined;
}

/** A function of a program: how many tensors it takes and gives. */
export interface ProgramFunction {
  readonly name: string;
  readonly inputs: number;
  readonly results: number;
}

/**
 * Functions of op calls, made ready for a runtime by `loadProgram` or `record`.
 *
 * `dispose()`, or `using p = …`, frees it with its constants, when calls that are pending no longer need it. One that
 * is not disposed of is freed some time after nothing refers to it any more.
 */
export interface Program {
  /** The runtime that it is of. */
  readonly runtime: Runtime;
  /** In the order of the program. */
  readonly functions: readonly ProgramFunction[];
  /** Whether `dispose` was called, on the program or on its runtime. */
  readonly disposed: boolean;
  /**
   * Calls a function as an op is called: returns its results at once, which are computed later. Arguments that are no
   * tensors become such as `runtime.tensor` makes them. The call belongs to requests and scopes as other calls do.
   * Errors of ops within have their place in the program, "file:line:column", as their location. What a function with
   * chains prints comes after the effects of calls before.
   *
   * @throws TandemError NotFound for a function that does not exist; InvalidArgument for another number of arguments,
   * and tensors of another runtime; FailedPrecondition for what is disposed of; the error of an op within if all
   * results are known to be errors.
   */
  run(name: string, inputs?: readonly TensorInput[]): Tensor[];
  /** The program as text, which reads back as the same program. */
  toText(): string;
  /** The program in the binary form, which is shorter, sooner read, and reads back as the same program, too. */
  toBytes(): Uint8Array<ArrayBuffer>;
  dispose(): void;
  /** As `dispose`, for `using`. */
  [Symbol.dispose](): void;
}

/**
 * What a function that is recorded gives, which are the results of the program: a tensor, an array of tensors, an object
 * whose properties are tensors, or nothing.
 */
export type Recordable = object | void;

/** How calls are recorded. */
export interface RecordOptions extends WaitOptions {
  /**
   * The arguments of the program's function, and of the one that is recorded. Values that are no tensors become such
   * for it, and are disposed of in the end. Everything else that calls take is a constant of the program.
   */
  inputs?: readonly TensorInput[] | undefined;
  /** The name of the program's function. Default: 'main'. */
  name?: string | undefined;
  /** Constants of more bytes than this become weights, which are kept apart from the program. Default: none do. */
  maxInlineBytes?: number | undefined;
}

/** What was recorded. */
export interface Recording<Result> {
  /** With one function. */
  readonly program: Program;
  /**
   * Its weights, by the names that it has for them, on the CPU: for `saveSafetensors`, and as `weights` of
   * `loadProgram` elsewhere. Empty unless `maxInlineBytes` was given.
   */
  readonly weights: ReadonlyMap<string, Tensor>;
  /** What the function that was recorded returned, which is the caller's. */
  readonly result: Result;
  /** Disposes of the program and its weights, but not of the result. */
  dispose(): void;
  /** As `dispose`, for `using`. */
  [Symbol.dispose](): void;
}

/** A layer over the device that ops run on, by its name or with options. */
export type Layer =
  'profile' | 'nan-guard' | 'log' | `shadow:${string}` | NanGuardLayer | ShadowLayer | LogLayer | SubstituteLayer |
  { layer: 'profile' };

/** What the layer 'nan-guard' looks for, and what becomes of it. */
export interface NanGuardLayer {
  readonly layer: 'nan-guard';
  /** Infinities are not allowed either. Default: false. */
  readonly infinities?: boolean | undefined;
  /** Whether such a result becomes an error; otherwise only `layers.nanGuard()` tells of it. Default: true. */
  readonly fail?: boolean | undefined;
}

/**
 * What the layer 'shadow' compares with. With a part of a tolerance, results of all ops may differ by the largest of its
 * parts, those that are left out being 0; otherwise each op has a tolerance of its own.
 */
export interface ShadowLayer {
  readonly layer: 'shadow';
  /** The other device. */
  readonly device: string;
  /** In units of the last place of the larger one of two numbers. */
  readonly ulp?: number | undefined;
  readonly abs?: number | undefined;
  /** As a part of the largest number of the whole result. */
  readonly ofLargest?: number | undefined;
  /** Whether a result that differs becomes a DataLoss error. Default: false. */
  readonly fail?: boolean | undefined;
  /** How many differences `layers.shadow()` tells. Default: 64. */
  readonly maxReports?: number | undefined;
}

/** What the layer 'log' prints. */
export interface LogLayer {
  readonly layer: 'log';
  /** How many elements of a tensor. Default: 8. */
  readonly maxElements?: number | undefined;
}

/** What the layer 'substitute' has run instead of what is called. */
export interface SubstituteLayer {
  readonly layer: 'substitute';
  /**
   * Of several rules for a call the first counts. A text is a table as JSON, as the command-line tool reads it:
   * `{ "substitutions": [RULE, ...] }`.
   */
  readonly rules: readonly SubstitutionRule[] | string;
}

/** Calls that fit are calls of another op, which may be one of `registerOp`. */
export interface SubstitutionRule {
  /** The op that is called: 'tf.MatMul'. */
  readonly op: string;
  /**
   * What the first inputs are: 'f32[2,?]' (any second size), 'f32[]' (a scalar), 'f32' (any shape), '*[2,3]' (any
   * dtype), '*'. Default: any.
   */
  readonly inputs?: readonly string[] | undefined;
  /** Attributes that the call has, by itself or by default. */
  readonly attrs?: Readonly<Record<string, SubstitutionAttr>> | undefined;
  /**
   * The op that runs, with the same inputs and with these attributes, of which `{ from }` is that of the call; without
   * `attrs`, with those that both ops have by one name and kind.
   */
  readonly use: {
    readonly op: string;
    readonly attrs?: Readonly<Record<string, SubstitutionAttr | { readonly from: string }>> | undefined;
  };
}

/** An attribute in a rule; dtypes are texts, shapes lists. */
export type SubstitutionAttr = boolean | number | string | readonly SubstitutionAttr[];

/** Durations of several calls, in milliseconds; all 0 while there is none. */
export interface ProfileTimes {
  readonly count: number;
  readonly total: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

/** What the layer 'profile' has measured of the calls of one op with arguments of one dtype. */
export interface OpProfile {
  readonly op: string;
  /** Of the first argument; undefined for calls that have none, and while it was not known. */
  readonly dtype: DType | undefined;
  readonly calls: number;
  /** Of these, that have results still to come. */
  readonly pending: number;
  /** That have a result which is an error. */
  readonly errors: number;
  /** That have a result which nobody waited for. */
  readonly dropped: number;
  /** Bytes of results; of strings 0. */
  readonly resultBytes: number;
  /** Until the call returned. */
  readonly call: ProfileTimes;
  /** Until the last result was there. */
  readonly results: ProfileTimes;
}

/** A result of which the layer 'shadow' got different things from its two devices. */
export interface Divergence {
  readonly op: string;
  /** Of the call, or in a program; empty if it is not known, as without `trackLocations`. */
  readonly location: string;
  /** Its number on this layer, from 1. */
  readonly call: number;
  /** Which of its results. */
  readonly result: number;
  /** The first element that differs, in row-major order; -1 for another shape, or an error in place of a value. */
  readonly element: number;
  readonly actual: string;
  /** That of the other device, or its error. */
  readonly expected: string;
  /** The distance of the two numbers; Infinity where there is none. */
  readonly error: number;
  /** The same in units of the last place; 0 for integers. */
  readonly ulp: number;
  /** The largest distance of all elements. */
  readonly largestError: number;
  /** How many elements differ. */
  readonly numDifferent: number;
  /** Dtype and shape of the result: "f32[2,3]". */
  readonly metadata: string;
  readonly attrs: string;
  readonly inputs: string;
  /** All of that in words. */
  readonly message: string;
}

/** What the layers 'shadow' of a runtime have compared. */
export interface ShadowReport {
  /** Results that are the same within the tolerance. */
  readonly equal: number;
  readonly diverged: number;
  /** Of calls that were made, and are still to be compared. */
  readonly pending: number;
  /** How many were not compared, by the reason. */
  readonly skipped: Readonly<Record<string, number>>;
  /** The first that differed, of each layer at most 64, in the order in which they were found. */
  readonly divergences: readonly Divergence[];
}

/** A result in which the layer 'nan-guard' has found a NaN or an infinity. */
export interface NanFinding {
  readonly op: string;
  /** As that of a divergence. */
  readonly location: string;
  /** Which of the results of the call. */
  readonly result: number;
  /** Dtype and shape of the result: "f32[2,3]". */
  readonly metadata: string;
  /** The first such element, in row-major order. */
  readonly element: number;
  readonly value: number;
  /** All of that in words. */
  readonly message: string;
}

/** The layers over a runtime's device. */
export interface Layers {
  /** From the outermost on, with the options that they have: 'nan-guard{infinities}'. */
  readonly names: readonly string[];
  /** What 'profile' has measured so far: the ops whose results took most time first. Empty without it. */
  profile(): OpProfile[];
  /** Forgets what was measured. */
  resetProfile(): void;
  /** What 'shadow' has found so far. */
  shadow(): ShadowReport;
  /** What 'nan-guard' has found so far, the first 64 results of all. */
  nanGuard(): NanFinding[];
}

/** The functions of the package that the file of programs would otherwise have a copy of. @internal */
export interface ProgramsPackage {
  readonly copyOf: typeof copyOf;
  readonly createTensor: typeof createTensor;
  readonly errorFor: typeof errorFor;
  readonly failure: typeof failure;
  readonly isTensor: typeof isTensor;
  readonly locationOf: typeof locationOf;
  readonly newTensor: typeof newTensor;
  readonly openFile: typeof openFile;
  readonly Over: typeof Over;
  readonly platform: typeof platform;
  readonly requestOf: typeof requestOf;
  readonly runIn: typeof runIn;
  readonly signalOf: typeof signalOf;
  readonly TandemError: typeof TandemError;
}

/** Where a call that goes on later was made. @internal */
export interface Caller {
  readonly op: string;
  readonly location: string;
  readonly context: Context | undefined;
}

/** What has to do with programs, of one runtime. @internal */
export interface Programs {
  load(runtime: Runtime, source: ProgramSource, options: LoadProgramOptions, caller: Caller): Promise<Program>;
  record<Result extends Recordable>(
    runtime: Runtime, fn: (...inputs: Tensor[]) => Result | PromiseLike<Result>, options: RecordOptions,
    caller: Caller): Promise<Recording<Result>>;
  setLayers(runtime: Runtime, layers: readonly Layer[], caller: Caller): Promise<void>;
  registerOp<Result extends Tensor | Tensor[]>(
    runtime: Runtime, spec: OpSpec, caller: Caller): Promise<OpFunction<Result>>;
}
