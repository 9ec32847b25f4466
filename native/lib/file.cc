// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// By the functions of POSIX. WebAssembly has them, too, but for mapping.

// Offsets beyond 2^31 also where pointers have 32 bits; before any header of the system.
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace tandem {
namespace {

constexpr size_t kMaxTransfer = size_t{1} << 30;  // bytes: of what the system's functions take in one call

// What the system says of an errno; for any thread, unlike strerror.
std::string ReasonOf(int error) { return std::generic_category().message(error); }

// The number that `call` gives, which is -1 with EINTR while a signal came first.
template <typename Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

Status WriteAll(const FileDescriptor& file, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        Uninterrupted([&] { return write(file.get(), bytes.data(), std::min(bytes.size(), kMaxTransfer)); });
    if (written < 0) {
      return MakeError(StatusCode::kDataLoss, path, ": expected to write all of it, got: ", ReasonOf(errno));
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return Status();
}

// A file beside `path` that was not there before.
StatusOr<FileDescriptor> CreateBeside(const std::string& path, std::string* created) {
  constexpr int kAttempts = 1000;
  for (int i = 0; i < kAttempts; ++i) {
    *created = path + ".tmp" + std::to_string(i);
    const int fd = Uninterrupted([&] { return open(created->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
    if (fd >= 0) return FileDescriptor(fd);
    if (errno != EEXIST) break;
  }
  return FailedPrecondition(*created, ": expected to create this file, got: ", ReasonOf(errno));
}

// On disk before the rename, or a crash could leave an empty file under the final name.
Status Store(FileDescriptor& file, const std::string& path) {
  const bool is_stored = Uninterrupted([&] { return fsync(file.get()); }) == 0;
  const int error = errno;
  if (file.Close() && is_stored) return Status();
  return MakeError(StatusCode::kDataLoss, path,
                   ": expected to write all of it, got: ", ReasonOf(is_stored ? errno : error));
}

#ifndef __EMSCRIPTEN__
// A whole file in memory.
class MappedFile final : public HostBuffer {
 public:
  MappedFile(void* data, size_t size) : HostBuffer(data, size, /*external=*/true) {}
  ~MappedFile() override { munmap(data(), size()); }
};
#endif

}  // namespace

FileDescriptor::~FileDescriptor() { (void)Close(); }

// Not to be tried again after EINTR: the descriptor is free by then, and another thread may have it.
bool FileDescriptor::Close() {
  const int fd = std::exchange(fd_, -1);
  return fd < 0 || close(fd) == 0 || errno == EINTR;
}

StatusOr<InputFile> InputFile::Open(const std::string& path) {
  InputFile input;
  input.path_ = path;
  // Opening a pipe would wait for its other end.
  input.file_ = FileDescriptor(Uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  struct stat info {};
  if (!input.file_.IsOpen() || fstat(input.file_.get(), &info) != 0) {
    if (errno == ENOENT) return MakeError(StatusCode::kNotFound, path, ": expected a file, got none of this name");
    return MakeError(StatusCode::kNotFound, path, ": expected a readable file, got: ", ReasonOf(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgument(path, ": expected an ordinary file, got ",
                           S_ISDIR(info.st_mode) ? "a folder" : "a pipe or a device");
  }
  input.size_ = static_cast<uint64_t>(info.st_size);
  return input;
}

Status InputFile::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = Uninterrupted(
        [&] { return pread(file_.get(), out.data(), std::min(out.size(), kMaxTransfer), static_cast<off_t>(offset)); });
    if (got <= 0) {
      return MakeError(StatusCode::kDataLoss, path_, ": byte ", offset, ": expected ", out.size(),
                       " more bytes, got: ", got < 0 ? ReasonOf(errno) : "the end of the file");
    }
    offset += static_cast<uint64_t>(got);
    out = out.subspan(static_cast<size_t>(got));
  }
  return Status();
}

RcRef<HostBuffer> InputFile::Map() const {
#ifdef __EMSCRIPTEN__
  return nullptr;
#else
  if (size_ == 0 || size_ > static_cast<uint64_t>(PTRDIFF_MAX)) return nullptr;
  const auto size = static_cast<size_t>(size_);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (data == MAP_FAILED) return nullptr;
  RcRef<MappedFile> mapped = MakeRef<MappedFile>(data, size);
  if (!mapped) munmap(data, size);
  return mapped;
#endif
}

Status CheckReplaceable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return Status();
  return InvalidArgument(path, ": expected an ordinary file or a new one to write to, got ",
                         S_ISDIR(info.st_mode) ? "a folder" : "a pipe or a device");
}

Status ReplaceFile(const std::string& path, FunctionRef<Status(WriteBytes)> write) {
  TANDEM_RETURN_IF_ERROR(CheckReplaceable(path));
  std::string temporary;
  TANDEM_ASSIGN_OR_RETURN(FileDescriptor file, CreateBeside(path, &temporary));
  Status status = write([&](std::span<const std::byte> bytes) { return WriteAll(file, path, bytes); });
  if (status.ok()) status = Store(file, path);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = FailedPrecondition(path, ": expected to rename ", temporary, " to this, got: ", ReasonOf(errno));
  }
  if (!status.ok()) (void)unlink(temporary.c_str());
  return status;
}

}  // namespace tandem
