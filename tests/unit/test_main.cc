// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// main of every unit test program: the tests, and then the proof that they left no async value behind (AV-6).

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>

#include "skipped_tests.h"
#include "tandem/async_value.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
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
