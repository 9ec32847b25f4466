// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Checks of the attribute fused_ops and of what goes with it.

#ifndef TANDEM_CORE_OPS_FUSED_OPS_H_
#define TANDEM_CORE_OPS_FUSED_OPS_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "tandem/fused_ops.h"
#include "tandem/metadata_function.h"
#include "tandem/op_attrs.h"
#include "tandem/status.h"

namespace tandem {

// As text: the names with `separator` between them.
struct JoinedNames {
  std::span<const std::string_view> names;
  std::string_view separator = ", ";
  friend void AppendTo(MessageBuilder& out, const JoinedNames& joined) {
    for (size_t i = 0; i < joined.names.size(); ++i) {
      if (i > 0) AppendTo(out, joined.separator);
      AppendTo(out, joined.names[i]);
    }
  }
};

// What an op may be asked for.
struct FusedOpsRule {
  std::span<const std::string_view> first;
  bool may_add_tensor;
  std::span<const std::string_view> activations;
};

inline StatusOr<FusedOps> CheckFusedOps(const OpAttrsRef& attrs, const FusedOpsRule& rule) {
  std::span<const std::string_view> names;
  attrs.GetArray("fused_ops", &names);
  const FusedOps ops = FusedOpsOf(attrs);
  const size_t num_known = size_t{1} + (ops.adds_tensor ? 1 : 0) + (ops.activation.empty() ? 0 : 1);
  const bool is_right = std::ranges::count(rule.first, ops.first) == 1 && names.size() == num_known &&
                        (!ops.adds_tensor || rule.may_add_tensor) &&
                        (ops.activation.empty() || std::ranges::count(rule.activations, ops.activation) == 1);
  if (is_right) return ops;
  return InvalidArgument("fused_ops must be ", JoinedNames{rule.first, " or "}, ", alone or followed by ",
                         rule.may_add_tensor ? "Add, by " : "", "one of ", JoinedNames{rule.activations},
                         rule.may_add_tensor ? ", or by both" : "", ", got fused_ops: [", JoinedNames{names}, "]");
}

// Checks the number of args, and the tensor to add to `result`.
inline Status CheckFusedArgs(const FusedOps& ops, VariadicMetadata args, const TensorMetadata& result) {
  const size_t num_args = ops.num_vectors() + (ops.adds_tensor ? 1 : 0);
  if (args.size() != num_args) {
    static constexpr std::string_view kExpected[] = {"",
                                                     "one tensor, the bias",
                                                     "two tensors, the bias and what to add",
                                                     "",
                                                     "four tensors, scale, offset, mean and variance",
                                                     "five tensors, scale, offset, mean, variance and what to add"};
    return InvalidArgument("args must be ", kExpected[num_args], ", got ", args.size());
  }
  if (!ops.adds_tensor || args[num_args - 1].shape == result.shape) return Status();
  return InvalidArgument("the tensor to add must have the shape of the result ", result.shape, ", got ",
                         args[num_args - 1]);
}

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_FUSED_OPS_H_
