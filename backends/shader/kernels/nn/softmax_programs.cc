// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/nn/softmax_programs.h"

#include <limits>
#include <string>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/lanes.h"

namespace tandem::shader {

namespace {

enum Value : size_t { kKind, kDType, kLabels, kWidth, kLanes, kWorkgroup, kSubgroups, kKeeps };

// What needs f32's bits otherwise.
constexpr std::string_view kExpOfF64 = "fn exp_below_zero(x: Q) -> Q { return exp(x); }";
constexpr std::string_view kLogOfF64 = "fn log_above_one(x: f64) -> f64 { return log(x); }";

// How exponentials come from the second time over a row to the third: kept where they fit in the result, or computed
// again.
std::string_view PowerText(bool keeps) {
  if (keeps) {
    return "fn keep(i: u32, power: Q) { y[i] = power; }\n"
           "fn power_of(i: u32, largest: A) -> Q { return y[i]; }";
  }
  return "fn keep(i: u32, power: Q) { }\n"
         "fn power_of(i: u32, largest: A) -> Q { return exp_below_zero(Q(x[i]) - largest); }";
}

// The largest of the numbers of a Q and of a U, and the sum of those of a Q.
std::string_view FoldText(int32_t width) {
  if (width == 1) {
    return "fn largest_of(v: Q) -> A { return v; }\n"
           "fn magnitude_of(v: U) -> B { return v; }\n"
           "fn sum_of(v: Q) -> A { return v; }";
  }
  return "fn largest_of(v: Q) -> A { return max(max(v.x, v.y), max(v.z, v.w)); }\n"
         "fn magnitude_of(v: U) -> B { return max(max(v.x, v.y), max(v.z, v.w)); }\n"
         "fn sum_of(v: Q) -> A { return (v.x + v.y) + (v.z + v.w); }";
}

ShaderText ComposeSoftmax(const ShaderSource& source, std::span<const int32_t> values) {
  const auto kind = static_cast<SoftmaxKind>(values[kKind]);
  const int32_t width = values[kWidth];
  const auto dtype = static_cast<DType>(values[kDType]);
  const bool is_f64 = ArithmeticBytes(dtype) == 8;
  const ArithmeticBits bits = ArithmeticBitsOf(dtype);
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, dtype);
  builder.Alias("B", bits.type).Alias("U", VectorOf(bits.type, width)).Alias("I", VectorOf("i32", width));
  builder.Alias("Q", VectorOf(ArithmeticType(dtype), width)).Alias("R", VectorOf(StorageType(dtype), width));
  builder.Constant("INFINITY", "B", bits.infinity).Constant("ALL_BUT_SIGN", "B", bits.all_but_sign);
  builder.Constant("LOWEST", "A", is_f64 ? "-1.7976931348623157e308lf" : "-3.4028234e38");
  const bool has_labels = kind == SoftmaxKind::kSparseCrossEntropy;
  const bool has_long_labels = static_cast<DType>(values[kLabels]) == DType::kI64;
  builder.Buffer("x", BufferAccess::kRead, "R");
  if (has_labels) {
    builder.Buffer("labels", BufferAccess::kRead, has_long_labels ? "vec2u" : "u32");
    builder.Buffer("loss", BufferAccess::kReadWrite, "T");
  }
  builder.Buffer("y", BufferAccess::kReadWrite, "R");
  builder.Parameter("rows").Parameter("units").Parameter("infinity", "f32").Parameter("nan", "f32");

  const Lanes lanes = {values[kLanes], values[kWorkgroup], values[kSubgroups] != 0};
  DeclareLanes(builder, lanes);
  DeclareLaneReduction(builder, lanes, LaneOp::kMax, "max_of_lanes");
  DeclareLaneReduction(builder, lanes, LaneOp::kAdd, "sum_of_lanes");
  builder.Text(FoldText(width)).Text(is_f64 ? kExpOfF64 : kExpBelowZeroText).Text(PowerText(values[kKeeps] != 0));
  if (kind != SoftmaxKind::kSoftmax) builder.Text(is_f64 ? kLogOfF64 : kLogAboveOneText);
  if (has_labels) {
    // Beyond every class if the high word is not 0.
    builder.Text(has_long_labels ? "fn label_of(row: u32) -> u32 { if (labels[row].y != 0u) { return 0xffffffffu; } "
                                   "return labels[row].x; }"
                                 : "fn label_of(row: u32) -> u32 { return labels[row]; }");
  }
  builder.Text(has_labels                      ? kSparseCrossEntropyFinishText
               : kind == SoftmaxKind::kSoftmax ? kSoftmaxFinishText
                                               : kLogSoftmaxFinishText);
  return builder.Finish(source.text);
}

const ShaderSource& Source() {
  static const ShaderSource source = {"softmax", &ComposeSoftmax, kSoftmaxText};
  return source;
}

}  // namespace

Launch SoftmaxProgram(SoftmaxKind kind, DType dtype, uint64_t rows, uint64_t cols, const GpuLimits& limits,
                      DType labels) {
  // Elements are counted one by one where labels are compared with their places.
  const bool has_labels = kind == SoftmaxKind::kSparseCrossEntropy;
  const int32_t width = !has_labels && cols % 4 == 0 ? 4 : 1;
  const uint64_t units = cols / static_cast<uint64_t>(width);
  const Lanes lanes = ChooseLanesOfReread(rows, units, limits);
  // Loads and stores cost a software device less than exponentials.
  const bool keeps = limits.is_software && dtype == DType::kF32 && kind != SoftmaxKind::kLogSoftmax;
  Launch launch;
  launch.variant =
      ShaderVariant(Source(), {static_cast<int32_t>(kind), static_cast<int32_t>(dtype), static_cast<int32_t>(labels),
                               width, lanes.lanes, lanes.workgroup, lanes.subgroups, keeps});
  launch.parameters = {static_cast<uint32_t>(rows), static_cast<uint32_t>(units)};
  launch.parameters.AddFloat(std::numeric_limits<float>::infinity());
  launch.parameters.AddFloat(std::numeric_limits<float>::quiet_NaN());
  launch.workgroups = lanes.Workgroups(cols == 0 ? 0 : rows, limits);
  return launch;
}

std::vector<ShaderVariant> SoftmaxVariants(const GpuLimits& limits) {
  std::vector<ShaderVariant> variants;
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    if (dtype == DType::kF16 && !limits.has_f16) continue;
    for (const uint64_t cols : {uint64_t{5}, uint64_t{8}, uint64_t{100}, uint64_t{4096}, uint64_t{50257}}) {
      const auto add = [&](SoftmaxKind kind, DType labels = DType::kInvalid) {
        variants.push_back(SoftmaxProgram(kind, dtype, 8, cols, limits, labels).variant);
      };
      add(SoftmaxKind::kSoftmax);
      add(SoftmaxKind::kLogSoftmax);
      add(SoftmaxKind::kSparseCrossEntropy, DType::kI32);
      add(SoftmaxKind::kSparseCrossEntropy, DType::kI64);
    }
  }
  return variants;
}

}  // namespace tandem::shader
