// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The reader of IDX files in examples/digits: the input is read as images, and as labels, beside a file that is right.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "digits/idx_file.h"

namespace {

// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : descriptor_(memfd_create("idx", MFD_CLOEXEC)) {
    if (descriptor_ < 0) std::abort();
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0) std::abort();
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

constexpr uint8_t kImages[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 10, 20, 30, 40};
constexpr uint8_t kLabels[] = {0, 0, 8, 1, 0, 0, 0, 2, 3, 9};

void Check(const MemoryFile& images, const MemoryFile& labels) {
  const tandem::StatusOr<digits::DigitSet> set = digits::ReadDigits(images.path(), labels.path());
  if (set.ok()) {
    if (set->labels.size() != set->count || set->images.size() != set->count * set->rows * set->cols) std::abort();
    for (size_t i = 0; i < set->count; ++i) {
      if (set->label(i) >= digits::kNumClasses) std::abort();
    }
  } else if (set.status().message().find("/proc/self/fd/") == std::string::npos) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const MemoryFile images(kImages);
  static const MemoryFile labels(kLabels);
  const MemoryFile input(std::span(data, size));
  Check(input, labels);
  Check(images, input);
  return 0;
}
