// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How the dtypes of tensors appear in shaders.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENT_TYPES_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENT_TYPES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

// Whether there are devices whose limits say has_all_dtypes.
#ifdef __EMSCRIPTEN__
inline constexpr bool kMayHaveAllDTypes = false;
#else
inline constexpr bool kMayHaveAllDTypes = true;
#endif
// Whether the device is one of them.
inline bool HasAllDTypes(const GpuLimits& limits) { return kMayHaveAllDTypes && limits.has_all_dtypes; }

// The type of a buffer's elements: named as the dtype, but u32 for bool.
std::string_view StorageType(DType dtype);
// The dtype that elements are computed in: f32 for f16 and bf16, i32 and u32 for smaller integers, u32 for bool,
// otherwise the same.
DType ArithmeticDType(DType dtype);
inline std::string_view ArithmeticType(DType dtype) { return StorageType(ArithmeticDType(dtype)); }
// Bytes of a number that is computed: 4 or 8.
inline uint32_t ArithmeticBytes(DType dtype) { return kMayHaveAllDTypes && DTypeSize(dtype) == 8 ? 8 : 4; }
// The unsigned integers of that size, and as literals of theirs, of the float of that size: the bit of the sign, all
// others, and an infinity's bits.
struct ArithmeticBits {
  std::string_view type;
  std::string_view sign;
  std::string_view all_but_sign;
  std::string_view infinity;
};
inline ArithmeticBits ArithmeticBitsOf(DType dtype) {
  if (ArithmeticBytes(dtype) == 8) return {"u64", "0x8000000000000000", "0x7fffffffffffffff", "0x7ff0000000000000"};
  return {"u32", "0x80000000u", "0x7fffffffu", "0x7f800000u"};
}
// "vec4f", "vec4<f64>": four of a type above, in the short form where there is one; of a width of 1, the type itself.
std::string VectorOf(std::string_view scalar, int32_t width = 4);

// Declares both as aliases: a kernel reads `A(x[i])` and writes `y[i] = T(value)`.
void DeclareTypes(ShaderBuilder& builder, DType dtype, std::string_view storage = "T",
                  std::string_view arithmetic = "A");

// The dtypes that kernels compute in, where the device has them: f32, i32, u32 and bool, and others as its limits say.
inline constexpr DTypeSet kFloatDTypesOfGpu = kFloatDTypes;
inline constexpr DTypeSet kRealDTypesOfGpu = kRealDTypes;
inline constexpr DTypeSet kNumericDTypesOfGpu = kNumericDTypes;
inline constexpr DTypeSet kDTypesOfGpu = kFixedSizeDTypes;
// Computed in f32.
inline constexpr DTypeSet kSingleDTypesOfGpu = {DType::kF32, DType::kF16, DType::kBF16};

// Those of them that a device of these limits computes in.
DTypeSet FloatDTypes(const GpuLimits& limits);
DTypeSet NumericDTypes(const GpuLimits& limits);
DTypeSet AllDTypes(const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENT_TYPES_H_
