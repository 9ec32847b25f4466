// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What all entries of the package have in common: everything that a program may import but createRuntime.

export type { RuntimeOptions } from './create_runtime.js';
export { Runtime } from './runtime.js';
export type { TensorOptions } from './runtime.js';
export { Tensor } from './tensor.js';
export type { TensorState } from './engine.js';
export { TandemError } from './errors.js';
export type { ErrorCode, TandemErrorOptions } from './errors.js';
export type { Allocation } from './allocation.js';
export type { AttrValue, TensorAttr } from './attrs.js';
export type { Inputs, TensorInput } from './call.js';
export type { Capabilities, DeviceName, GpuCapabilities } from './capabilities.js';
// Whole, since a program may add to what is exported so.
export * from './custom_ops.js';
export { bf16ToNumber, DTYPES, f16ToNumber, numberToBF16, numberToF16 } from './dtypes.js';
export type { DataTypes, DType, DTypeOf, TypedArray } from './dtypes.js';
export type { GpuMemoryInfo } from './gpu.js';
export type { ImageOptions, ImageSource } from './image.js';
export type { MemoryInfo } from './memory.js';
export type { Nested, NestedLike, Scalar, ScalarLike, TensorLike } from './nested.js';
export { toImageData, toPixels } from './pixels.js';
export type { PixelData, PixelOptions, PixelTarget } from './pixels.js';
export type {
  Divergence, Layer, Layers, LoadProgramOptions, LogLayer, NanFinding, NanGuardLayer, OpProfile, ProfileTimes, Program,
  ProgramFunction, ProgramSource, Recordable, Recording, RecordOptions, ShadowLayer, ShadowReport, SubstituteLayer,
  SubstitutionAttr, SubstitutionRule, Weights,
} from './programs.js';
export type { ArgDefinition, AttrDefinition, OpDefinition } from './registry.js';
export type { Request, RequestOptions } from './request.js';
export { loadSafetensors, Safetensors, saveSafetensors } from './safetensors.js';
export type {
  LoadSafetensorsOptions, SafetensorsProgress, SafetensorsSource, SaveSafetensorsOptions,
} from './safetensors.js';
export type { Trace } from './trace.js';
export type { WaitOptions } from './waiting.js';
export * from './ops.js';
// One of these has the name of an op.
export {
  batchNorm, booleanMask, conv1d, conv2dTranspose, div, dot, eye, logSigmoid, logSumExp, moments, norm, outerProduct,
  randomNormal, randomUniform, separableConv2d, stack, step, tensor1d, tensor2d, tensor3d, tensor4d, tensor5d, tensor6d,
  unstack, where,
} from './aliases.js';
export {
  depthwiseConv2dNative as depthwiseConv2d, fFT as fft, iFFT as ifft, isNan as isNaN, linSpace as linspace,
  lRN as localResponseNormalization, topK as topk,
} from './ops.js';
export type { NormOrder, RandomOptions, TensorOfRank } from './aliases.js';
export type { Padding, WindowSizes } from './short_forms.js';
