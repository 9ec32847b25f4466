// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The emulation itself: barriers and exchanges let all threads of a block or a warp come by, and what CUDA does not
// allow is an error.

#include "block_runner.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tandem::cuda {
namespace {

Emulation* g_emulation = nullptr;

std::vector<int>& Values(void* const* arguments) { return **static_cast<std::vector<int>* const*>(arguments[0]); }

class BlockRunnerTest : public testing::Test {
 protected:
  BlockRunnerTest() { g_emulation = &runner_.emulation(); }

  Status Run(BlockRunner::Kernel kernel, std::vector<int>& values, const std::array<uint32_t, 3>& grid,
             const std::array<uint32_t, 3>& block, bool waits) {
    std::vector<int>* address = &values;
    void* const arguments[] = {&address};
    return runner_.Run(kernel, arguments, grid, block, waits);
  }

  BlockRunner runner_;
};

TEST_F(BlockRunnerTest, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<int> values(2 * 3 * 2 * 4 * 2, 0);
  const auto kernel = [](void* const* arguments) {
    const Emulation& e = *g_emulation;
    const unsigned block = e.block_index.x + 2 * (e.block_index.y + 3 * e.block_index.z);
    ++Values(arguments)[block * 8 + e.thread_index.x + 4 * e.thread_index.y];
  };
  for (const bool waits : {false, true}) {
    ASSERT_TRUE(Run(kernel, values, {2, 3, 2}, {4, 2, 1}, waits).ok());
  }
  EXPECT_EQ(values, std::vector<int>(values.size(), 2));
}

TEST_F(BlockRunnerTest, ABarrierWaitsForAllThreads) {
  std::vector<int> values(96 * 2, 0);
  const auto kernel = [](void* const* arguments) {
    const unsigned i = g_emulation->thread_index.x;
    std::vector<int>& all = Values(arguments);
    for (int round = 1; round < 4; ++round) {
      all[i] = round * 100 + static_cast<int>(i);
      g_emulation->barrier("kernel", 1);
      all[96 + i] = all[95 - i];
      g_emulation->barrier("kernel", 2);
    }
  };
  ASSERT_TRUE(Run(kernel, values, {2, 1, 1}, {96, 1, 1}, true).ok());
  for (int i = 0; i < 96; ++i) EXPECT_EQ(values[static_cast<size_t>(96 + i)], 300 + 95 - i);
}

TEST_F(BlockRunnerTest, AnExchangeGivesTheWordsOfTheWarp) {
  std::vector<int> values(40, 0);
  const auto kernel = [](void* const* arguments) {
    const unsigned i = g_emulation->thread_index.x;
    int sum = 0;
    // One warp calls it more often than the other, as only barriers concern both.
    for (unsigned round = 0; round < 3 + i / 32; ++round) {
      const unsigned* const words = g_emulation->exchange(i + round);
      sum += static_cast<int>(words[(i + 1) % (i < 32 ? 32 : 8)]);
    }
    g_emulation->barrier("kernel", 1);
    Values(arguments)[i] = sum;
  };
  ASSERT_TRUE(Run(kernel, values, {1, 1, 1}, {40, 1, 1}, true).ok());
  EXPECT_EQ(values[0], 1 + 2 + 3);
  EXPECT_EQ(values[31], 0 + 1 + 2);
  EXPECT_EQ(values[32], 33 + 34 + 35 + 36);
  EXPECT_EQ(values[39], 32 + 33 + 34 + 35);
}

TEST_F(BlockRunnerTest, WhatNotAllThreadsComeToIsAnError) {
  std::vector<int> values;
  const auto expect = [&](BlockRunner::Kernel kernel, const std::string& text) {
    const Status status = Run(kernel, values, {1, 1, 1}, {64, 1, 1}, true);
    EXPECT_EQ(status.message(), "kernel has " + text);
    // The next one is none the worse.
    EXPECT_TRUE(Run([](void* const*) { g_emulation->barrier("kernel", 1); }, values, {1, 1, 1}, {64, 1, 1}, true).ok());
  };
  expect(
      [](void* const*) {
        if (g_emulation->thread_index.x < 10) g_emulation->barrier("kernel", 1);
      },
      "a barrier that 10 of 64 threads come to");
  expect(
      [](void* const*) {
        g_emulation->thread_index.x < 63 ? g_emulation->barrier("kernel", 1) : g_emulation->barrier("kernel", 2);
      },
      "a barrier that 63 of 64 threads come to");
  expect(
      [](void* const*) {
        if (g_emulation->thread_index.x % 2 == 0) g_emulation->exchange(1);
      },
      "a function of a warp that 16 of 32 threads come to");
  expect([](void* const*) { g_emulation->wrong_index(7, 4); }, "index 7 of 4 elements");
}

}  // namespace
}  // namespace tandem::cuda
