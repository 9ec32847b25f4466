// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Checks what a path stands for before opening it, since opening a pipe would wait for its other end.

#include "files/regular_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace files {

using tandem::InvalidArgument;
using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;

namespace {

// Creates a file beside `path` that was not there before.
StatusOr<File> CreateBeside(const std::string& path, std::string* created) {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    *created = path + ".tmp" + std::to_string(i);
    File file(std::fopen(created->c_str(), "wbx"));
    if (file != nullptr) return file;
    if (errno != EEXIST) break;
  }
  return MakeError(StatusCode::kFailedPrecondition, *created,
                   ": expected to create this file, got: ", std::strerror(errno));
}

Status Close(File file, const std::string& path) {
  // On disk before the rename, or a crash could leave an empty file under the final name.
  const bool is_stored = std::fflush(file.get()) == 0 && fsync(fileno(file.get())) == 0;
  const int error = errno;
  if (std::fclose(file.release()) == 0 && is_stored) return Status();
  return MakeError(StatusCode::kDataLoss, path,
                   ": expected to write all of it, got: ", std::strerror(is_stored ? errno : error));
}

Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (!error) return Status();
  return MakeError(StatusCode::kFailedPrecondition, to, ": expected to rename ", from,
                   " to this, got: ", std::strerror(error.value()));
}

}  // namespace

StatusOr<RegularFile> OpenRegularFile(const std::string& path) {
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

Status ReplaceFile(const std::string& path, tandem::FunctionRef<Status(std::FILE*)> write) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return InvalidArgument(path, ": expected a regular file or a new one, got something else");
  }
  std::string temporary;
  TANDEM_ASSIGN_OR_RETURN(File file, CreateBeside(path, &temporary));
  Status status = write(file.get());
  if (status.ok()) status = Close(std::move(file), temporary);
  if (status.ok()) status = Rename(temporary, path);
  if (!status.ok()) {
    file.reset();
    std::filesystem::remove(temporary, error);
  }
  return status;
}

}  // namespace files
