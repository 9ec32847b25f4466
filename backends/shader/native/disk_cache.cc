// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tandem::shader {
namespace {

constexpr uint32_t kFormatVersion = 1;
constexpr uint64_t kMostBytes = uint64_t{256} << 20;  // of a file

struct Header {
  char magic[8] = {'T', 'N', 'D', 'M', 'V', 'K', 'C', '\n'};
  uint32_t version = kFormatVersion;
  uint32_t key_size = 0;
  uint64_t content_size = 0;
  uint64_t checksum = 0;  // of key and content
};
static_assert(sizeof(Header) == 32);

// FNV-1a.
uint64_t Hash(std::span<const std::byte> bytes, uint64_t hash = 0xcbf29ce484222325u) {
  for (std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

uint64_t Checksum(std::string_view key, std::span<const std::byte> content) {
  return Hash(content, Hash(BytesOf(key)));
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool Read(void* to, size_t bytes) const {
    auto* place = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t count = read(descriptor_, place, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      place += count;
      bytes -= static_cast<size_t>(count);
    }
    return true;
  }
  bool Write(const void* from, size_t bytes) const {
    const auto* place = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t count = write(descriptor_, place, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      place += count;
      bytes -= static_cast<size_t>(count);
    }
    return true;
  }

 private:
  const int descriptor_;
};

std::string DefaultFolder(const char* named) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  };
  if (std::string folder = variable(named); !folder.empty()) return folder;
  if (const std::string folder = variable("XDG_CACHE_HOME"); !folder.empty()) return folder + "/tandem";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/tandem";
  return "off";
}

// With the folders it is in; those made are the user's alone.
void MakeFolder(const std::string& folder) {
  for (size_t end = folder.find('/', 1); end != std::string::npos; end = folder.find('/', end + 1)) {
    mkdir(folder.substr(0, end).c_str(), 0700);
  }
  mkdir(folder.c_str(), 0700);
}

}  // namespace

DiskCache::DiskCache(std::string folder, const char* variable)
    : folder_(folder.empty() ? DefaultFolder(variable) : std::move(folder)) {
  if (folder_ == "off") folder_.clear();
}

std::string DiskCache::PathOf(std::string_view kind, std::string_view key) const {
  char digits[16];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), Hash(BytesOf(key)), 16);
  return folder_ + "/" + std::string(kind) + "-" + std::string(digits, end.ptr);
}

std::optional<std::vector<std::byte>> DiskCache::Read(std::string_view kind, std::string_view key) const {
  if (!is_on()) return std::nullopt;
  const File file(open(PathOf(kind, key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat facts;
  if (!file.is_open() || fstat(file.descriptor(), &facts) != 0) return std::nullopt;
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return std::nullopt;
  }
  const auto size = static_cast<uint64_t>(facts.st_size);
  const Header expected;
  Header header;
  if (size > kMostBytes || !file.Read(&header, sizeof(header))) return std::nullopt;
  if (std::memcmp(header.magic, expected.magic, sizeof(header.magic)) != 0 || header.version != expected.version ||
      header.key_size != key.size() || header.content_size != size - sizeof(header) - key.size()) {
    return std::nullopt;
  }
  std::string found(key.size(), '\0');
  std::vector<std::byte> content(static_cast<size_t>(header.content_size));
  if (!file.Read(found.data(), found.size()) || !file.Read(content.data(), content.size())) return std::nullopt;
  if (found != key || Checksum(key, content) != header.checksum) return std::nullopt;
  return content;
}

void DiskCache::Write(std::string_view kind, std::string_view key, std::span<const std::byte> content) const {
  if (!is_on() || key.size() > UINT32_MAX || key.size() + content.size() > kMostBytes - sizeof(Header)) return;
  const std::string path = PathOf(kind, key);
  std::string temporary = path + ".XXXXXX";
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);  // 0600
  if (descriptor < 0 && errno == ENOENT) {
    MakeFolder(folder_);
    temporary = path + ".XXXXXX";
    descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  }
  const File file(descriptor);
  if (!file.is_open()) return;
  Header header;
  header.key_size = static_cast<uint32_t>(key.size());
  header.content_size = content.size();
  header.checksum = Checksum(key, content);
  const bool written = file.Write(&header, sizeof(header)) && file.Write(key.data(), key.size()) &&
                       file.Write(content.data(), content.size());
  if (!written || rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace tandem::shader
