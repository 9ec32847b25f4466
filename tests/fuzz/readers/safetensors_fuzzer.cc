// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The reader of safetensors: every tensor that the file lists has its values, or an error says what is wrong.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "tandem/eager.h"
#include "tandem/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tandem::eager::SafetensorsFile;
  static const std::unique_ptr<tandem::eager::Runtime> runtime = *tandem::eager::Runtime::Create();
  bool is_released = false;
  {
    const auto file =
        SafetensorsFile::FromMemory(std::as_bytes(std::span(data, size)), [&is_released] { is_released = true; });
    if (!file.ok() && file.status().message().empty()) std::abort();
    if (file.ok()) {
      for (const auto& entry : file->tensors()) {
        if (file->Find(entry.name) != &entry) std::abort();
        // Reads them, so that a sanitizer sees values that are not there.
        if (file->Load(*runtime, entry.name).ToString(1 << 10).empty()) std::abort();
      }
      for (const auto& text : file->metadata()) {
        if (!file->FindMetadata(text.key)) std::abort();
      }
    }
  }
  if (!is_released) std::abort();
  return 0;
}
