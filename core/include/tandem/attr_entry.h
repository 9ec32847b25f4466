// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// AttrEntry: one attribute (name, type, value) as every attribute set stores it, and the C++ types of values.

#ifndef TANDEM_ATTR_ENTRY_H_
#define TANDEM_ATTR_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/export.h"
#include "tandem/message.h"
#include "tandem/tensor_metadata.h"
#include "tandem/tensor_shape.h"

namespace tandem {

class OpAttrsRef;

// How deep lists of attributes may be nested, the outermost one counted: destroying and printing them takes stack for
// each level.
inline constexpr uint32_t kMaxAttrDepth = 64;

enum class AttrType : uint8_t { kBool, kI32, kI64, kF32, kF64, kDType, kString, kShape, kTensor, kFunction, kAttrs };

// "bool", "i32", ... "tensor", "function", "attrs".
TANDEM_EXPORT std::string_view AttrTypeName(AttrType type);

// A dense constant as an attribute: row-major elements of `metadata`; for dtype string, `strings` holds the elements
// and `data` is unused. An attribute set copies what the views show; in the set, `data` is aligned to 8 bytes. No data
// is kept if `metadata` is invalid or `data` is null.
struct TensorAttr {
  TensorMetadata metadata;
  const void* data = nullptr;
  std::span<const std::string_view> strings;
};

// The name of a function of a program.
struct FunctionAttr {
  std::string_view name;
};

// One attribute as it is stored. Scalars are arrays of length one that are marked as scalars. The views point into the
// attribute set they come from.
struct AttrEntry {
  std::string_view name;
  AttrType type;
  bool is_array;
  uint32_t size;     // number of elements; 1 for a scalar
  const void* data;  // `size` elements of the C++ type stored for `type`; in a set aligned to 8 bytes
};

// The value alone: "1", "[1, 2]", "1.0", "\"text\"", "f32", "shape [2,3]", "tensor f32[2,2]", "@name", "{a = 1}".
TANDEM_EXPORT void AppendTo(MessageBuilder& out, const AttrEntry& entry);

// C++ types of attributes: bool, int32_t, int64_t, float, double, DType, std::string_view, TensorShape, TensorAttr,
// FunctionAttr and (as OpAttrsRef) nested lists. Arrays are std::span<const T> of these.
template <typename T>
struct AttrTypeOf;
#define TANDEM_ATTR_TYPE(cpp_type, enumerator)              \
  template <>                                               \
  struct AttrTypeOf<cpp_type> {                             \
    static constexpr AttrType value = AttrType::enumerator; \
  };
TANDEM_ATTR_TYPE(bool, kBool)
TANDEM_ATTR_TYPE(int32_t, kI32)
TANDEM_ATTR_TYPE(int64_t, kI64)
TANDEM_ATTR_TYPE(float, kF32)
TANDEM_ATTR_TYPE(double, kF64)
TANDEM_ATTR_TYPE(DType, kDType)
TANDEM_ATTR_TYPE(std::string_view, kString)
TANDEM_ATTR_TYPE(TensorShape, kShape)
TANDEM_ATTR_TYPE(TensorAttr, kTensor)
TANDEM_ATTR_TYPE(FunctionAttr, kFunction)
TANDEM_ATTR_TYPE(OpAttrsRef, kAttrs)
#undef TANDEM_ATTR_TYPE

template <typename T>
concept AttrValue = requires {
  AttrTypeOf<T>::value;
};

namespace internal {

inline const AttrEntry* FindAttr(std::span<const AttrEntry> entries, std::string_view name) {
  for (const AttrEntry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

template <typename T>
bool GetAttr(const AttrEntry* entry, T* value) {
  if (entry == nullptr || entry->is_array || entry->type != AttrTypeOf<T>::value) return false;
  *value = *static_cast<const T*>(entry->data);
  return true;
}

template <typename T>
bool GetAttrArray(const AttrEntry* entry, std::span<const T>* values) {
  if (entry == nullptr || !entry->is_array || entry->type != AttrTypeOf<T>::value) return false;
  *values = {static_cast<const T*>(entry->data), entry->size};
  return true;
}

}  // namespace internal

}  // namespace tandem

#endif  // TANDEM_ATTR_ENTRY_H_
