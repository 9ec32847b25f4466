// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Short ways to read attributes.

#ifndef TANDEM_TESTS_UNIT_OP_ATTRS_VALUES_H_
#define TANDEM_TESTS_UNIT_OP_ATTRS_VALUES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/message.h"
#include "tandem/op_attrs.h"

namespace tandem {

template <typename T>
std::optional<T> Got(const OpAttrsRef& attrs, std::string_view name) {
  T value{};
  if (!attrs.Get(name, &value)) return std::nullopt;
  return value;
}

inline std::string Print(const OpAttrsRef& attrs) {
  MessageBuilder text;
  text.Append(attrs);
  return std::string(text.view());
}

inline std::vector<std::string_view> Names(const OpAttrsRef& attrs) {
  std::vector<std::string_view> names;
  for (const AttrEntry& entry : attrs.entries()) names.push_back(entry.name);
  return names;
}

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_OP_ATTRS_VALUES_H_
