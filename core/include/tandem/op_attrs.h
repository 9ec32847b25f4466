// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpAttrs: the named attributes of one op call, kept on the stack; Freeze() makes an immutable, shareable copy.

#ifndef TANDEM_OP_ATTRS_H_
#define TANDEM_OP_ATTRS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "tandem/dtype.h"
#include "tandem/message.h"
#include "tandem/ref_counted.h"
#include "tandem/tensor_metadata.h"
#include "tandem/tensor_shape.h"

namespace tandem {

class FrozenOpAttrs;
class OpAttrsRef;

enum class AttrType : uint8_t { kBool, kI32, kI64, kF32, kF64, kDType, kString, kShape, kTensor, kFunction, kAttrs };

// "bool", "i32", ... "tensor", "function", "attrs".
std::string_view AttrTypeName(AttrType type);

// A dense constant as an attribute: row-major elements of `metadata`; for dtype string, `strings` holds the elements
// and `data` is unused. The attribute set copies what the views show.
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
  const void* data;  // `size` elements of the C++ type stored for `type`
};

// C++ types of attributes: bool, int32_t, int64_t, float, double, DType, std::string_view, TensorShape, TensorAttr,
// FunctionAttr and (as OpAttrsRef) nested lists. Arrays are std::span<const T> of these.
template <typename T>
struct AttrTypeOf;
#define TANDEM_ATTR_TYPE(cpp_type, enumerator)                \
  template <>                                                 \
  struct AttrTypeOf<cpp_type> {                               \
    static constexpr AttrType value = AttrType::enumerator;   \
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
concept AttrValue = requires { AttrTypeOf<T>::value; };

// A mutable set (AT-1): up to kInlineEntries entries and kInlineBytes bytes of names and values need no heap; the next
// entry or byte moves everything to the heap, and every entry stays readable. Owned and used by one thread.
class OpAttrs {
 public:
  static constexpr int kInlineEntries = 6;
  static constexpr size_t kInlineBytes = 128;

  OpAttrs() = default;
  ~OpAttrs();
  OpAttrs(const OpAttrs&) = delete;
  OpAttrs& operator=(const OpAttrs&) = delete;

  // Copies name and value into the set. False, and no change, if the name is already set, or if memory for it cannot
  // be had (then `out_of_memory()` is true from there on and Execute reports it).
  template <AttrValue T>
  bool Set(std::string_view name, const T& value) {
    return SetRaw(name, AttrTypeOf<T>::value, /*is_array=*/false, &value, 1);
  }
  template <AttrValue T>
  bool SetArray(std::string_view name, std::span<const T> values) {
    return SetRaw(name, AttrTypeOf<T>::value, /*is_array=*/true, values.data(), values.size());
  }
  bool Set(std::string_view name, const char* value) { return Set(name, std::string_view(value)); }

  // False if missing, of another type, or an array; `value` is then left alone. Views point into this set.
  template <AttrValue T>
  bool Get(std::string_view name, T* value) const;
  template <AttrValue T>
  bool GetArray(std::string_view name, std::span<const T>* values) const;

  // Null if missing.
  const AttrEntry* Find(std::string_view name) const;
  // In order of setting.
  std::span<const AttrEntry> entries() const;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool out_of_memory() const { return out_of_memory_; }
  // Whether everything is still on the stack.
  bool is_inline() const { return heap_ == nullptr; }

  // An immutable copy, sorted by name, in one heap allocation; the same one again until the next Set (AT-3). An empty
  // set gives an empty reference without allocating. If memory cannot be had, the result's `out_of_memory()` is true.
  OpAttrsRef Freeze() const;

 private:
  bool SetRaw(std::string_view name, AttrType type, bool is_array, const void* values, size_t count);

  struct Heap;  // the storage after the move; see op_attrs.cc
  AttrEntry inline_entries_[kInlineEntries];
  alignas(8) unsigned char inline_bytes_[kInlineBytes];
  uint32_t size_ = 0;
  uint32_t inline_used_ = 0;
  bool out_of_memory_ = false;
  Heap* heap_ = nullptr;
  mutable RcRef<const FrozenOpAttrs> frozen_;
};

// A set of attributes to read: refers to an OpAttrs on someone's stack, or shares a frozen set (then it owns a
// reference). Reading is thread-safe. Falls back to the defaults of the op's definition where the runtime attached
// them, so that metadata functions and kernels see every attribute of the definition.
class OpAttrsRef {
 public:
  OpAttrsRef();
  OpAttrsRef(const OpAttrs& attrs);  // NOLINT(google-explicit-constructor)
  explicit OpAttrsRef(RcRef<const FrozenOpAttrs> frozen);
  OpAttrsRef(const OpAttrsRef&);
  OpAttrsRef(OpAttrsRef&&) noexcept;
  OpAttrsRef& operator=(OpAttrsRef) noexcept;
  ~OpAttrsRef();

  template <AttrValue T>
  bool Get(std::string_view name, T* value) const;
  template <AttrValue T>
  bool GetArray(std::string_view name, std::span<const T>* values) const;
  // The attribute, or `fallback` if `Get` is false.
  template <AttrValue T>
  T GetOr(std::string_view name, T fallback) const {
    Get(name, &fallback);
    return fallback;
  }

  const AttrEntry* Find(std::string_view name) const;
  // The call's own entries, without defaults; sorted by name if frozen, else in order of setting.
  std::span<const AttrEntry> entries() const;
  bool empty() const { return entries().empty(); }
  bool IsFrozen() const { return frozen_ || mutable_ == nullptr; }
  bool out_of_memory() const;

  // A frozen set adds a reference, a mutable one is frozen (AT-3). Attached defaults stay attached.
  OpAttrsRef Freeze() const;
  // The same attributes over `defaults`, which must outlive the result.
  OpAttrsRef WithDefaults(const FrozenOpAttrs* defaults) const;

 private:
  const OpAttrs* mutable_ = nullptr;
  RcRef<const FrozenOpAttrs> frozen_;
  const FrozenOpAttrs* defaults_ = nullptr;
  bool out_of_memory_ = false;
};

// "{axis = 1, keep_dims = true}", sorted by name.
void AppendTo(MessageBuilder& out, const OpAttrsRef& attrs);
// The value alone: "1", "[1,2]", "\"text\"", "f32", "shape [2,3]".
void AppendTo(MessageBuilder& out, const AttrEntry& entry);

namespace internal {
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

template <AttrValue T>
bool OpAttrs::Get(std::string_view name, T* value) const {
  return internal::GetAttr(Find(name), value);
}
template <AttrValue T>
bool OpAttrs::GetArray(std::string_view name, std::span<const T>* values) const {
  return internal::GetAttrArray(Find(name), values);
}
template <AttrValue T>
bool OpAttrsRef::Get(std::string_view name, T* value) const {
  return internal::GetAttr(Find(name), value);
}
template <AttrValue T>
bool OpAttrsRef::GetArray(std::string_view name, std::span<const T>* values) const {
  return internal::GetAttrArray(Find(name), values);
}

}  // namespace tandem

#endif  // TANDEM_OP_ATTRS_H_
