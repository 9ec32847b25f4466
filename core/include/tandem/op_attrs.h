// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpAttrs: the named attributes of one op call, kept on the stack; Freeze() makes an immutable, shareable copy.

#ifndef TANDEM_OP_ATTRS_H_
#define TANDEM_OP_ATTRS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "tandem/attr_entry.h"
#include "tandem/export.h"
#include "tandem/frozen_op_attrs.h"
#include "tandem/message.h"
#include "tandem/ref_counted.h"

namespace tandem {

// A mutable set (AT-1): up to kInlineEntries entries and kInlineBytes bytes of names and values need no heap; the next
// entry or byte moves everything to the heap, and every entry stays readable. What counts as bytes: the characters of
// names; sizeof(T) for each element of a value, except that a scalar string or function name counts its characters
// alone; the characters of the strings of an array; the elements of a tensor. Padding does not count. A nested list
// counts as one OpAttrsRef: what it refers to is a frozen copy with a block of its own.
//
// Owned and used by one thread. Spans, views and entries got from the set are valid until the next successful Set.
class TANDEM_EXPORT OpAttrs {
 public:
  static constexpr int kInlineEntries = 6;
  static constexpr size_t kInlineBytes = 128;

  OpAttrs() : entries_(inline_entries_) {}
  ~OpAttrs() {
    if (heap_ != nullptr || has_nested_) Clear();
  }
  OpAttrs(const OpAttrs&) = delete;
  OpAttrs& operator=(const OpAttrs&) = delete;

  // Copies name and value into the set; either may be a view into this same set. A nested list is frozen and stored
  // without attached defaults. False, and no change, if the name is already set, or if memory for it cannot be had or a
  // list is nested deeper than kMaxAttrDepth (then `out_of_memory()` or `too_deep()` is true from there on and Execute
  // reports it).
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
  bool Get(std::string_view name, T* value) const {
    return internal::GetAttr(Find(name), value);
  }
  template <AttrValue T>
  bool GetArray(std::string_view name, std::span<const T>* values) const {
    return internal::GetAttrArray(Find(name), values);
  }

  // Null if missing.
  const AttrEntry* Find(std::string_view name) const { return internal::FindAttr(entries(), name); }
  // In order of setting.
  std::span<const AttrEntry> entries() const { return {entries_, size_}; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool out_of_memory() const { return out_of_memory_; }
  bool too_deep() const { return too_deep_; }
  // Whether nothing has been set, nor lost.
  bool is_untouched() const { return (size_ | uint32_t{out_of_memory_} | uint32_t{too_deep_}) == 0; }
  // Whether everything but nested lists is still on the stack.
  bool is_inline() const { return heap_ == nullptr; }

  // An immutable copy, sorted by name, in one heap allocation; the same one again until the next successful Set (AT-3).
  // An empty set gives an empty reference without allocating. If memory cannot be had, now or in a Set before, the
  // result is empty and its `out_of_memory()` is true; the same for `too_deep()`.
  OpAttrsRef Freeze() const;

 private:
  struct Heap;  // the storage after the move

  // Storage that is enough for kInlineBytes that count: what does not count is at most a string_view and 8 bytes of
  // padding an entry.
  static constexpr size_t kInlineStorage = kInlineBytes + kInlineEntries * (sizeof(std::string_view) + 8);

  bool SetRaw(std::string_view name, AttrType type, bool is_array, const void* values, size_t count);
  // The common case of SetRaw; false, and nothing done, if it is not: a plain scalar that stays on the stack.
  bool SetInlineScalar(const AttrEntry& source);
  // A larger block with copies of all entries, and room for one more of `bytes`; null if memory cannot be had.
  Heap* CopyToHeap(size_t bytes) const;
  // Destroys the values and gives back the heap block; the set must not be used after it.
  void Clear();

  AttrEntry* entries_;
  Heap* heap_ = nullptr;
  size_t used_ = 0;  // bytes of storage
  mutable RcRef<const FrozenOpAttrs> frozen_;
  uint32_t size_ = 0;
  uint16_t inline_payload_ = 0;  // of the bytes in inline storage, those that count against kInlineBytes
  bool has_nested_ = false;
  bool out_of_memory_ = false;
  bool too_deep_ = false;
  union {
    AttrEntry inline_entries_[kInlineEntries];  // the first `size_` exist, as long as there is no heap block
  };
  alignas(8) unsigned char inline_bytes_[kInlineStorage];
};

// A set of attributes to read: refers to an OpAttrs on someone's stack, or shares a frozen set (then it owns a
// reference). Reading is thread-safe. Falls back to the defaults of the op's definition where the runtime attached
// them, so that metadata functions and kernels see every attribute of the definition.
class TANDEM_EXPORT OpAttrsRef {
 public:
  OpAttrsRef() = default;
  OpAttrsRef(const OpAttrs& attrs) : mutable_(&attrs) {}  // NOLINT(google-explicit-constructor)
  explicit OpAttrsRef(RcRef<const FrozenOpAttrs> frozen) : frozen_(std::move(frozen)) {}

