// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/run_when_ready.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "failing_heap.h"
#include "tandem/status.h"

namespace tandem {
namespace {

class RunWhenReadyTest : public testing::Test {
 protected:
  RcRef<ConcreteAsyncValue<int>> Pending() { return MakeUnconstructed<int>(); }
  // Whether the function was called before, and how often by now.
  bool Run(const std::vector<RcRef<ConcreteAsyncValue<int>>>& values) {
    std::vector<AsyncValue*> pointers;
    for (const auto& value : values) pointers.push_back(value.get());
    const int before = num_calls_;
    EXPECT_TRUE(RunWhenReady(pointers, [this, token = std::make_unique<int>(1)] { num_calls_ += *token; }));
    return num_calls_ > before;
  }
  std::atomic<int> num_calls_ = 0;
};

TEST_F(RunWhenReadyTest, RunsAtOnceIfNothingIsMissing) {
  EXPECT_TRUE(Run({}));
  const auto value = Pending();
  value->Emplace(1);
  const auto error = Pending();
  error->SetError(Internal("x"));
  EXPECT_TRUE(Run({value}));
  EXPECT_TRUE(Run({error, value, error}));
  EXPECT_EQ(num_calls_, 3);
}

TEST_F(RunWhenReadyTest, WaitsForEachValueWhateverTheirOrder) {
  for (const std::vector<size_t>& order : {std::vector<size_t>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    const std::vector values = {Pending(), Pending(), Pending()};
    EXPECT_FALSE(Run(values));
    const int before = num_calls_;
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(num_calls_, before);
      order[i] == 1 ? values[order[i]]->SetError(Internal("x")) : values[order[i]]->Emplace(1);
    }
    EXPECT_EQ(num_calls_, before + 1);
  }
}

TEST_F(RunWhenReadyTest, KeepsTheValuesAndNothingAfterwards) {
  auto first = Pending();
  auto second = Pending();
  EXPECT_FALSE(Run({first, second}));
  // The waiter's, the test's and, of the one it waits for now, none more.
  AsyncValue* const watched = second.get();
  second.reset();
  first->Emplace(1);
  EXPECT_EQ(num_calls_, 0);
  static_cast<ConcreteAsyncValue<int>*>(watched)->Emplace(2);
  EXPECT_EQ(num_calls_, 1);
  EXPECT_TRUE(first->IsUnique());
}

TEST_F(RunWhenReadyTest, OneValueSeveralTimes) {
  const auto value = Pending();
  EXPECT_FALSE(Run({value, value, value}));
  value->Emplace(1);
  EXPECT_EQ(num_calls_, 1);
}

// ER-5
TEST_F(RunWhenReadyTest, WithoutMemoryTheFunctionIsNeverCalled) {
  const auto value = Pending();
  AsyncValue* const values[] = {value.get(), value.get(), value.get()};
  EXPECT_FALSE(WithoutMemory([&] { return RunWhenReady(values, [this] { ++num_calls_; }); }));
  value->Emplace(1);
  EXPECT_EQ(num_calls_, 0);
  EXPECT_TRUE(value->IsUnique());
}

// One call each, wherever the values are resolved.
TEST_F(RunWhenReadyTest, ValuesOfOtherThreads) {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector values = {Pending(), Pending(), Pending(), Pending()};
    std::vector<std::thread> threads;
    for (const auto& value : values) threads.emplace_back([&value] { value->Emplace(1); });
    static_cast<void>(Run(values));
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(num_calls_, round + 1);
  }
}

// From the function of one, another waits for what is there, and for what is not.
TEST_F(RunWhenReadyTest, Nested) {
  const auto first = Pending();
  const auto second = Pending();
  AsyncValue* const firsts[] = {first.get()};
  ASSERT_TRUE(RunWhenReady(firsts, [&] {
    EXPECT_TRUE(Run({first}));
    EXPECT_FALSE(Run({second}));
  }));
  first->Emplace(1);
  EXPECT_EQ(num_calls_, 1);
  second->Emplace(1);
  EXPECT_EQ(num_calls_, 2);
}

}  // namespace
}  // namespace tandem
