// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DiskCache: entries in a folder of the user's, kept from one run to the next.

#ifndef TANDEM_BACKENDS_SHADER_NATIVE_DISK_CACHE_H_
#define TANDEM_BACKENDS_SHADER_NATIVE_DISK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::shader {

// An entry is a file with a key, of which the file's name has a hash, and content. An entry is used only if it is of
// this version of the format, has the whole key, and its checksum fits; if the file belongs to this user and nobody
// else may write it, since drivers trust what they are given; anything else is as if it were not there. Files are
// replaced atomically, and what cannot be written is not. Thread-safe, also among processes.
class DiskCache {
 public:
  // "off": nothing is kept. Empty: what `variable` says in the environment, else `tandem` in the user's cache folder.
  DiskCache(std::string folder, const char* variable);

  bool is_on() const { return !folder_.empty(); }
  // `kind` is part of the file's name.
  std::optional<std::vector<std::byte>> Read(std::string_view kind, std::string_view key) const;
  void Write(std::string_view kind, std::string_view key, std::span<const std::byte> content) const;

  // Where an entry is, for tests.
  std::string PathOf(std::string_view kind, std::string_view key) const;

 private:
  std::string folder_;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_NATIVE_DISK_CACHE_H_