  // As in OpAttrs. An attribute of the call hides the default of that name even if its type is another.
  template <AttrValue T>
  bool Get(std::string_view name, T* value) const {
    return internal::GetAttr(Find(name), value);
  }
  template <AttrValue T>
  bool GetArray(std::string_view name, std::span<const T>* values) const {
    return internal::GetAttrArray(Find(name), values);
  }
  // The attribute, or `fallback` if `Get` is false.
  template <AttrValue T>
  T GetOr(std::string_view name, T fallback) const {
    Get(name, &fallback);
    return fallback;
  }

  // The call's own entry, else the default, else null.
  const AttrEntry* Find(std::string_view name) const {
    const AttrEntry* entry = nullptr;
    if (mutable_ != nullptr) {
      entry = mutable_->Find(name);
    } else if (frozen_) {
      entry = frozen_->Find(name);
    }
    return entry == nullptr && defaults_ != nullptr ? defaults_->Find(name) : entry;
  }
  // The call's own entries, without defaults; sorted by name if frozen, else in order of setting.
  std::span<const AttrEntry> entries() const {
    if (mutable_ != nullptr) return mutable_->entries();
    return frozen_ ? frozen_->entries() : std::span<const AttrEntry>();
  }
  bool empty() const { return entries().empty(); }
  // Whether the call gave no attribute, and none was lost: then the defaults are all there is.
  bool IsUntouched() const {
    return mutable_ != nullptr ? mutable_->is_untouched() : !frozen_ && !out_of_memory_ && !too_deep_;
  }
  bool IsFrozen() const { return mutable_ == nullptr; }
  // Whether memory ran out for an attribute or for a frozen copy, so that the set is incomplete.
  bool out_of_memory() const { return out_of_memory_ || (mutable_ != nullptr && mutable_->out_of_memory()); }
  // Whether a list was nested too deep to be an attribute, so that the set is incomplete.
  bool too_deep() const { return too_deep_ || (mutable_ != nullptr && mutable_->too_deep()); }
  // Of a frozen set (FrozenOpAttrs::depth); 0 if it is empty.
  uint32_t frozen_depth() const { return frozen_ ? frozen_->depth() : 0; }

  // A frozen set adds a reference, a mutable one is frozen (AT-3), which only its owner's thread may do. Attached
  // defaults stay attached.
  OpAttrsRef Freeze() const;
  // The same attributes over `defaults`, which must outlive the result; null for none.
  OpAttrsRef WithDefaults(const FrozenOpAttrs* defaults) const {
    OpAttrsRef result(*this);
    result.defaults_ = defaults;
    return result;
  }

 private:
  friend class OpAttrs;
  friend class BorrowedOpAttrs;

  // At most one of these two is set.
  const OpAttrs* mutable_ = nullptr;
  RcRef<const FrozenOpAttrs> frozen_;
  const FrozenOpAttrs* defaults_ = nullptr;
  bool out_of_memory_ = false;
  bool too_deep_ = false;
};

// The attributes of a call over `defaults`, as WithDefaults, for as long as its caller holds them: counting a reference
// would take longer than looking an attribute up.
class BorrowedOpAttrs {
 public:
  BorrowedOpAttrs(const OpAttrsRef& attrs, const FrozenOpAttrs* defaults) {
    ref_.mutable_ = attrs.mutable_;
    ref_.frozen_ = RcRef<const FrozenOpAttrs>::Take(attrs.frozen_.get());
    ref_.defaults_ = defaults;
    ref_.out_of_memory_ = attrs.out_of_memory_;
    ref_.too_deep_ = attrs.too_deep_;
  }
  ~BorrowedOpAttrs() { static_cast<void>(ref_.frozen_.release()); }
  BorrowedOpAttrs(const BorrowedOpAttrs&) = delete;
  BorrowedOpAttrs& operator=(const BorrowedOpAttrs&) = delete;

  const OpAttrsRef& ref() const { return ref_; }

 private:
  OpAttrsRef ref_;
};

// "{axis = 1, keep_dims = true}": the call's own entries, sorted by name.
TANDEM_EXPORT void AppendTo(MessageBuilder& out, const OpAttrsRef& attrs);

}  // namespace tandem

#endif  // TANDEM_OP_ATTRS_H_
