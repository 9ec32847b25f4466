// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Opens files to read, refusing what is not an ordinary file with a size.

#ifndef TANDEM_EXAMPLES_DIGITS_REGULAR_FILE_H_
#define TANDEM_EXAMPLES_DIGITS_REGULAR_FILE_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "tandem/status.h"

namespace digits {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

struct RegularFile {
  File file;
  uint64_t size = 0;  // in bytes, when it was opened
};

// Not found if there is no such file or it cannot be read, invalid argument if it is a folder, a pipe or a device.
tandem::StatusOr<RegularFile> OpenRegularFile(const std::string& path);

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_REGULAR_FILE_H_
