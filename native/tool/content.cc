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

std::string ShowLine(const std::string& path, uint32_t line, uint32_t column) {
  constexpr size_t kLongest = 200;  // bytes
  std::error_code ignored;
  if (line == 0 || column == 0 || !std::filesystem::is_regular_file(path, ignored)) return "";
  const StatusOr<std::vector<std::byte>> content = ReadContent(path);
  if (!content.ok()) return "";
  std::string_view text(reinterpret_cast<const char*>(content->data()), content->size());
  for (uint32_t i = 1; i < line; ++i) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  const bool can_be_shown =
      text.size() <= kLongest && std::ranges::none_of(text, [](char c) { return c != '\t' && (c & 0xE0) == 0; });
  if (!can_be_shown || column > text.size()) return "";
  // A tab stays one, so that the mark is below its character whatever the tabs are.
  std::string mark;
  size_t character = 1;
  for (size_t i = 0; i < text.size() && character < column; ++i) {
    const bool begins = i + 1 == text.size() || (text[i + 1] & 0xC0) != 0x80;  // the next one
    if (!begins) continue;
    mark += text[i] == '\t' ? '\t' : ' ';
    ++character;
  }
  return "\n" + std::string(text) + "\n" + mark + "^";
}

std::string ExtensionOf(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

}  // namespace tandem::tool
