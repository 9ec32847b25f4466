// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Measuring and copying of attribute entries, by one and the same walk over their values.

#include "defs/attr_storage.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>

#include "tandem/op_attrs.h"
#include "tensor/copy_elements.h"

namespace tandem::internal {
namespace {

static_assert(std::is_trivially_copyable_v<TensorShape> && std::is_trivially_copyable_v<TensorAttr> &&
              std::is_trivially_destructible_v<TensorAttr>);

// OpAttrs sizes its inline storage for at most one tensor, the only value with padding inside.
static_assert(2 * sizeof(TensorAttr) > OpAttrs::kInlineBytes);

template <typename T>
std::span<const T> Values(const AttrEntry& entry) {
  return {static_cast<const T*>(entry.data), entry.size};
}

std::string_view Text(std::string_view text) { return text; }
std::string_view Text(const FunctionAttr& function) { return function.name; }

// Walks over one entry. Without storage it measures: pointers are null and nothing is written.
class EntryWriter {
 public:
  explicit EntryWriter(unsigned char* storage) : storage_(storage) {}

  const void* CopyValues(const AttrEntry& source) {
    switch (source.type) {
      case AttrType::kString:
        return CopyTexts(Values<std::string_view>(source), source.is_array);
      case AttrType::kFunction:
        return CopyTexts(Values<FunctionAttr>(source), source.is_array);
      case AttrType::kTensor:
        return CopyTensors(Values<TensorAttr>(source));
      case AttrType::kAttrs:
        return CopyNested(Values<OpAttrsRef>(source));
      default:
        return CopyPlain(source.data, uint64_t{source.size} * PlainAttrSize(source.type), kAttrAlignment);
    }
  }

  const char* CopyText(std::string_view text) {
    return static_cast<const char*>(CopyPlain(text.data(), text.size(), 1));
  }

  bool ok() const { return ok_; }
  size_t offset() const { return offset_; }
  size_t payload() const { return payload_; }
  uint32_t depth() const { return depth_; }

 private:
  bool measuring() const { return storage_ == nullptr; }

  void* Reserve(uint64_t bytes, size_t alignment) {
    // kMaxAttrBytes is a multiple of every alignment, so rounding up stays within it.
    const size_t begin = (offset_ + alignment - 1) & ~(alignment - 1);
    if (bytes > kMaxAttrBytes - begin) {
      ok_ = false;
      return nullptr;
    }
    offset_ = begin + static_cast<size_t>(bytes);
    payload_ += static_cast<size_t>(bytes);
    return measuring() ? nullptr : storage_ + begin;
  }

  template <typename T>
  T* ReserveArray(size_t count) {
    static_assert(alignof(T) <= kAttrAlignment);
    if (count > kMaxAttrBytes / sizeof(T)) {
      ok_ = false;
      return nullptr;
    }
    return static_cast<T*>(Reserve(count * sizeof(T), alignof(T)));
  }

  void* CopyPlain(const void* source, uint64_t bytes, size_t alignment) {
    void* target = Reserve(bytes, alignment);
    if (target != nullptr && bytes != 0) std::memcpy(target, source, static_cast<size_t>(bytes));
    return target;
  }

  template <typename T>
  const T* CopyTexts(std::span<const T> source, bool is_array) {
    T* target = ReserveArray<T>(source.size());
    if (!is_array) payload_ -= sizeof(T);
    for (size_t i = 0; ok_ && i < source.size(); ++i) {
      const std::string_view text = Text(source[i]);
      const char* copy = CopyText(text);
      if (!measuring()) new (target + i) T{std::string_view(copy, text.size())};
    }
    return target;
  }

  const TensorAttr* CopyTensors(std::span<const TensorAttr> source) {
    TensorAttr* target = ReserveArray<TensorAttr>(source.size());
    for (size_t i = 0; ok_ && i < source.size(); ++i) {
      const TensorAttr& tensor = source[i];
      const bool has_data = tensor.data != nullptr && tensor.metadata.IsValid();
      const size_t bytes = has_data ? tensor.metadata.byte_size() : 0;
      void* data = bytes != 0 ? Reserve(bytes, kAttrAlignment) : nullptr;
      if (data != nullptr) CopyElements(tensor.metadata.dtype, tensor.data, bytes, data);
      const std::string_view* strings = CopyTexts(tensor.strings, /*is_array=*/true);
      if (!measuring()) new (target + i) TensorAttr{tensor.metadata, data, {strings, tensor.strings.size()}};
    }
    return target;
  }

  // Measuring freezes the nested lists; a mutable one keeps the result, so that writing only adds references.
  const OpAttrsRef* CopyNested(std::span<const OpAttrsRef> source) {
    OpAttrsRef* target = ReserveArray<OpAttrsRef>(source.size());
    for (size_t i = 0; ok_ && i < source.size(); ++i) {
      OpAttrsRef frozen = source[i].Freeze().WithDefaults(nullptr);
      if (measuring()) {
        depth_ = std::max(depth_, frozen.too_deep() ? kMaxAttrDepth : frozen.frozen_depth());
        ok_ = !frozen.out_of_memory() && depth_ < kMaxAttrDepth;
      } else {
        new (target + i) OpAttrsRef(std::move(frozen));
      }
    }
    return target;
  }

  unsigned char* storage_;
  size_t offset_ = 0;
  size_t payload_ = 0;
  uint32_t depth_ = 0;
  bool ok_ = true;
};

}  // namespace

bool MeasureAttr(const AttrEntry& source, AttrSize* size) {
  EntryWriter writer(nullptr);
  writer.CopyValues(source);
  writer.CopyText(source.name);
  *size = {AlignAttr(writer.offset()), writer.payload(), writer.depth()};
  return writer.ok();
}

size_t WriteAttr(const AttrEntry& source, unsigned char* storage, AttrEntry* target) {
  EntryWriter writer(storage);
  const void* data = writer.CopyValues(source);
  const char* name = writer.CopyText(source.name);
  assert(writer.ok());
  new (target) AttrEntry{{name, source.name.size()}, source.type, source.is_array, source.size, data};
  return AlignAttr(writer.offset());
}

void DestroyAttrs(std::span<const AttrEntry> entries) {
  for (const AttrEntry& entry : entries) {
    if (entry.type != AttrType::kAttrs) continue;
    std::destroy_n(static_cast<OpAttrsRef*>(const_cast<void*>(entry.data)), entry.size);
  }
}

}  // namespace tandem::internal
