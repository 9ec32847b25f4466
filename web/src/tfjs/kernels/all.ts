// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// All kernels, by their names in TensorFlow.js.

export * from './binary.js';
export * from './convolution.js';
export * from './creation.js';
export * from './draw.js';
export * from './image.js';
export * from './indexing.js';
export * from './linear_algebra.js';
export * from './normalization.js';
export * from './pooling.js';
export * from './reduction.js';
export * from './shape.js';
export * from './sparse.js';
export * from './strings.js';
export * from './unary.js';
