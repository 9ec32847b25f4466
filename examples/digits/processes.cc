// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Collective ops between processes.

#include "digits/processes.h"

#include <utility>

namespace digits {

using tandem::Status;
using tandem::eager::Operand;

namespace {
// Of each call: for a process that has ended, or hangs.
constexpr int64_t kTimeoutMs = 20000;
}  // namespace

Status Processes::Join(tandem::eager::Runtime& runtime, const std::string& library) {
  TANDEM_ASSIGN_OR_RETURN(library_, tandem::LoadOpLibrary(runtime.core(), library));
  runtime_ = &runtime;
  const auto scope = runtime.With({.chain = &order_});
  Tensor results[2];
  runtime.Execute("tandem.Processes", {}, {}, results, nullptr);
  TANDEM_ASSIGN_OR_RETURN(rank_, results[0].Item<int32_t>());
  TANDEM_ASSIGN_OR_RETURN(count_, results[1].Item<int32_t>());
  return Status();
}

void Processes::AverageGradients(const std::vector<Parameter*>& parameters) {
  if (count_ == 1) return;
  std::vector<Operand> gradients;
  for (Parameter* parameter : parameters) gradients.emplace_back(std::move(parameter->gradient));
  std::vector<Operand*> inputs;
  for (Operand& gradient : gradients) inputs.push_back(&gradient);
  std::vector<Tensor> averages(parameters.size());
  tandem::OpAttrs attrs;
  attrs.Set("reduction", std::string_view("mean"));
  attrs.Set("timeout_ms", kTimeoutMs);
  const auto scope = runtime_->With({.chain = &order_});
  runtime_->Execute("tandem.AllReduce", inputs, attrs, averages, nullptr);
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i]->gradient = std::move(averages[i]);
}

}  // namespace digits
