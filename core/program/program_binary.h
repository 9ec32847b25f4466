// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the writer and the reader of binary programs share: the numbers of the format, its checksum and its order of
// bytes. BINARY.md has the layout.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_BINARY_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_BINARY_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tandem/attr_entry.h"
#include "tandem/dtype.h"
#include "tandem/program.h"

namespace tandem {

// The first bytes: one that is no text, a name, and the ends of lines that a transfer as text would change.
inline constexpr std::array<unsigned char, 8> kProgramMagic = {0x89, 'T', 'D', 'M', 'P', '\r', '\n', '\n'};

// Of the layout; a reader refuses those of later versions.
inline constexpr uint64_t kProgramVersion = 1;

// The last bytes of a file, of all before.
inline constexpr size_t kProgramChecksumSize = 4;

// Longer strings are written where they are used: were they in the table, a few bytes of a hostile file would make a
// reader copy much, many times.
inline constexpr size_t kMaxSharedString = 64;

// Added to the number of an attribute's type if it is an array.
inline constexpr uint8_t kProgramArrayAttr = 0x80;

// How the elements of a constant are given.
enum class ProgramElements : uint8_t { kAll = 0, kSplat = 1 };
inline constexpr int kNumProgramElements = 2;

// What a function has.
inline constexpr uint8_t kProgramHasPositions = 1;

// Files have these numbers.
inline constexpr int kNumAttrTypes = 11;
static_assert(static_cast<int>(AttrType::kBool) == 0 && static_cast<int>(AttrType::kI32) == 1 &&
              static_cast<int>(AttrType::kI64) == 2 && static_cast<int>(AttrType::kF32) == 3 &&
              static_cast<int>(AttrType::kF64) == 4 && static_cast<int>(AttrType::kDType) == 5 &&
              static_cast<int>(AttrType::kString) == 6 && static_cast<int>(AttrType::kShape) == 7 &&
              static_cast<int>(AttrType::kTensor) == 8 && static_cast<int>(AttrType::kFunction) == 9 &&
              static_cast<int>(AttrType::kAttrs) == 10);

// Whether the content claims to be a binary program; less than the whole magic does, too, so that a truncated one is
// told as such.
inline bool IsBinaryProgram(std::span<const std::byte> content) {
  return !content.empty() && content[0] == std::byte{kProgramMagic[0]};
}

// CRC-32 as zlib, PNG and Ethernet have it.
uint32_t ProgramChecksum(std::span<const std::byte> content);

// Replaces the last bytes of `file` by the checksum of those before them; nothing if there are too few.
void SetProgramChecksum(std::span<std::byte> file);

// Copies elements of a fixed-size dtype, whole ones, from the order of bytes of `host` to little-endian or back. `to`
// has room for as many bytes as `from` has.
template <std::endian host = std::endian::native>
void CopyLittleEndian(DType dtype, std::span<const std::byte> from, std::byte* to) {
  static_assert(host == std::endian::little || host == std::endian::big);
  if (from.empty()) return;
  std::memcpy(to, from.data(), from.size());
  if constexpr (host == std::endian::big) {
    // A complex number is two numbers.
    const size_t size = dtype == DType::kC64 ? sizeof(float) : DTypeSize(dtype);
    for (size_t i = 0; i < from.size(); i += size) std::reverse(to + i, to + i + size);
  }
}

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_BINARY_H_
