// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conversion of numbers in attributes. Only calls that the check has found wrong come here.

#include "defs/attr_conversion.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "defs/op_signature.h"

namespace tandem {

namespace {

// Whether numbers of type `from` can become `to`, if their values allow it.
bool IsConvertible(AttrType from, AttrType to) {
  if (to == AttrType::kI64) return from == AttrType::kI32;
  return to == AttrType::kF32 && (from == AttrType::kI32 || from == AttrType::kI64 || from == AttrType::kF64);
}

const AttrDef* FindDef(const OpDef& def, const AttrEntry& entry) {
  const int index = def.FindAttr(entry.name);
  return index < 0 ? nullptr : &def.attrs[static_cast<size_t>(index)];
}

bool NeedsConversion(const AttrDef* attr, const AttrEntry& entry) {
  return attr != nullptr && attr->kind != AttrKind::kAny && entry.is_array == attr->is_list &&
         IsConvertible(entry.type, StoredType(attr->kind));
}

// False if the value would not be the same.
bool Convert(int64_t value, float* to) {
  *to = static_cast<float>(value);
  // Not by comparing with the float: x87 registers, in which 32-bit code makes it, have more bits than f32.
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return size == 0 || std::bit_width(size) - std::countr_zero(size) <= std::numeric_limits<float>::digits;
}

bool Convert(double value, float* to) {
  *to = static_cast<float>(value);
  return std::isfinite(*to) || !std::isfinite(value);
}

bool Convert(int64_t value, int64_t* to) {
  *to = value;
  return true;
}

template <typename From, typename To>
bool ConvertAll(const AttrEntry& entry, unsigned char* to) {
  for (uint32_t i = 0; i < entry.size; ++i) {
    To value;
    const From from = static_cast<const From*>(entry.data)[i];
    using Wide = std::conditional_t<std::is_same_v<From, double>, double, int64_t>;
    if (!Convert(static_cast<Wide>(from), &value)) return false;
    std::memcpy(to + i * sizeof(To), &value, sizeof(To));
  }
  return true;
}

bool ConvertEntry(AttrEntry& entry, AttrType type, unsigned char* to) {
  bool fits = false;
  if (type == AttrType::kI64) {
    fits = ConvertAll<int32_t, int64_t>(entry, to);
  } else if (entry.type == AttrType::kI32) {
    fits = ConvertAll<int32_t, float>(entry, to);
  } else if (entry.type == AttrType::kI64) {
    fits = ConvertAll<int64_t, float>(entry, to);
  } else {
    fits = ConvertAll<double, float>(entry, to);
  }
  entry.type = type;
  entry.data = to;
  return fits;
}

}  // namespace

DType ElementDType(AttrType type) {
  switch (type) {
    case AttrType::kBool:
      return DType::kBool;
    case AttrType::kI32:
      return DType::kI32;
    case AttrType::kI64:
      return DType::kI64;
    case AttrType::kF32:
      return DType::kF32;
    case AttrType::kF64:
      return DType::kF64;
    case AttrType::kString:
      return DType::kString;
    default:
      return DType::kInvalid;
  }
}

StatusOr<OpAttrsRef> ConvertAttrs(const OpDef& def, const OpAttrsRef& attrs) {
  const std::span<const AttrEntry> entries = attrs.entries();
  size_t num_numbers = 0;
  for (const AttrEntry& entry : entries) {
    if (NeedsConversion(FindDef(def, entry), entry)) num_numbers += entry.size;
  }
  if (num_numbers == 0 || attrs.out_of_memory()) return OpAttrsRef();
  const std::unique_ptr<AttrEntry[]> converted(new (std::nothrow) AttrEntry[entries.size()]);
  const std::unique_ptr<int64_t[]> numbers(new (std::nothrow) int64_t[num_numbers]);
  if (converted == nullptr || numbers == nullptr) return Status::OutOfMemory();
  int64_t* next = numbers.get();
  size_t num_converted = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    converted[i] = entries[i];
    const AttrDef* attr = FindDef(def, entries[i]);
    if (!NeedsConversion(attr, entries[i])) continue;
    if (ConvertEntry(converted[i], StoredType(attr->kind), reinterpret_cast<unsigned char*>(next))) {
      ++num_converted;
    } else {
      converted[i] = entries[i];
    }
    next += entries[i].size;
  }
  if (num_converted == 0) return OpAttrsRef();
  RcRef<const FrozenOpAttrs> frozen = FrozenOpAttrs::Create({converted.get(), entries.size()});
  if (!frozen) return Status::OutOfMemory();
  return OpAttrsRef(std::move(frozen));
}

}  // namespace tandem
