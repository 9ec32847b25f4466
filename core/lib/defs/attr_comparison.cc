// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Values of one type, element by element.

#include "defs/attr_comparison.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/tensor_shape.h"

namespace tandem {

namespace {

template <typename T>
std::span<const T> Elements(const AttrEntry& entry) {
  return {static_cast<const T*>(entry.data), entry.size};
}

template <typename T>
bool HaveSameBytes(const AttrEntry& a, const AttrEntry& b) {
  return a.size == 0 || std::memcmp(a.data, b.data, a.size * sizeof(T)) == 0;
}

}  // namespace

bool IsComparable(AttrType type) { return type != AttrType::kTensor && type != AttrType::kAttrs; }

bool HaveSameValue(const AttrEntry& a, const AttrEntry& b) {
  if (a.type != b.type || a.is_array != b.is_array || a.size != b.size) return false;
  switch (a.type) {
    case AttrType::kBool:
      return HaveSameBytes<bool>(a, b);
    case AttrType::kDType:
      return HaveSameBytes<DType>(a, b);
    case AttrType::kI32:
    case AttrType::kF32:
      return HaveSameBytes<int32_t>(a, b);
    case AttrType::kI64:
    case AttrType::kF64:
      return HaveSameBytes<int64_t>(a, b);
    case AttrType::kString:
      return std::ranges::equal(Elements<std::string_view>(a), Elements<std::string_view>(b));
    case AttrType::kFunction:
      return std::ranges::equal(Elements<FunctionAttr>(a), Elements<FunctionAttr>(b), {}, &FunctionAttr::name,
                                &FunctionAttr::name);
    case AttrType::kShape:
      return std::ranges::equal(Elements<TensorShape>(a), Elements<TensorShape>(b));
    case AttrType::kTensor:
    case AttrType::kAttrs:
      break;
  }
  return false;
}

}  // namespace tandem
