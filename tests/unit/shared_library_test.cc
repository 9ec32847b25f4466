// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shared libraries of any maker: each thing that may be wrong with one is an error with its path (DL-4).

#include "lib/base/shared_library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace tandem {
namespace {

#ifdef __EMSCRIPTEN__

TEST(SharedLibraryTest, DL4_WebAssemblyHasNone) {
  EXPECT_EQ(SharedLibrary::FindFile("module", "libm.so").status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(SharedLibrary::Open("module", "libm.so").status().message(),
            "expected a system with shared libraries, to get the module libm.so");
}

#else

// The error of a file that does not become a library.
Status ErrorOf(const std::string& path) {
  const StatusOr<std::string> file = SharedLibrary::FindFile("module", path);
  if (!file.ok()) return file.status();
  return SharedLibrary::Open("module", *file).status();
}

TEST(SharedLibraryTest, DL4_AMissingFile) {
  const Status error = ErrorOf("/nowhere/none.so");
  EXPECT_EQ(error.code(), StatusCode::kNotFound);
  EXPECT_EQ(error.message(), "expected the module /nowhere/none.so: No such file or directory");
  EXPECT_EQ(SharedLibrary::Open("module", "/nowhere/none.so").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ErrorOf("").message(), "expected the path of the module, got an empty text");
  EXPECT_EQ(ErrorOf(std::string("none\0.so", 8)).message(), "expected the path of the module, got a NUL in it");
}

TEST(SharedLibraryTest, DL4_AFolder) {
  const Status error = ErrorOf(testing::TempDir());
  EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error.message(), "expected the module " + testing::TempDir() + ": it is no regular file");
}

TEST(SharedLibraryTest, DL4_AFileThatIsNoLibrary) {
  const std::string path = testing::TempDir() + "shared_library_test.txt";
  std::ofstream(path) << "This is no shared library, however long it may be, and however it is read.";
  const Status error = ErrorOf(path);
  EXPECT_EQ(error.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(error.message().starts_with("expected the module " + path + ": ")) << error.message();
  std::filesystem::remove(path);
}

// A file is known by one path, however it is named.
TEST(SharedLibraryTest, DL1_OnePathForAFile) {
  const std::string path = testing::TempDir() + "shared_library_test.so";
  const std::string link = testing::TempDir() + "shared_library_test_link.so";
  std::ofstream(path) << "a file";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(path, link);
  EXPECT_EQ(*SharedLibrary::FindFile("module", link), std::filesystem::canonical(path).string());
  std::filesystem::remove(link);
  std::filesystem::remove(path);
}

TEST(SharedLibraryTest, DL4_AMissingSymbol) {
  const auto library = SharedLibrary::Open("module", "libm.so.6");
  ASSERT_TRUE(library.ok()) << library.status().ToString();
  const StatusOr<void*> cosine = (*library)->Find("cos");
  ASSERT_TRUE(cosine.ok());
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(*cosine)(1.25), std::cos(1.25));
  const StatusOr<void*> none = (*library)->Find("tandem_none");
  EXPECT_EQ(none.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(none.status().message(), "expected libm.so.6 to have tandem_none");
  EXPECT_EQ((*library)->FindOrNull("tandem_none"), nullptr);
}

#endif

}  // namespace
}  // namespace tandem
