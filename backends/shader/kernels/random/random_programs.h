// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_RANDOM_RANDOM_PROGRAMS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_RANDOM_RANDOM_PROGRAMS_H_

#include "tandem/shader/launch.h"
#include "tandem/tensor.h"

namespace tandem::shader {

enum class Distribution : uint8_t { kUniform, kNormal };

// Draws the elements of `result`, of f32 or f16. Buffers: the seed, two numbers of `seed_dtype` (i32 or i64), and the
// result.
Launch RandomProgram(Distribution distribution, const TensorMetadata& result, DType seed_dtype,
                     const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_RANDOM_RANDOM_PROGRAMS_H_
