// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ShortestText against std::to_chars, which writes the same.

#include "lib/base/shortest_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace tandem::internal {
namespace {

template <typename Float>
std::string Shortest(Float value) {
  char text[kMaxShortestText];
  return std::string(text, ShortestText(value, text));
}

template <typename Float>
void ExpectAsStandard(Float value) {
  if (!std::isfinite(value)) return;
  char text[64];
  EXPECT_EQ(Shortest(value), std::string(text, std::to_chars(text, text + sizeof(text), value).ptr));
}

TEST(ShortestTextTest, WritesKnownNumbers) {
  EXPECT_EQ(Shortest(0.0), "0");
  EXPECT_EQ(Shortest(-0.0), "-0");
  EXPECT_EQ(Shortest(0.1), "0.1");
  EXPECT_EQ(Shortest(0.1f), "0.1");
  EXPECT_EQ(Shortest(100000.0), "1e+05");
  EXPECT_EQ(Shortest(123456.0), "123456");
  EXPECT_EQ(Shortest(-1234.5), "-1234.5");
  EXPECT_EQ(Shortest(1e-5f), "1e-05");
  EXPECT_EQ(Shortest(0x1p64), "18446744073709551616");
  EXPECT_EQ(Shortest(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(Shortest(std::numeric_limits<float>::max()), "3.4028235e+38");
}

TEST(ShortestTextTest, WritesWhatToCharsWrites) {
  for (int i = -1074; i <= 1023; ++i) {
    ExpectAsStandard(std::ldexp(1.0, i));
    ExpectAsStandard(std::ldexp(1.0f, i));
    ExpectAsStandard(std::nextafter(std::ldexp(1.0, i), 0.0));
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const uint64_t bits = random();
    ExpectAsStandard(std::bit_cast<double>(bits));
    ExpectAsStandard(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    ExpectAsStandard(static_cast<double>(bits >> (i & 63)));
    ExpectAsStandard(static_cast<float>(bits >> (i & 63)));
    ExpectAsStandard(static_cast<double>(bits % 1000000) / 1000);
    ExpectAsStandard(static_cast<float>(bits % 1000000) / 1000);
  }
}

}  // namespace
}  // namespace tandem::internal
