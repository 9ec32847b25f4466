// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The reader of .npy files: elements that are all there and may be written again, or an error that names the file.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "files/npy.h"

namespace {

void CheckError(const tandem::Status& error) {
  if (!error.message().starts_with("input: byte ")) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> content = std::as_bytes(std::span(data, size));
  const tandem::StatusOr<tandem::NpyHeader> header = tandem::ReadNpyHeader(content, "input");
  if (!header.ok()) {
    CheckError(header.status());
    return 0;
  }
  std::vector<std::byte> elements(header->metadata.byte_size());
  if (elements.size() > size) std::abort();
  const tandem::Status read = tandem::ReadNpyElements(content, "input", *header, elements);
  if (!read.ok()) {
    CheckError(read);
    return 0;
  }
  const tandem::StatusOr<std::string> written = tandem::MakeNpyHeader(header->metadata, "output");
  if (!written.ok()) std::abort();
  std::vector<std::byte> file(written->size() + elements.size());
  std::copy_n(std::as_bytes(std::span(*written)).begin(), written->size(), file.begin());
  std::copy(elements.begin(), elements.end(), file.begin() + static_cast<ptrdiff_t>(written->size()));
  const tandem::StatusOr<tandem::NpyHeader> again = tandem::ReadNpyHeader(file, "output");
  if (!again.ok() || !(again->metadata == header->metadata)) std::abort();
  std::vector<std::byte> same(elements.size());
  if (!tandem::ReadNpyElements(file, "output", *again, same).ok() || same != elements) std::abort();
  return 0;
}
