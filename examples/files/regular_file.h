// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Opens files to read, refusing what is not an ordinary file with a size, and replaces files as a whole.

#ifndef TANDEM_EXAMPLES_FILES_REGULAR_FILE_H_
#define TANDEM_EXAMPLES_FILES_REGULAR_FILE_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "tandem/function_ref.h"
#include "tandem/status.h"

namespace files {

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

// Has `write` fill a new file beside `path`, then renames that, so that a file at `path` is always whole: the old one
// or the new one. A failure of the system, or of `write`, leaves the old one, and nothing beside it. Invalid argument
// if `path` is a folder, a pipe or a device. Thread-safe.
tandem::Status ReplaceFile(const std::string& path, tandem::FunctionRef<tandem::Status(std::FILE*)> write);

}  // namespace files

#endif  // TANDEM_EXAMPLES_FILES_REGULAR_FILE_H_
