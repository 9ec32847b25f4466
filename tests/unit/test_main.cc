// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// main of every unit test program: the tests, and then the proof that they left no async value behind (AV-6). With
// --source=NAME, the tests of NAME.cc alone, as if they were a program of that name.

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>

#include "skipped_tests.h"
#include "tandem/async_value.h"

namespace {

// A GoogleTest filter; empty if the source has no tests.
std::string FilterForTestsOf(std::string_view source) {
  const std::string end = "/" + std::string(source) + ".cc";
  std::string filter;
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *tests.GetTestSuite(i);
    // A suite may have tests in several sources.
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      if (!std::string_view(test.file()).ends_with(end)) continue;
      if (!filter.empty()) filter += ':';
      filter.append(suite.name()).append(".").append(test.name());
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kSourceFlag = "--source=";
  std::string source;
  if (argc > 1 && std::string_view(argv[1]).starts_with(kSourceFlag)) {
    source = argv[1] + kSourceFlag.size();
    argv[1] = source.data();  // GoogleTest names its report after the program
    --argc;
    ++argv;
  }
  testing::InitGoogleTest(&argc, argv);
  if (!source.empty()) {
    const std::string filter = FilterForTestsOf(source);
    if (filter.empty()) {
      std::fprintf(stderr, "expected a source of this program after --source=, given \"%s\"\n", source.c_str());
      return 1;
    }
    if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, filter);
  }
#ifdef __EMSCRIPTEN__
  testing::UnitTest::GetInstance()->listeners().Append(new tandem::SkipsTests);
#endif
  const int result = RUN_ALL_TESTS();
  if (result != 0 || !tandem::AsyncValue::CountsLive()) return result;
  const int64_t live = tandem::AsyncValue::NumLive();
  if (live == 0) return 0;
  std::fprintf(stderr, "AV-6: async values still live after the tests: %" PRId64 ", expected 0\n", live);
  return 1;
}
