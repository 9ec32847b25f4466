// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reading the padding of windows, with every number checked.

#include "window_padding.h"

#include <algorithm>
#include <string_view>

namespace tandem {

StatusOr<PaddingKind> ReadPadding(const OpAttrsRef& attrs, bool channels_first,
                                  std::span<std::array<int64_t, 2>> explicit_paddings) {
  const std::string_view padding = attrs.GetOr<std::string_view>("padding", "VALID");
  std::span<const int64_t> list;
  attrs.GetArray("explicit_paddings", &list);
  if (padding != "EXPLICIT") {
    if (list.empty()) return padding == "SAME" ? PaddingKind::kSame : PaddingKind::kValid;
    return InvalidArgument("explicit_paddings must be empty unless padding is 'EXPLICIT', got explicit_paddings: ",
                           list, ", padding: '", padding, "'");
  }
  const size_t dims = explicit_paddings.size();
  if (list.size() != 2 * (dims + 2)) {
    return InvalidArgument("explicit_paddings must have ", dims == 2 ? "eight" : "ten",
                           " elements, got explicit_paddings: ", list);
  }
  const size_t channel = channels_first ? 2 : 2 * (dims + 1);
  if (list[0] != 0 || list[1] != 0 || list[channel] != 0 || list[channel + 1] != 0) {
    return InvalidArgument("explicit_paddings must be 0 for batch and channels, got explicit_paddings: ", list);
  }
  if (*std::min_element(list.begin(), list.end()) < 0) {
    return InvalidArgument("explicit_paddings must not be negative, got explicit_paddings: ", list);
  }
  for (size_t i = 0; i < dims; ++i) {
    const size_t at = 2 * (i + (channels_first ? 2 : 1));
    explicit_paddings[i] = {list[at], list[at + 1]};
  }
  return PaddingKind::kExplicit;
}

}  // namespace tandem
