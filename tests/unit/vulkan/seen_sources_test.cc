// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which shaders were wanted lately.

#include "kernels/elementwise/seen_sources.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tandem::shader {
namespace {

class SeenSourcesTest : public testing::Test {
 protected:
  // The `i`th of the hashes that fall into the same set.
  static uint64_t HashOf(uint64_t i) { return 5 + i * SeenSources::kNumSets; }
  bool IsNew(uint64_t hash) {
    bool is_new = false;
    EXPECT_EQ(seen_.Find(hash, is_new).hash, hash);
    return is_new;
  }
  SeenSources seen_;
};

TEST_F(SeenSourcesTest, WhatFallsTogetherIsKnownFromTheSecondTimeOn) {
  for (uint64_t i = 0; i < SeenSources::kPlaces; ++i) EXPECT_TRUE(IsNew(HashOf(i))) << i;
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < SeenSources::kPlaces; ++i) EXPECT_FALSE(IsNew(HashOf(i))) << i;
  }
}

TEST_F(SeenSourcesTest, TheOneThatWasNotAskedForForTheLongestTimeGoes) {
  for (uint64_t i = 0; i < SeenSources::kPlaces; ++i) IsNew(HashOf(i));
  EXPECT_FALSE(IsNew(HashOf(0)));
  EXPECT_TRUE(IsNew(HashOf(SeenSources::kPlaces)));
  EXPECT_FALSE(IsNew(HashOf(0)));
  EXPECT_TRUE(IsNew(HashOf(1)));
}

TEST_F(SeenSourcesTest, WhatIsBadStaysSoUntilItGoes) {
  bool is_new = false;
  seen_.Find(HashOf(0), is_new).is_bad = true;
  IsNew(HashOf(1));
  EXPECT_TRUE(seen_.Find(HashOf(0), is_new).is_bad);
  for (uint64_t i = 1; i <= SeenSources::kPlaces; ++i) IsNew(HashOf(i));
  EXPECT_FALSE(seen_.Find(HashOf(0), is_new).is_bad);
  EXPECT_TRUE(is_new);
}

TEST_F(SeenSourcesTest, OtherSetsAreNotTouched) {
  IsNew(HashOf(0));
  for (uint64_t i = 1; i < 1000; ++i) {
    if (i % SeenSources::kNumSets != 0) IsNew(5 + i);
  }
  EXPECT_FALSE(IsNew(HashOf(0)));
}

}  // namespace
}  // namespace tandem::shader
