// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_RANDOM_RANDOM_PROGRAMS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_RANDOM_RANDOM_PROGRAMS_H_

#include <string_view>

#include "tandem/shader/launch.h"
#include "tandem/tensor.h"

namespace tandem::shader {

enum class Distribution : uint8_t { kUniform, kNormal, kIntegers };

// Draws the elements of `result`, integers of i32 or i64, others of any floating-point dtype. Buffers: the seed, two
// numbers of `seed_dtype` (i32 or i64), for integers the bounds, and the result.
Launch RandomProgram(Distribution distribution, const TensorMetadata& result, DType seed_dtype,
                     const GpuLimits& limits);

// `fn seed_words() -> vec4u`: a buffer `seed` of that dtype as two numbers of 64 bits, lower halves first.
std::string_view SeedText(DType seed_dtype);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_RANDOM_RANDOM_PROGRAMS_H_
