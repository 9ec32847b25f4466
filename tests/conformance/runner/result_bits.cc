// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What results are hashed as.

#include "result_bits.h"

#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/host_tensors.h"

namespace tandem::conformance {

static_assert(std::endian::native == std::endian::little);

void ResultBits::AddBytes(const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3;
}

template <typename Bits>
void ResultBits::AddFloats(const Tensor& result, Bits infinity) {
  constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() >> 1;
  // The highest bit of the fraction says that it is quiet.
  const auto nan = static_cast<Bits>(infinity | ((infinity >> 1) & ~infinity));
  const auto* data = static_cast<const std::byte*>(result.data());
  for (size_t at = 0; at < result.metadata().byte_size(); at += sizeof(Bits)) {
    Bits element;
    std::memcpy(&element, data + at, sizeof(Bits));
    if ((element & kMagnitude) > infinity) element = nan;
    AddBytes(&element, sizeof(Bits));
  }
}

void ResultBits::AddError() { AddBytes("error", 5); }

void ResultBits::Add(const Tensor& result) {
  const TensorMetadata& metadata = result.metadata();
  const std::string_view dtype = DTypeName(metadata.dtype);
  AddBytes(dtype.data(), dtype.size());
  AddNumber(metadata.shape.rank());
  for (int i = 0; i < metadata.shape.rank(); ++i) AddNumber(metadata.shape.dim(i));
  switch (metadata.dtype) {
    case DType::kString: {
      const StringHostView strings(result);
      for (int64_t i = 0; i < strings.size(); ++i) {
        AddNumber(static_cast<int64_t>(strings[i].size()));
        AddBytes(strings[i].data(), strings[i].size());
      }
      break;
    }
    case DType::kF16:
      return AddFloats<uint16_t>(result, 0x7c00);
    case DType::kBF16:
      return AddFloats<uint16_t>(result, 0x7f80);
    case DType::kF32:
    case DType::kC64:
      return AddFloats<uint32_t>(result, 0x7f800000);
    case DType::kF64:
      return AddFloats<uint64_t>(result, 0x7ff0000000000000);
    default:
      AddBytes(result.data(), metadata.byte_size());
  }
}

}  // namespace tandem::conformance
