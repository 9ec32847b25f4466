// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "../temporary_folder.h"

namespace tandem::shader {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

constexpr char kVariable[] = "TANDEM_TEST_CACHE";

std::optional<std::string> Read(const DiskCache& cache, std::string_view key) {
  const auto bytes = cache.Read("kind", key);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

TEST(DiskCacheTest, GivesBackWhatWasWrittenLast) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path() + "/not/there/yet", kVariable);
  EXPECT_EQ(Read(cache, "key"), std::nullopt);
  cache.Write("kind", "key", BytesOf("first"));
  cache.Write("kind", "key", BytesOf("second"));
  cache.Write("kind", "other", BytesOf(""));
  EXPECT_EQ(Read(DiskCache(folder.path() + "/not/there/yet", kVariable), "key"), "second");
  EXPECT_EQ(Read(cache, "other"), "");
  EXPECT_EQ(cache.Read("another kind", "key"), std::nullopt);
}

TEST(DiskCacheTest, EveryChangedByteAndEveryMissingEndIsSeen) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kVariable);
  cache.Write("kind", "key", BytesOf("content"));
  const std::string name = std::filesystem::path(cache.PathOf("kind", "key")).filename();
  const std::string good = folder.Read(name);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    folder.Write(name, bad);
    EXPECT_EQ(Read(cache, "key"), std::nullopt) << i;
    folder.Write(name, good.substr(0, i));
    EXPECT_EQ(Read(cache, "key"), std::nullopt) << i;
  }
  folder.Write(name, good + "x");
  EXPECT_EQ(Read(cache, "key"), std::nullopt);
  folder.Write(name, good);
  EXPECT_EQ(Read(cache, "key"), "content");
}

TEST(DiskCacheTest, AFileThatOthersMayWriteIsIgnored) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kVariable);
  cache.Write("kind", "key", BytesOf("content"));
  const std::string path = cache.PathOf("kind", "key");
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_EQ(Read(cache, "key"), std::nullopt);
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(Read(cache, "key"), "content");
  std::filesystem::rename(path, path + ".real");
  std::filesystem::create_symlink(path + ".real", path);
  EXPECT_EQ(Read(cache, "key"), std::nullopt) << "a link";
}

TEST(DiskCacheTest, WhatCannotBeWrittenIsNot) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("file", "x");
  const DiskCache cache(file, kVariable);
  cache.Write("kind", "key", BytesOf("content"));
  EXPECT_EQ(Read(cache, "key"), std::nullopt);
  EXPECT_EQ(folder.Read("file"), "x");
}

TEST(DiskCacheTest, OffKeepsNothing) {
  const DiskCache cache("off", kVariable);
  EXPECT_FALSE(cache.is_on());
  cache.Write("kind", "key", BytesOf("content"));
  EXPECT_EQ(Read(cache, "key"), std::nullopt);
}

}  // namespace
}  // namespace tandem::shader
