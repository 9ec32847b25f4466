// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FusedOps: what _FusedMatMul, _FusedConv2D and _FusedDepthwiseConv2dNative compute on a product while it is hot.

#ifndef TANDEM_FUSED_OPS_H_
#define TANDEM_FUSED_OPS_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "tandem/op_attrs.h"

namespace tandem {

// What the attribute fused_ops asks for.
struct FusedOps {
  std::string_view first;       // of the names that may be first
  bool adds_tensor = false;     // "Add": the last of args, of the result's shape, is added
  std::string_view activation;  // empty: none

  // Of args, which come first.
  size_t num_vectors() const { return first == "FusedBatchNorm" ? 4 : 1; }
};

// The attribute, as the metadata function has found it right.
inline FusedOps FusedOpsOf(const OpAttrsRef& attrs) {
  std::span<const std::string_view> names;
  attrs.GetArray("fused_ops", &names);
  FusedOps ops;
  if (names.empty()) return ops;
  ops.first = names[0];
  ops.adds_tensor = names.size() > 1 && names[1] == "Add";
  const size_t num_others = ops.adds_tensor ? 2 : 1;
  if (names.size() > num_others) ops.activation = names[num_others];
  return ops;
}

}  // namespace tandem

#endif  // TANDEM_FUSED_OPS_H_
