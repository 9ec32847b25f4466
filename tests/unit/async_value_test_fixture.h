// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// AsyncValueTest: the fixture of tests of async values, which must leave none behind, and what they put into values and
// let wait for them.

#ifndef TANDEM_TESTS_UNIT_ASYNC_VALUE_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_ASYNC_VALUE_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tandem/async_value.h"

namespace tandem {

inline constexpr int kLongChain = 100'000;

// Counts how many objects of it exist.
struct Counted {
  static inline std::atomic<int> live{0};
  explicit Counted(int value = 0) : value(value) { ++live; }
  Counted(const Counted& other) : value(other.value) { ++live; }
  ~Counted() { --live; }
  int value;
};
using CountedValue = ConcreteAsyncValue<Counted>;
using IntValue = ConcreteAsyncValue<int>;

// Every test leaves nothing behind.
class AsyncValueTest : public testing::Test {
 protected:
  using State = AsyncValue::State;

  void SetUp() override { live_before_ = AsyncValue::NumLive(); }
  void TearDown() override {
    EXPECT_EQ(AsyncValue::NumLive(), live_before_);  // AV-6
    EXPECT_EQ(Counted::live, 0);
  }

 private:
  int64_t live_before_ = 0;
};

// Notes what happened to it.
class NotingWaiter final : public Waiter {
 public:
  NotingWaiter(std::vector<std::string>& log, std::string name) : log_(log), name_(std::move(name)) {}
  void Run() override { log_.push_back("run " + name_); }
  void Drop() override { log_.push_back("drop " + name_); }

 private:
  std::vector<std::string>& log_;
  const std::string name_;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_ASYNC_VALUE_TEST_FIXTURE_H_
