// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Checks what a path stands for before opening it, since opening a pipe would wait for its other end.

#include "digits/regular_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace digits {

using tandem::InvalidArgument;
using tandem::MakeError;
using tandem::StatusCode;

tandem::StatusOr<RegularFile> OpenRegularFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return MakeError(StatusCode::kNotFound, path, ": expected a file, got none of this name");
  }
  if (!std::filesystem::is_regular_file(status)) {
    return InvalidArgument(path, ": expected a regular file, got something else");
  }
  RegularFile opened;
  opened.size = std::filesystem::file_size(path, error);
  opened.file.reset(std::fopen(path.c_str(), "rb"));
  if (error || opened.file == nullptr) {
    return MakeError(StatusCode::kNotFound, path,
                     ": expected a readable file, got: ", std::strerror(error ? error.value() : errno));
  }
  return opened;
}

}  // namespace digits
