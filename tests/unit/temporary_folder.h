// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A folder of its own for a test's files, removed with all it holds.

#ifndef TANDEM_TESTS_UNIT_TEMPORARY_FOLDER_H_
#define TANDEM_TESTS_UNIT_TEMPORARY_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace tandem {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(::testing::TempDir() + "tandem_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Creates or replaces a file and returns its path.
  std::string Write(std::string_view name, std::string_view bytes) const {
    const std::string path = File(name);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    EXPECT_NE(file, nullptr) << path;
    if (file == nullptr) return path;
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    EXPECT_EQ(std::fclose(file), 0);
    return path;
  }
  // The bytes of the file `name`.
  std::string Read(std::string_view name) const {
    std::string bytes;
    std::FILE* file = std::fopen(File(name).c_str(), "rb");
    EXPECT_NE(file, nullptr) << name;
    if (file == nullptr) return bytes;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) bytes += static_cast<char>(c);
    std::fclose(file);
    return bytes;
  }
  // How many files and folders lie in it.
  size_t Count() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::string path_;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_TEMPORARY_FOLDER_H_
