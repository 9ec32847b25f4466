// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reads to the end, since pipes do not say how much there is.

#include "tool/content.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "file.h"

namespace tandem::tool {

namespace {

std::string ReasonOf(int error) { return std::generic_category().message(error); }

StatusOr<FileDescriptor> OpenToRead(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.IsOpen()) return file;
  if (errno == ENOENT) return MakeError(StatusCode::kNotFound, path, ": expected a file, got none of this name");
  return MakeError(StatusCode::kNotFound, path, ": expected a readable file, got: ", ReasonOf(errno));
}

StatusOr<std::vector<std::byte>> ReadToEnd(const std::string& name, int fd) {
  constexpr size_t kLeast = 65536;
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) return InvalidArgument(name, ": expected a file, got a folder");
  std::vector<std::byte> content;
  // One more than what is there, which finds the end.
  if (S_ISREG(info.st_mode) && info.st_size > 0) content.resize(static_cast<size_t>(info.st_size) + 1);
  size_t size = 0;
  for (;;) {
    if (size == content.size()) content.resize(std::max(kLeast, size + size / 2));
    const ssize_t got = read(fd, content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return MakeError(StatusCode::kDataLoss, name, ": byte ", size, ": expected more, got: ", ReasonOf(errno));
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  content.resize(size);
  return content;
}

}  // namespace

StatusOr<std::vector<std::byte>> ReadContent(const std::string& path) {
  if (path == "-") return ReadToEnd("standard input", STDIN_FILENO);
  TANDEM_ASSIGN_OR_RETURN(const FileDescriptor file, OpenToRead(path));
  return ReadToEnd(path, file.get());
}

Status WriteContent(const std::string& path, std::span<const std::byte> content) {
  return ReplaceFile(path, [content](WriteBytes write) { return write(content); });
}

StatusOr<RcRef<const Program>> ReadProgram(const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const std::vector<std::byte> content, ReadContent(path));
  return Program::Read(content, path == "-" ? "standard input" : path);
}

std::string ShowPlace(const std::string& path, const ProgramPosition& position) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  const StatusOr<std::vector<std::byte>> content = ReadContent(path);
  if (!content.ok()) return "";
  const std::string_view text(reinterpret_cast<const char*>(content->data()), content->size());
  const std::string shown = ShowProgramPlace(text, position);
  return shown.empty() ? "" : "\n" + shown;
}

std::string ExtensionOf(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

}  // namespace tandem::tool
