// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/linalg/product_epilogue.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "kernel_texts.h"
#include "kernels/shader_functions.h"
#include "kernels/unrolled_text.h"
#include "tandem/fused_ops.h"

namespace tandem::shader {

namespace {

struct FusedActivation {
  std::string_view name;
  std::string_view expression;  // of x
};

constexpr FusedActivation kActivations[] = {
    {"Relu", "relu(x)"},
    {"Relu6", "select(relu(x), 6.0, x > 6.0)"},
    {"Elu", "select(x, expm1_of(x), x < 0.0)"},
    {"LeakyRelu", "select(parameters.alpha * x, x, x > 0.0)"},
    {"Tanh", "tanh_of(x)"},
    {"Sigmoid", "sigmoid(x)"},
    // Of -infinity these are NaN, as it is -infinity times 0.
    {"GeluExact", "select(gelu(x), not_a_number(), is_infinite(x) && x < 0.0)"},
    {"GeluApproximate", "select(gelu_tanh(x), not_a_number(), is_infinite(x) && x < 0.0)"},
};
static_assert(kActivations[FusedEpilogue::kRelu - 1].name == "Relu");

}  // namespace

FusedEpilogue FusedEpilogue::FromAttrs(const OpAttrsRef& attrs) {
  const FusedOps fused_ops = FusedOpsOf(attrs);
  FusedEpilogue epilogue;
  epilogue.columns = fused_ops.first == "FusedBatchNorm" ? ColumnEpilogue::kBatchNorm : ColumnEpilogue::kBias;
  epilogue.adds_tensor = fused_ops.adds_tensor;
  if (!fused_ops.activation.empty()) {
    const auto* found = std::ranges::find(kActivations, fused_ops.activation, &FusedActivation::name);
    epilogue.activation = static_cast<uint8_t>(found - std::begin(kActivations) + 1);
  }
  epilogue.alpha = attrs.GetOr("leakyrelu_alpha", 0.2f);
  epilogue.epsilon = attrs.GetOr("epsilon", 0.0001f);
  return epilogue;
}

FusedEpilogue FusedEpilogue::Unpack(int32_t packed) {
  FusedEpilogue epilogue;
  epilogue.columns = static_cast<ColumnEpilogue>(packed & 255);
  epilogue.activation = static_cast<uint8_t>(packed >> 8 & 255);
  epilogue.adds_tensor = packed >> 16 != 0;
  return epilogue;
}

void FusedEpilogue::Declare(ShaderBuilder& builder, std::string_view result) const {
  if (columns == ColumnEpilogue::kBias) builder.Buffer("bias", BufferAccess::kRead, "T");
  if (columns == ColumnEpilogue::kBatchNorm) {
    for (const char* name : {"scale", "offset", "mean", "variance"}) builder.Buffer(name, BufferAccess::kRead, "T");
  }
  if (adds_tensor) builder.Buffer("added", BufferAccess::kRead, result);
  if (columns != ColumnEpilogue::kNone)
    builder.Parameter("columns").Parameter("alpha", "f32").Parameter("epsilon", "f32");
}

void FusedEpilogue::AddFinish(ShaderBuilder& builder, bool is_f64) const {
  if (activation != 0) {
    const std::string_view expression = kActivations[activation - 1].expression;
    builder.Text(FunctionsCalledBy(expression, is_f64 ? FunctionTypes::kAll : FunctionTypes::kF32));
    builder.Text("fn activate(x: A) -> A { return " + std::string(expression) + "; }");
  }
  builder.Text(Unroll(kProductEpilogueText, {{"COLUMNS", columns != ColumnEpilogue::kNone},
                                             {"BIAS", columns == ColumnEpilogue::kBias},
                                             {"BATCH_NORM", columns == ColumnEpilogue::kBatchNorm},
                                             {"ADDED", adds_tensor},
                                             {"ACTIVATION", activation != 0}}));
}

void FusedEpilogue::AddText(ShaderBuilder& builder, bool has_quads, bool is_f64) const {
  AddFinish(builder, is_f64);
  builder.Text(Unroll(kProductStoreText, {{"ADDED", adds_tensor}, {"C_QUADS", has_quads}}));
}

void FusedEpilogue::AddParameters(int64_t num_columns, LaunchParameters& parameters) const {
  if (columns == ColumnEpilogue::kNone) return;
  parameters.Add(static_cast<uint32_t>(num_columns));
  parameters.AddFloat(alpha);
  parameters.AddFloat(epsilon);
}

}  // namespace tandem::shader
