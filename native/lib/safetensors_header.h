// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The header of a safetensors file: read with all checks of the format, and written.

#ifndef TANDEM_LIB_SAFETENSORS_HEADER_H_
#define TANDEM_LIB_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tandem/growing_array.h"
#include "tandem/safetensors.h"

namespace tandem::eager {

inline constexpr uint64_t kMaxHeaderSize = 100'000'000;  // bytes, the format's own limit
inline constexpr uint64_t kHeaderPrefixSize = 8;         // bytes of the header's length, which come before it

// A name as errors show it: quoted, on one line, cut if it is long.
struct ShownName {
  std::string_view name;
};
void AppendTo(MessageBuilder& out, const ShownName& shown);

// What a header says, checked against the size of the file.
struct SafetensorsHeader {
  std::unique_ptr<char[]> text;            // what the views refer to
  GrowingArray<SafetensorsEntry> entries;  // in the order of their data
  GrowingArray<SafetensorsText> metadata;  // in the order of the keys
  GrowingArray<const SafetensorsEntry*> by_name;
};

// The header's size from the first kHeaderPrefixSize bytes of a file of `file_size` bytes. Errors call the file `file`.
StatusOr<size_t> ReadHeaderSize(std::string_view file, std::span<const std::byte> prefix, uint64_t file_size);

// Fills the rest of `header` from its text of `size` bytes, which it writes to.
Status ParseHeader(std::string_view file, size_t size, uint64_t file_size, SafetensorsHeader& header);

// A tensor to write.
struct TensorToSave {
  std::string_view name;
  TensorMetadata metadata;
  const Tensor* tensor = nullptr;
};

// Puts the tensors in the order of a file: by dtype, the widest first as the format's own writer has them, then by
// name. Gives the length and the text of the header, padded with spaces to a multiple of 8 bytes. InvalidArgument for
// what the format cannot hold.
StatusOr<std::string> FormatHeader(std::span<TensorToSave> tensors, const NamedTexts& metadata);

}  // namespace tandem::eager

#endif  // TANDEM_LIB_SAFETENSORS_HEADER_H_
