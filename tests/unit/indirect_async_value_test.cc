// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Indirect async values: what their targets become they become too, also with threads and without memory (AV-2, ER-5).

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "async_value_test_fixture.h"
#include "failing_heap.h"
#include "small_stack.h"
#include "tandem/async_value.h"

namespace tandem {
namespace {

// AV-2
TEST_F(AsyncValueTest, AnIndirectValueBecomesWhatItsTargetIs) {
  const auto target = AsyncValueRef<Counted>::MakeAvailable(5);
  auto indirect = MakeRef<IndirectAsyncValue>();
  const AsyncValueRef<Counted> ref((RcRef<AsyncValue>(indirect)));
  EXPECT_FALSE(ref.IsAvailable());
  EXPECT_EQ(ref.FindContent(), nullptr);
  EXPECT_EQ(CountAllocations([&] { indirect->ForwardTo(target.CopyRef().TakeValue()); }), 0);
  EXPECT_TRUE(ref.IsConcrete());
  EXPECT_EQ(&ref.get(), &target.get());
  EXPECT_EQ(indirect->Resolved(), target.value());
}

// AV-2
TEST_F(AsyncValueTest, AnIndirectValueKeepsItsTarget) {
  auto indirect = MakeRef<IndirectAsyncValue>();
  indirect->ForwardTo(AsyncValueRef<Counted>::MakeAvailable(5).TakeValue());
  const AsyncValueRef<Counted> ref((RcRef<AsyncValue>(indirect)));
  EXPECT_EQ(ref.get().value, 5);
  EXPECT_EQ(Counted::live, 1);
}

// AV-2
TEST_F(AsyncValueTest, AnIndirectValueFollowsAPendingTarget) {
  RcRef<CountedValue> target = MakeUnconstructed<Counted>();
  auto indirect = MakeRef<IndirectAsyncValue>();
  const AsyncValueRef<Counted> ref((RcRef<AsyncValue>(indirect)));
  std::vector<std::string> log;
  NotingWaiter waiter(log, "a");
  indirect->AndThen(waiter);
  indirect->ForwardTo(target);
  EXPECT_FALSE(ref.IsAvailable());
  EXPECT_TRUE(log.empty());
  target->Emplace(6);
  EXPECT_EQ(ref.get().value, 6);
  EXPECT_EQ(log, std::vector<std::string>{"run a"});
}

// AV-2
TEST_F(AsyncValueTest, AnIndirectValueBecomesItsTargetsError) {
  const Status error = Internal("x");
  RcRef<CountedValue> target = MakeUnconstructed<Counted>();
  auto later = MakeRef<IndirectAsyncValue>();
  later->ForwardTo(target);
  target->Construct(7);
  target->SetError(error);
  auto at_once = MakeRef<IndirectAsyncValue>();
  at_once->ForwardTo(target);
  for (const RcRef<IndirectAsyncValue>& indirect : {later, at_once}) {
    EXPECT_TRUE(indirect->IsError());
    EXPECT_EQ(indirect->GetError(), error);
    const AsyncValueRef<Counted> ref((RcRef<AsyncValue>(indirect)));
    ASSERT_NE(ref.FindContent(), nullptr);
    EXPECT_EQ(ref.FindContent()->value, 7);
  }
}

// AV-2
TEST_F(AsyncValueTest, AnIndirectValueMayBecomeAnErrorOfItsOwn) {
  auto indirect = MakeRef<IndirectAsyncValue>();
  indirect->SetError(Internal("own"));
  EXPECT_EQ(indirect->GetError().detail(), "own");
  EXPECT_EQ(indirect->Resolved(), indirect.get());
  EXPECT_FALSE(indirect->HasContent());
}

// AV-2
TEST_F(AsyncValueTest, IndirectionsCollapse) {
  for (const bool innermost_first : {true, false}) {
    RcRef<CountedValue> target = MakeUnconstructed<Counted>();
    std::vector<RcRef<IndirectAsyncValue>> chain(50);
    for (auto& link : chain) link = MakeRef<IndirectAsyncValue>();
    const auto forward = [&](size_t i) {
      chain[i]->ForwardTo(i == 0 ? RcRef<AsyncValue>(target) : RcRef<AsyncValue>(chain[i - 1]));
    };
    for (size_t i = 0; i < chain.size(); ++i) forward(innermost_first ? i : chain.size() - 1 - i);
    target->Emplace(1);
    for (const auto& link : chain) EXPECT_EQ(link->Resolved(), target.get());
    // What was collapsed is not kept.
    const RcRef<IndirectAsyncValue> last = chain.back();
    chain.clear();
    EXPECT_TRUE(last->IsUnique());
    target.reset();
    EXPECT_EQ(AsyncValueRef<Counted>(RcRef<AsyncValue>(last)).get().value, 1);
  }
}

// AV-2: a target that gives up its producer's reference before it runs its waiters is still there for them.
TEST_F(AsyncValueTest, AnIndirectValueOutlivesTheProducersReference) {
  auto target = MakeRef<CountedValue>(CountedValue::Constructed{}, 9);
  auto indirect = MakeRef<IndirectAsyncValue>();
  indirect->ForwardTo(target);
  target.release()->SetConcreteAndDropRef();
  EXPECT_EQ(AsyncValueRef<Counted>(RcRef<AsyncValue>(indirect)).get().value, 9);
}

// AV-2
TEST_F(AsyncValueTest, AnIndirectValueThatNobodyReadsIsResolvedAndFreed) {
  RcRef<CountedValue> target = MakeUnconstructed<Counted>();
  auto indirect = MakeRef<IndirectAsyncValue>();
  indirect->ForwardTo(target);
  indirect.reset();
  target->Emplace(1);
  EXPECT_TRUE(target->IsUnique());
}

// ER-5
TEST_F(AsyncValueTest, WithoutMemoryToWaitAnIndirectValueIsAnError) {
  RcRef<CountedValue> target = MakeUnconstructed<Counted>();
  auto indirect = MakeRef<IndirectAsyncValue>();
  WithoutMemory([&] { indirect->ForwardTo(target); });
  EXPECT_EQ(indirect->GetError(), Status::OutOfMemory());
  EXPECT_TRUE(target->IsUnique());
}

// AV-2, AV-4
TEST_F(AsyncValueTest, ALongChainOfIndirectionsResolvesOnASmallStack) {
  RunOnSmallStack([] {
    RcRef<CountedValue> target = MakeUnconstructed<Counted>();
    RcRef<AsyncValue> last = target;
    for (int i = 0; i < kLongChain; ++i) {
      auto link = MakeRef<IndirectAsyncValue>();
      link->ForwardTo(std::move(last));
      last = std::move(link);
    }
    target->Emplace(1);
    EXPECT_EQ(last->Resolved(), target.get());
  });
}

TEST_F(AsyncValueTest, AnIndirectValueThatIsNeverForwardedDropsItsWaiters) {
  std::vector<std::string> log;
  NotingWaiter waiter(log, "a");
  auto indirect = MakeRef<IndirectAsyncValue>();
  indirect->AndThen(waiter);
  indirect.reset();
  EXPECT_EQ(log, std::vector<std::string>{"drop a"});
}

// AV-2: the forward and the target's resolution may come from two threads.
TEST_F(AsyncValueTest, ThreadsForwardAndResolve) {
  for (int round = 0; round < 300; ++round) {
    RcRef<CountedValue> target = MakeUnconstructed<Counted>();
    auto outer = MakeRef<IndirectAsyncValue>();
    auto inner = MakeRef<IndirectAsyncValue>();
    std::atomic<int> runs{0};
    ASSERT_TRUE(outer->AndThen([&] { ++runs; }));
    std::thread forwards_outer([&] { outer->ForwardTo(inner); });
    std::thread forwards_inner([&] { inner->ForwardTo(target); });
    std::thread resolves([&] { target->Emplace(5); });
    forwards_outer.join();
    forwards_inner.join();
    resolves.join();
    ASSERT_EQ(outer->Resolved(), target.get());
    ASSERT_EQ(runs, 1);
  }
}

}  // namespace
}  // namespace tandem
