// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_CREATION_CREATION_PROGRAMS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_CREATION_CREATION_PROGRAMS_H_

#include "tandem/shader/launch.h"
#include "tandem/tensor.h"

namespace tandem::shader {

// start, start + delta, ... Buffer: the result. `start` and `delta` are integers of 64 bits if the result's dtype is
// one of integers, else the bits of an f64.
Launch RangeProgram(const TensorMetadata& result, uint64_t start, uint64_t delta, const GpuLimits& limits);

// Vectors with one value at the index and another everywhere else, along dimension `axis` of the result. Buffers:
// indices of u8, i8, i32 or i64, the two values, the result.
Launch OneHotProgram(DType index_dtype, const TensorMetadata& result, int axis, const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_CREATION_CREATION_PROGRAMS_H_
