// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/element_types.h"

namespace tandem::shader {

std::string_view StorageType(DType dtype) { return dtype == DType::kF16 ? "f16" : ArithmeticType(dtype); }

std::string_view ArithmeticType(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return "i32";
    case DType::kU32:
    case DType::kBool:
      return "u32";
    default:
      return "f32";
  }
}

void DeclareTypes(ShaderBuilder& builder, DType dtype, std::string_view storage, std::string_view arithmetic) {
  if (dtype == DType::kF16) builder.UseF16();
  builder.Alias(storage, StorageType(dtype)).Alias(arithmetic, ArithmeticType(dtype));
}

DTypeSet AllDTypes(const GpuLimits& limits) {
  return limits.has_f16 ? kDTypesOfGpu : DTypeSet{DType::kF32, DType::kI32, DType::kU32, DType::kBool};
}
DTypeSet FloatDTypes(const GpuLimits& limits) { return kFloatDTypesOfGpu & AllDTypes(limits); }
DTypeSet NumericDTypes(const GpuLimits& limits) { return kNumericDTypesOfGpu & AllDTypes(limits); }

}  // namespace tandem::shader
