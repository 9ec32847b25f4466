// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/fused_epilogue.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "kernel_texts.h"
#include "kernels/unrolled_text.h"

namespace tandem::shader {

namespace {

struct FusedActivation {
  std::string_view name;
  std::string_view text;  // defines activate(x)
};

constexpr FusedActivation kActivations[] = {
    {"Relu", "fn activate(x: f32) -> f32 { return select(x, 0.0, x <= 0.0); }"},
    {"Relu6", "fn activate(x: f32) -> f32 { return select(select(x, 0.0, x <= 0.0), 6.0, x > 6.0); }"},
    {"Elu", "fn activate(x: f32) -> f32 { return select(x, exp(min(x, 0.0)) - 1.0, x < 0.0); }"},
    {"LeakyRelu", "fn activate(x: f32) -> f32 { return select(parameters.alpha * x, x, x > 0.0); }"},
    {"Tanh", "fn activate(x: f32) -> f32 { return tanh(x); }"},
    {"Sigmoid", "fn activate(x: f32) -> f32 { return 1.0 / (1.0 + exp(-x)); }"},
};

}  // namespace

FusedEpilogue FusedEpilogue::FromAttrs(const OpAttrsRef& attrs) {
  std::span<const std::string_view> fused_ops;
  attrs.GetArray("fused_ops", &fused_ops);
  FusedEpilogue epilogue;
  epilogue.columns = fused_ops[0] == "FusedBatchNorm" ? ColumnEpilogue::kBatchNorm : ColumnEpilogue::kBias;
  if (fused_ops.size() > 1) {
    const auto* found = std::ranges::find(kActivations, fused_ops[1], &FusedActivation::name);
    epilogue.activation = static_cast<uint8_t>(found - std::begin(kActivations) + 1);
  }
  epilogue.alpha = attrs.GetOr("leakyrelu_alpha", 0.2f);
  epilogue.epsilon = attrs.GetOr("epsilon", 0.0001f);
  return epilogue;
}

FusedEpilogue FusedEpilogue::Unpack(int32_t packed) {
  FusedEpilogue epilogue;
  epilogue.columns = static_cast<ColumnEpilogue>(packed & 255);
  epilogue.activation = static_cast<uint8_t>(packed >> 8);
  return epilogue;
}

void FusedEpilogue::Declare(ShaderBuilder& builder) const {
  if (columns == ColumnEpilogue::kBias) builder.Buffer("bias", BufferAccess::kRead, "T");
  if (columns == ColumnEpilogue::kBatchNorm) {
    for (const char* name : {"scale", "offset", "mean", "variance"}) builder.Buffer(name, BufferAccess::kRead, "T");
  }
  if (columns != ColumnEpilogue::kNone)
    builder.Parameter("columns").Parameter("alpha", "f32").Parameter("epsilon", "f32");
}

void FusedEpilogue::AddText(ShaderBuilder& builder) const {
  if (activation != 0) builder.Text(kActivations[activation - 1].text);
  builder.Text(Unroll(kFusedEpilogueText, {{"COLUMNS", columns != ColumnEpilogue::kNone},
                                           {"BIAS", columns == ColumnEpilogue::kBias},
                                           {"BATCH_NORM", columns == ColumnEpilogue::kBatchNorm},
                                           {"ACTIVATION", activation != 0}}));
}

void FusedEpilogue::AddParameters(int64_t num_columns, LaunchParameters& parameters) const {
  if (columns == ColumnEpilogue::kNone) return;
  parameters.Add(static_cast<uint32_t>(num_columns));
  parameters.AddFloat(alpha);
  parameters.AddFloat(epsilon);
}

}  // namespace tandem::shader
