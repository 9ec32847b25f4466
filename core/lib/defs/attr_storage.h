// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How attribute sets lay out their entries: each takes one run of bytes that holds its values, then its name.

#ifndef TANDEM_CORE_LIB_DEFS_ATTR_STORAGE_H_
#define TANDEM_CORE_LIB_DEFS_ATTR_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tandem/attr_entry.h"

namespace tandem::internal {

// Of the start of every entry's bytes.
inline constexpr size_t kAttrAlignment = 8;
static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= kAttrAlignment);

// Bound of the bytes of one entry and of one set; sums of a few such numbers do not overflow size_t.
inline constexpr size_t kMaxAttrBytes = static_cast<size_t>(PTRDIFF_MAX / 4) & ~(kAttrAlignment - 1);

constexpr size_t AlignAttr(size_t bytes) { return (bytes + kAttrAlignment - 1) & ~(kAttrAlignment - 1); }

// Size of the types that are copied as they are; 0 for those that refer to something.
constexpr size_t PlainAttrSize(AttrType type) {
  switch (type) {
    case AttrType::kBool:
      return sizeof(bool);
    case AttrType::kI32:
      return sizeof(int32_t);
    case AttrType::kI64:
      return sizeof(int64_t);
    case AttrType::kF32:
      return sizeof(float);
    case AttrType::kF64:
      return sizeof(double);
    case AttrType::kDType:
      return sizeof(DType);
    case AttrType::kShape:
      return sizeof(TensorShape);
    default:
      return 0;
  }
}

struct AttrSize {
  size_t bytes;    // to be stored; a multiple of kAttrAlignment, at most kMaxAttrBytes
  size_t payload;  // of these, what counts against OpAttrs::kInlineBytes
  uint32_t depth;  // of the deepest nested list; 0 if there is none
};

// What a copy of `source` takes. Freezes nested lists, whose sets keep the frozen copies for `WriteAttr`. False if that
// runs out of memory, the entry is larger than kMaxAttrBytes, or a list is so deep that no set may hold it: then the
// depth is at least kMaxAttrDepth.
bool MeasureAttr(const AttrEntry& source, AttrSize* size);

// Copies a measured entry: names and values to `storage`, which is aligned to kAttrAlignment and has the measured
// number of bytes, and the entry with pointers to them to `target`. Returns that number. Cannot fail.
size_t WriteAttr(const AttrEntry& source, unsigned char* storage, AttrEntry* target);

// Drops the references to nested lists.
void DestroyAttrs(std::span<const AttrEntry> entries);

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_DEFS_ATTR_STORAGE_H_
