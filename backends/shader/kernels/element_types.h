// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How the dtypes of tensors appear in shaders.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENT_TYPES_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENT_TYPES_H_

#include <string_view>

#include "tandem/dtype.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

// The type of a buffer's elements: f32, f16, i32, u32; u32 for bool.
std::string_view StorageType(DType dtype);
// The type that they are computed in: f32 for f16, otherwise the same.
std::string_view ArithmeticType(DType dtype);

// Declares both as aliases: a kernel reads `A(x[i])` and writes `y[i] = T(value)`.
void DeclareTypes(ShaderBuilder& builder, DType dtype, std::string_view storage = "T",
                  std::string_view arithmetic = "A");

// The dtypes that GPUs compute in.
inline constexpr DTypeSet kFloatDTypesOfGpu = {DType::kF32, DType::kF16};
inline constexpr DTypeSet kNumericDTypesOfGpu = kFloatDTypesOfGpu | DTypeSet{DType::kI32, DType::kU32};
inline constexpr DTypeSet kDTypesOfGpu = kNumericDTypesOfGpu | DTypeSet{DType::kBool};

// Those of them that a device of these limits computes in: without f16 where it lacks that.
DTypeSet FloatDTypes(const GpuLimits& limits);
DTypeSet NumericDTypes(const GpuLimits& limits);
DTypeSet AllDTypes(const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENT_TYPES_H_
