// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/doubles.h"

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/shader_functions.h"

namespace tandem::shader {

namespace {

constexpr std::string_view kOfFloat = R"(
fn double_of(x: T) -> D {
  return double_of_f32(f32(x));
}

fn rounded(value: D) -> T {
  return T(f32_of_double(value));
}
)";
constexpr std::string_view kOfI32 = R"(
fn double_of(x: T) -> D {
  return double_of_i32(x);
}
)";
constexpr std::string_view kOfU32 = R"(
fn double_of(x: T) -> D {
  return double_of_u32(x);
}
)";
constexpr std::string_view kOfAny = R"(
fn double_of(x: T) -> D {
  return f64(x);
}

fn rounded(value: D) -> T {
  return T(A(value));
}
)";

std::string_view ConversionText(DType dtype, bool is_soft) {
  if (!is_soft) return kOfAny;
  if (dtype == DType::kI32) return kOfI32;
  return dtype == DType::kU32 ? kOfU32 : kOfFloat;
}

}  // namespace

void DeclareDoubles(ShaderBuilder& builder, DType dtype, bool is_soft) {
  DeclareTypes(builder, dtype);
  builder.Alias("D", is_soft ? "vec2u" : "f64");
}

std::string DoubleFunctions(std::string_view text, DType dtype, bool is_soft) {
  std::string called(ConversionText(dtype, is_soft));
  std::string library =
      FunctionsCalledBy(called + std::string(text), is_soft ? FunctionTypes::kSoft : FunctionTypes::kHard);
  return library + called;
}

}  // namespace tandem::shader
