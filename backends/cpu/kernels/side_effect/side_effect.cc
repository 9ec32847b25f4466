// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PrintV2 and Assert.

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string_view>

#include "kernels/kernels.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/logging_op_handler.h"

namespace tandem::cpu {

namespace {

// In one call, so that other output does not come in between.
Status PrintKernel(const Tensor& input, const OpAttrsRef& attrs, KernelFrame& frame) {
  if (!input.IsA(kStringHost)) {
    return InvalidArgument("input must be a string tensor of the host, got ", input.type().name());
  }
  const std::string_view text = StringHostView(input)[0];
  const auto end = attrs.GetOr("end", std::string_view());
  const size_t size = text.size() + end.size();
  const std::unique_ptr<char[]> line(new (std::nothrow) char[size]);
  if (line == nullptr) return Status::OutOfMemory();
  std::copy(end.begin(), end.end(), std::copy(text.begin(), text.end(), line.get()));
  frame.host().Print({line.get(), size});
  return Status();
}

Status AssertKernel(DenseArg condition, const OpAttrsRef& attrs, KernelFrame& frame) {
  if (*condition.data<bool>()) return Status();
  const int64_t summarize = attrs.GetOr<int64_t>("summarize", 3);
  constexpr int64_t kAll = std::numeric_limits<int>::max();
  const auto max_elements = static_cast<int>(summarize < 0 ? kAll : std::min(summarize, kAll));
  MessageBuilder text;
  text.Append("assertion failed");
  for (size_t i = 1; i < frame.num_args(); ++i) {
    text.Append(i == 1 ? ", got " : "; ");
    AppendTensor(text, frame.arg(i), max_elements);
  }
  return Status::Error(StatusCode::kInvalidArgument, text.view());
}

}  // namespace

Status RegisterSideEffectKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&PrintKernel>("tf.PrintV2", {}, {100}),
      KernelEntryOf<&AssertKernel>("tf.Assert", {}, {0}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
