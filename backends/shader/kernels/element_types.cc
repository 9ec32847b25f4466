// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/element_types.h"

namespace tandem::shader {

std::string_view StorageType(DType dtype) { return dtype == DType::kBool ? "u32" : DTypeName(dtype); }

DType ArithmeticDType(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kI8:
    case DType::kI16:
      return DType::kI32;
    case DType::kU8:
    case DType::kU16:
    case DType::kBool:
      return DType::kU32;
    default:
      return dtype;
  }
}

std::string VectorOf(std::string_view scalar, int32_t width) {
  if (width == 1) return std::string(scalar);
  const bool has_short_name = scalar == "f32" || scalar == "i32" || scalar == "u32" || scalar == "f16";
  if (!has_short_name) return "vec4<" + std::string(scalar) + ">";
  return std::string("vec4") + (scalar == "f16" ? 'h' : scalar[0]);
}

void DeclareTypes(ShaderBuilder& builder, DType dtype, std::string_view storage, std::string_view arithmetic) {
  if (dtype == DType::kF16) builder.UseF16();
  builder.Alias(storage, StorageType(dtype)).Alias(arithmetic, ArithmeticType(dtype));
}

DTypeSet AllDTypes(const GpuLimits& limits) {
  if (HasAllDTypes(limits)) return kFixedSizeDTypes;
  DTypeSet dtypes = {DType::kF32, DType::kI32, DType::kU32, DType::kBool};
  if (limits.has_f16) dtypes.Insert(DType::kF16);
  return dtypes;
}
DTypeSet FloatDTypes(const GpuLimits& limits) { return kFloatDTypesOfGpu & AllDTypes(limits); }
DTypeSet NumericDTypes(const GpuLimits& limits) { return kNumericDTypesOfGpu & AllDTypes(limits); }

}  // namespace tandem::shader
