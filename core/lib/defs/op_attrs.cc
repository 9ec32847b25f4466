// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpAttrs: setting with the move to the heap, freezing, printing of sets.

#include "tandem/op_attrs.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "defs/attr_storage.h"

namespace tandem {

// The block holds this header, the entries, then their bytes.
struct OpAttrs::Heap {
  size_t entry_capacity;
  size_t byte_capacity;

  static size_t HeaderSize(size_t entry_capacity) {
    return internal::AlignAttr(sizeof(Heap) + entry_capacity * sizeof(AttrEntry));
  }
  AttrEntry* entries() { return reinterpret_cast<AttrEntry*>(this + 1); }
  unsigned char* bytes() { return reinterpret_cast<unsigned char*>(this) + HeaderSize(entry_capacity); }
};

inline bool OpAttrs::SetInlineScalar(const AttrEntry& source) {
  const size_t value_size = internal::PlainAttrSize(source.type);
  if (value_size == 0 || source.is_array || heap_ != nullptr || size_ == kInlineEntries) return false;
  if (source.name.size() > kInlineBytes - value_size) return false;
  const size_t payload = value_size + source.name.size();
  if (payload > kInlineBytes - inline_payload_) return false;
  unsigned char* storage = inline_bytes_ + used_;
  char* name = reinterpret_cast<char*>(storage + value_size);
  std::memcpy(storage, source.data, value_size);
  if (!source.name.empty()) std::memcpy(name, source.name.data(), source.name.size());
  new (&inline_entries_[size_]) AttrEntry{{name, source.name.size()}, source.type, false, 1, storage};
  frozen_.reset();
  ++size_;
  used_ += internal::AlignAttr(payload);
  inline_payload_ += static_cast<uint16_t>(payload);
  return true;
}

bool OpAttrs::SetRaw(std::string_view name, AttrType type, bool is_array, const void* values, size_t count) {
  if (Find(name) != nullptr) return false;
  const AttrEntry source{name, type, is_array, static_cast<uint32_t>(count), values};
  if (SetInlineScalar(source)) return true;
  internal::AttrSize size;
  size.depth = 0;
  if (source.size != count || !internal::MeasureAttr(source, &size)) {
    (size.depth < kMaxAttrDepth ? out_of_memory_ : too_deep_) = true;
    return false;
  }
  Heap* larger = nullptr;
  const bool has_room = heap_ == nullptr ? size_ < kInlineEntries && inline_payload_ + size.payload <= kInlineBytes
                                         : size_ < heap_->entry_capacity && size.bytes <= heap_->byte_capacity - used_;
  if (!has_room) {
    larger = CopyToHeap(size.bytes);
    if (larger == nullptr) {
      out_of_memory_ = true;
      return false;
    }
  }
  Heap* heap = larger != nullptr ? larger : heap_;
  AttrEntry* entries = heap != nullptr ? heap->entries() : inline_entries_;
  unsigned char* bytes = heap != nullptr ? heap->bytes() : inline_bytes_;
  assert(heap != nullptr || used_ + size.bytes <= kInlineStorage);
  internal::WriteAttr(source, bytes + used_, &entries[size_]);

  // Only now, as `source` may point into what goes away.
  if (larger != nullptr) {
    if (heap_ != nullptr || has_nested_) Clear();
    heap_ = larger;
    entries_ = entries;
  }
  frozen_.reset();
  ++size_;
  used_ += size.bytes;
  if (heap_ == nullptr) inline_payload_ += static_cast<uint16_t>(size.payload);
  if (type == AttrType::kAttrs) has_nested_ = true;
  return true;
}

OpAttrs::Heap* OpAttrs::CopyToHeap(size_t bytes) const {
  // Doubling makes the copying linear in the end.
  const size_t entry_capacity = std::max<size_t>(2 * size_t{size_}, 2 * kInlineEntries);
  if (entry_capacity > UINT32_MAX / 2 || entry_capacity > internal::kMaxAttrBytes / sizeof(AttrEntry) ||
      bytes > internal::kMaxAttrBytes - used_) {
    return nullptr;
  }
  const size_t byte_capacity = std::max({2 * used_, used_ + bytes, size_t{512}});
  void* memory = ::operator new(Heap::HeaderSize(entry_capacity) + byte_capacity, std::nothrow);
  if (memory == nullptr) return nullptr;
  Heap* heap = new (memory) Heap{entry_capacity, byte_capacity};
  unsigned char* storage = heap->bytes();
  for (uint32_t i = 0; i < size_; ++i) storage += internal::WriteAttr(entries_[i], storage, &heap->entries()[i]);
  assert(storage == heap->bytes() + used_);
  return heap;
}

void OpAttrs::Clear() {
  if (has_nested_) internal::DestroyAttrs(entries());
  ::operator delete(heap_);
}

OpAttrsRef OpAttrs::Freeze() const {
  OpAttrsRef result;
  if (out_of_memory_ || too_deep_) {
    result.out_of_memory_ = out_of_memory_;
    result.too_deep_ = too_deep_;
  } else if (size_ != 0) {
    if (!frozen_) frozen_ = FrozenOpAttrs::Create(entries());
    result.frozen_ = frozen_;
    result.out_of_memory_ = !frozen_;
  }
  return result;
}

OpAttrsRef OpAttrsRef::Freeze() const {
  if (mutable_ == nullptr) return *this;
  OpAttrsRef result = mutable_->Freeze();
  result.defaults_ = defaults_;
  return result;
}

namespace {

// The entry whose name follows `previous` in order; the first if that is null; null at the end.
const AttrEntry* NextByName(std::span<const AttrEntry> entries, const AttrEntry* previous) {
  const AttrEntry* next = nullptr;
  for (const AttrEntry& entry : entries) {
    if (previous != nullptr && entry.name <= previous->name) continue;
    if (next == nullptr || entry.name < next->name) next = &entry;
  }
  return next;
}

}  // namespace

void AppendTo(MessageBuilder& out, const OpAttrsRef& attrs) {
  const std::span<const AttrEntry> entries = attrs.entries();
  out.AppendText("{");
  const AttrEntry* previous = nullptr;
  // Entries that no longer fit would not show.
  while (out.view().size() < MessageBuilder::kCapacity) {
    const AttrEntry* entry = NextByName(entries, previous);
    if (entry == nullptr) break;
    out.Append(previous == nullptr ? "" : ", ", entry->name, " = ", *entry);
    previous = entry;
  }
  out.AppendText("}");
}

}  // namespace tandem
