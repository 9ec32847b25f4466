// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the thread of an event loop runs at once.

#include "tandem/event_loop_turn.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tandem {
namespace {

using std::chrono::milliseconds;

constexpr double kLimit = 1000;

// So many milliseconds after the first test began, with work that is above the limit by little.
bool TakesAfter(int time) {
  static const auto begin = EventLoopTurn::Clock::now();
  return EventLoopTurn::TakesAt(begin + milliseconds(time), kLimit + 1, kLimit);
}

TEST(EventLoopTurnTest, OtherThreadsHandOver) {  // EX-7
  EXPECT_FALSE(EventLoopTurn::Takes(kLimit + 1, kLimit));
  const EventLoopTurn turn;
  EventLoopTurn::Begin();
  EXPECT_TRUE(TakesAfter(0));
  std::thread([] { EXPECT_FALSE(EventLoopTurn::Takes(kLimit + 1, kLimit)); }).join();
}

TEST(EventLoopTurnTest, WhatTakesLongIsHandedOver) {  // EX-7
  const EventLoopTurn turn;
  EventLoopTurn::Begin();
  EXPECT_TRUE(EventLoopTurn::Takes(EventLoopTurn::kMostTimesLimit * kLimit, kLimit));
  EXPECT_FALSE(EventLoopTurn::Takes(1.01 * EventLoopTurn::kMostTimesLimit * kLimit, kLimit));
  EXPECT_FALSE(EventLoopTurn::Takes(1, -1));
}

TEST(EventLoopTurnTest, ATurnEndsAfterAWhileAndTheNextBegins) {
  const EventLoopTurn turn;
  EventLoopTurn::Begin();
  for (int time = 100; time < 108; ++time) EXPECT_TRUE(TakesAfter(time)) << time;
  for (int time = 108; time < 130; ++time) EXPECT_FALSE(TakesAfter(time)) << time;
  EventLoopTurn::Begin();
  EXPECT_TRUE(TakesAfter(130));
}

TEST(EventLoopTurnTest, ALoopThatDidNothingForAWhileHasComeRound) {
  const EventLoopTurn turn;
  EventLoopTurn::Begin();
  EXPECT_TRUE(TakesAfter(200));
  EXPECT_FALSE(TakesAfter(216));
  EXPECT_TRUE(TakesAfter(233));
}

TEST(EventLoopTurnTest, LoopsOfOneThreadShareItsTurns) {
  const EventLoopTurn first;
  {
    const EventLoopTurn second;
    EventLoopTurn::Begin();
    EXPECT_TRUE(TakesAfter(300));
  }
  EXPECT_FALSE(TakesAfter(308));
}

}  // namespace
}  // namespace tandem
