// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FrozenOpAttrs: creation in one block, look-up in large sets, destruction.

#include "tandem/frozen_op_attrs.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "defs/attr_storage.h"

namespace tandem {
namespace {

bool NameLess(const AttrEntry& a, const AttrEntry& b) { return a.name < b.name; }

size_t HeaderSize(size_t num_entries) {
  return internal::AlignAttr(sizeof(FrozenOpAttrs) + num_entries * sizeof(AttrEntry));
}

}  // namespace

RcRef<const FrozenOpAttrs> FrozenOpAttrs::Create(std::span<const AttrEntry> entries) {
  if (entries.size() > internal::kMaxAttrBytes / sizeof(AttrEntry)) return nullptr;
  const uint32_t size = static_cast<uint32_t>(entries.size());
  if (size != entries.size()) return nullptr;
  const size_t header = HeaderSize(size);
  size_t bytes = 0;
  uint32_t depth = 1;
  for (const AttrEntry& entry : entries) {
    internal::AttrSize entry_size;
    if (!internal::MeasureAttr(entry, &entry_size)) return nullptr;
    if (entry_size.bytes > internal::kMaxAttrBytes - bytes) return nullptr;
    bytes += entry_size.bytes;
    depth = std::max(depth, entry_size.depth + 1);
  }

  void* memory = ::operator new(header + bytes, std::nothrow);
  if (memory == nullptr) return nullptr;
  FrozenOpAttrs* set = new (memory) FrozenOpAttrs(size, depth);
  AttrEntry* sorted = reinterpret_cast<AttrEntry*>(set + 1);
  std::copy(entries.begin(), entries.end(), sorted);
  // A fifth of the code of std::sort, and as fast for a few.
  std::make_heap(sorted, sorted + size, NameLess);
  std::sort_heap(sorted, sorted + size, NameLess);
  assert(std::adjacent_find(sorted, sorted + size,
                            [](const AttrEntry& a, const AttrEntry& b) { return a.name == b.name; }) == sorted + size);
  unsigned char* storage = static_cast<unsigned char*>(memory) + header;
  for (AttrEntry& entry : std::span(sorted, size)) {
    const AttrEntry source = entry;
    storage += internal::WriteAttr(source, storage, &entry);
  }
  return RcRef<const FrozenOpAttrs>::Take(set);
}

const AttrEntry* FrozenOpAttrs::FindSorted(std::string_view name) const {
  const std::span<const AttrEntry> all = entries();
  const auto it = std::lower_bound(all.begin(), all.end(), name,
                                   [](const AttrEntry& entry, std::string_view name) { return entry.name < name; });
  return it != all.end() && it->name == name ? &*it : nullptr;
}

void FrozenOpAttrs::Destroy() {
  internal::DestroyAttrs(entries());
  this->~FrozenOpAttrs();
  ::operator delete(this);
}

}  // namespace tandem
