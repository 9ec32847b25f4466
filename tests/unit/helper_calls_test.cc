// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// HelperCalls: after which requests a helper is woken, and for how long late ones are not counted on.

#include "lib/async/helper_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace tandem::internal {
namespace {

constexpr int64_t kStart = int64_t{1} << 40;

// Requests at this interval until one wakes a helper; -1 if none of 1,000 does.
int RequestsUntilCall(HelperCalls& calls, int64_t& now, int64_t interval) {
  for (int i = 1; i <= 1000; ++i, now += interval) {
    if (calls.Request(now)) return i;
  }
  return -1;
}

TEST(HelperCallsTest, TheSecondOfTwoRequestsThatFollowEachOtherWakesAHelper) {
  for (const int64_t interval : {int64_t{0}, HelperCalls::kRequestInterval}) {
    HelperCalls calls;
    int64_t now = kStart;
    EXPECT_EQ(RequestsUntilCall(calls, now, interval), 2);
  }
  HelperCalls calls;
  int64_t now = kStart;
  EXPECT_EQ(RequestsUntilCall(calls, now, HelperCalls::kRequestInterval + 1), -1);
}

TEST(HelperCallsTest, AfterCallsInVainItTakesTwiceAsManyRequestsEach) {
  HelperCalls calls;
  int64_t now = kStart;
  for (int wanted = 2; wanted <= 1024; wanted *= 2) {
    EXPECT_EQ(RequestsUntilCall(calls, now, 1000), std::min(wanted, 256));
    calls.EndCall(/*has_found=*/false);
  }
  EXPECT_EQ(RequestsUntilCall(calls, now, 1000), 256);
  calls.EndCall(/*has_found=*/true);
  EXPECT_EQ(RequestsUntilCall(calls, now, 1000), 2);
}

TEST(HelperCallsTest, WhileACallIsUnderWayThereIsNoOther) {
  HelperCalls calls;
  int64_t now = kStart;
  EXPECT_EQ(RequestsUntilCall(calls, now, 1000), 2);
  const int64_t lost = now + HelperCalls::kWakeTime;
  while (now < lost) {
    ASSERT_FALSE(calls.Request(now));
    now += 1000;
  }
  EXPECT_EQ(RequestsUntilCall(calls, now, 1000), 2);
  calls.TakeBack();
  EXPECT_EQ(RequestsUntilCall(calls, now, 1000), 2);
}

TEST(HelperCallsTest, WhatFindsATaskUncalledChangesNothing) {
  HelperCalls calls;
  for (int i = 0; i < 10; ++i) calls.EndCall(/*has_found=*/false);
  int64_t now = kStart;
  EXPECT_EQ(RequestsUntilCall(calls, now, 1000), 2);
}

TEST(HelperCallsTest, LateHelpersAreNotCountedOnForTwiceAsLongEachTime) {
  HelperCalls calls;
  EXPECT_FALSE(calls.was_ever_late());
  EXPECT_FALSE(calls.AreLate(kStart));
  int64_t now = kStart;
  for (int64_t time : {200, 400, 800, 1600, 3200, 6400, 12800, 25600, 50000, 50000}) {
    time *= 1000;
    calls.ReportLate(now);
    EXPECT_TRUE(calls.was_ever_late());
    EXPECT_TRUE(calls.AreLate(now + time - 1)) << time;
    EXPECT_FALSE(calls.AreLate(now + time)) << time;
    now += time + HelperCalls::kSoon - 1;  // late again, soon after
  }
  now += 1;
  calls.ReportLate(now);
  EXPECT_FALSE(calls.AreLate(now + HelperCalls::kMinLateTime));
}

}  // namespace
}  // namespace tandem::internal
