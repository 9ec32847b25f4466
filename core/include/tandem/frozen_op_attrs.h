// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FrozenOpAttrs: an immutable attribute set, sorted by name, shared by reference, in one block of memory.

#ifndef TANDEM_FROZEN_OP_ATTRS_H_
#define TANDEM_FROZEN_OP_ATTRS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/attr_entry.h"
#include "tandem/export.h"
#include "tandem/ref_counted.h"

namespace tandem {

// The block holds this header, the entries, then all names and values. Any thread may read it.
class TANDEM_EXPORT alignas(AttrEntry) FrozenOpAttrs : public RefCounted<FrozenOpAttrs> {
 public:
  // Copies `entries`, whose names must be distinct, in one allocation; nested lists that are still mutable are frozen
  // (an allocation each, unless cached). Null if memory cannot be had, or the set would be deeper than kMaxAttrDepth.
  static RcRef<const FrozenOpAttrs> Create(std::span<const AttrEntry> entries);

  // Sorted by name, compared as bytes.
  std::span<const AttrEntry> entries() const { return {reinterpret_cast<const AttrEntry*>(this + 1), size_}; }
  size_t size() const { return size_; }
  // 1, and one more than that of the deepest nested list, if there is one; at most kMaxAttrDepth.
  uint32_t depth() const { return depth_; }

  // Null if missing.
  const AttrEntry* Find(std::string_view name) const {
    return size_ <= kMaxLinearSearch ? internal::FindAttr(entries(), name) : FindSorted(name);
  }

 private:
  friend class RefCounted<FrozenOpAttrs>;
  // Up to here comparing every name is faster than a binary search.
  static constexpr uint32_t kMaxLinearSearch = 8;

  FrozenOpAttrs(uint32_t size, uint32_t depth) : size_(size), depth_(depth) {}
  ~FrozenOpAttrs() = default;
  void Destroy();
  const AttrEntry* FindSorted(std::string_view name) const;

  uint32_t size_;
  uint32_t depth_;
};

static_assert(sizeof(FrozenOpAttrs) % alignof(AttrEntry) == 0, "the entries follow the header");

}  // namespace tandem

#endif  // TANDEM_FROZEN_OP_ATTRS_H_
