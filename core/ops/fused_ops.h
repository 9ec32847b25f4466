// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The attribute fused_ops of _FusedMatMul and _FusedConv2D: what is computed on the product while it is hot.

#ifndef TANDEM_CORE_OPS_FUSED_OPS_H_
#define TANDEM_CORE_OPS_FUSED_OPS_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

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

// The attribute, whose first name is in `first`, and whose second, if there is one, is in `activations`.
inline StatusOr<std::span<const std::string_view>> CheckFusedOps(const OpAttrsRef& attrs,
                                                                 std::span<const std::string_view> first,
                                                                 std::span<const std::string_view> activations) {
  std::span<const std::string_view> fused_ops;
  attrs.GetArray("fused_ops", &fused_ops);
  const bool has_first = !fused_ops.empty() && std::ranges::count(first, fused_ops[0]) == 1;
  const bool has_second = fused_ops.size() == 2 && std::ranges::count(activations, fused_ops[1]) == 1;
  if (has_first && (fused_ops.size() == 1 || has_second)) return fused_ops;
  return InvalidArgument("fused_ops must be ", JoinedNames{first, " or "}, ", alone or followed by one of ",
                         JoinedNames{activations}, ", got fused_ops: [", JoinedNames{fused_ops}, "]");
}

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_FUSED_OPS_H_
