// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which parts of a block are free, against a list of its bytes.

#include "free_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "failing_heap.h"

namespace tandem::vulkan {
namespace {

TEST(FreeRangesTest, PiecesDoNotOverlapAndAllIsOneAgainInTheEnd) {
  constexpr uint64_t kSize = 4096;
  std::mt19937 random(1);
  FreeRanges ranges;
  ASSERT_TRUE(ranges.Reserve());
  ranges.GiveAll(kSize);
  std::vector<bool> is_taken(kSize);
  std::vector<std::pair<uint64_t, uint64_t>> pieces;
  const auto give = [&](size_t i) {
    const auto [offset, size] = pieces[i];
    ranges.Give(offset, size);
    std::fill_n(is_taken.begin() + static_cast<ptrdiff_t>(offset), size, false);
    pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(i));
  };
  for (int i = 0; i < 5000; ++i) {
    const uint64_t size = 1 + random() % 100;
    ASSERT_TRUE(ranges.Reserve());
    const size_t range = ranges.Find(size);
    if (range == FreeRanges::kNone) {
      const std::vector<bool> wanted(size, false);
      ASSERT_EQ(std::search(is_taken.begin(), is_taken.end(), wanted.begin(), wanted.end()), is_taken.end());
    } else {
      const uint64_t offset = ranges.Take(range, size);
      ASSERT_LE(offset + size, kSize);
      for (uint64_t byte = offset; byte < offset + size; ++byte) {
        ASSERT_FALSE(is_taken[byte]);
        is_taken[byte] = true;
      }
      pieces.emplace_back(offset, size);
    }
    while (!pieces.empty() && random() % 2 == 0) give(random() % pieces.size());
  }
  while (!pieces.empty()) give(random() % pieces.size());
  ASSERT_NE(ranges.Find(kSize), FreeRanges::kNone);
  EXPECT_EQ(ranges.Take(ranges.Find(kSize), kSize), 0u);
  EXPECT_EQ(ranges.Find(1), FreeRanges::kNone);
}

TEST(FreeRangesTest, ER5_GivingBackTakesNoMemory) {
  FreeRanges ranges;
  ASSERT_TRUE(ranges.Reserve());
  ranges.GiveAll(1000);
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(ranges.Reserve());
    ASSERT_EQ(ranges.Take(ranges.Find(1), 1), i);
  }
  EXPECT_EQ(CountAllocations([&] {
              for (uint64_t i = 0; i < 1000; i += 2) ranges.Give(i, 1);
              for (uint64_t i = 1; i < 1000; i += 2) ranges.Give(i, 1);
            }),
            0);
  EXPECT_EQ(ranges.Find(1000), 0u);
}

TEST(FreeRangesTest, ER5_WithoutMemoryNothingChanges) {
  FreeRanges ranges;
  ASSERT_TRUE(ranges.Reserve());
  ranges.GiveAll(1000);
  uint64_t taken = 0;
  WithoutMemory([&] {
    while (ranges.Reserve()) ranges.Take(ranges.Find(1), 1), ++taken;
  });
  EXPECT_LT(taken, 1000u);
  EXPECT_EQ(ranges.Find(1000 - taken), 0u);
}

}  // namespace
}  // namespace tandem::vulkan
