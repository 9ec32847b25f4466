// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Files of the system: read at any place or mapped into memory, and replaced as a whole. Errors name the file.

#ifndef TANDEM_LIB_FILE_H_
#define TANDEM_LIB_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "tandem/function_ref.h"
#include "tandem/host_allocator.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"

namespace tandem {

// An open file; none if it was moved from. Closes it.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  bool IsOpen() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Closes it; false if the system reports that something was not written.
  bool Close();

 private:
  int fd_ = -1;
};

// An ordinary file to read. Reading is thread-safe.
class InputFile {
 public:
  InputFile() = default;

  // NotFound if there is no such file or it cannot be read; InvalidArgument for a folder, a pipe or a device, none of
  // which is waited for.
  static StatusOr<InputFile> Open(const std::string& path);

  // In bytes, when it was opened.
  uint64_t size() const { return size_; }
  // Fills `out` with the bytes from `offset` on. DataLoss if the file has fewer by now, or the system cannot read them.
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const;
  // All of it as memory that is not written to; null if there is no room for that, or the system cannot do so.
  RcRef<HostBuffer> Map() const;

 private:
  std::string path_;
  FileDescriptor file_;
  uint64_t size_ = 0;
};

// InvalidArgument if `path` is a folder, a pipe or a device, which a rename would replace by a file.
Status CheckReplaceable(const std::string& path);

// Has `write` fill a new file beside `path` by calls of its parameter, then renames that to `path`. A failure of the
// system (FailedPrecondition, or DataLoss when something cannot be written), or of `write`, leaves what was there, and
// nothing beside it; errors as CheckReplaceable's, too. Thread-safe.
using WriteBytes = FunctionRef<Status(std::span<const std::byte>)>;
Status ReplaceFile(const std::string& path, FunctionRef<Status(WriteBytes)> write);

}  // namespace tandem

#endif  // TANDEM_LIB_FILE_H_
