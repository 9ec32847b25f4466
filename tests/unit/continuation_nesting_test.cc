// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The depth to which continuations and the destruction of values nest, and what is put off past it (AV-4, AV-7).

#include <gtest/gtest.h>

#include <algorithm>
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

// Resolves the next value when the one it waits for is resolved; notes how deep it is nested.
class Relay final : public Waiter {
 public:
  struct Depth {
    int now = 0;
    int max = 0;
    int runs = 0;
  };
  Relay(Depth& depth, RcRef<IntValue> next) : depth_(depth), next_(std::move(next)) {}
  void Run() override {
    depth_.max = std::max(depth_.max, ++depth_.now);
    ++depth_.runs;
    std::exchange(next_, nullptr)->Emplace(1);
    --depth_.now;
    delete this;
  }
  void Drop() override { delete this; }

 private:
  Depth& depth_;
  RcRef<IntValue> next_;
};

// A chain of `length` relays; the first value, which resolves them all, and the last.
std::pair<RcRef<IntValue>, RcRef<IntValue>> MakeRelays(Relay::Depth& depth, int length) {
  RcRef<IntValue> first = MakeUnconstructed<int>();
  RcRef<IntValue> last = first;
  for (int i = 0; i < length; ++i) {
    RcRef<IntValue> next = MakeUnconstructed<int>();
    last->AndThen(*new Relay(depth, next));
    last = std::move(next);
  }
  return {std::move(first), std::move(last)};
}

// AV-4
TEST_F(AsyncValueTest, NestingIsBounded) {
  Relay::Depth depth;
  auto [first, last] = MakeRelays(depth, 1000);
  first->Emplace(1);
  EXPECT_TRUE(last->IsConcrete());
  EXPECT_EQ(depth.runs, 1000);
  EXPECT_LE(depth.max, ContinuationGuard::kMaxDepth);
}

// AV-4
TEST_F(AsyncValueTest, AShortChainNests) {
  Relay::Depth depth;
  auto [first, last] = MakeRelays(depth, 4);
  first->Emplace(1);
  EXPECT_EQ(depth.max, 4);
}

// AV-4, EX-12
TEST_F(AsyncValueTest, ALongChainResolvesOnASmallStackWithoutAllocating) {
  RunOnSmallStack([] {
    Relay::Depth depth;
    auto [first, last] = MakeRelays(depth, kLongChain);
    EXPECT_EQ(CountAllocations([&] { first->Emplace(1); }), 0);
    EXPECT_TRUE(last->IsConcrete());
    EXPECT_EQ(depth.runs, kLongChain);
  });
}

// AV-4
TEST_F(AsyncValueTest, ALongChainOfCallablesPassesAnErrorOnOnASmallStack) {
  RunOnSmallStack([] {
    RcRef<IntValue> first = MakeUnconstructed<int>();
    RcRef<IntValue> last = first;
    for (int i = 0; i < kLongChain; ++i) {
      RcRef<IntValue> next = MakeUnconstructed<int>();
      ASSERT_TRUE(last->AndThen([from = last, next] { next->SetError(from->GetError()); }));
      last = std::move(next);
    }
    const Status error = Internal("x");
    first->SetError(error);
    EXPECT_EQ(last->GetError(), error);
  });
}

// A loop in continuation-passing style over values that are all there.
struct Loop {
  const AsyncValueRef<int>& value;
  int rounds;
  int refused = 0;
  void Next() {
    if (rounds-- == 0) return;
    if (!value.AndThen([this] { Next(); })) ++refused;
  }
};

// AV-4: also where nothing is pending.
TEST_F(AsyncValueTest, ContinuationsOfAvailableValuesAreBoundedToo) {
  RunOnSmallStack([] {
    const auto value = AsyncValueRef<int>::MakeAvailable(1);
    Loop loop{value, kLongChain};
    loop.Next();
    EXPECT_EQ(loop.rounds, -1);
    EXPECT_EQ(loop.refused, 0);
  });
}

// AV-4, ER-5: only past the depth is memory needed, and its lack reported.
TEST_F(AsyncValueTest, WithoutMemoryAContinuationThatIsTooDeepIsRefused) {
  const auto value = AsyncValueRef<int>::MakeAvailable(1);
  Loop loop{value, 1000};
  WithoutMemory([&] { loop.Next(); });
  EXPECT_EQ(loop.refused, 1);
  EXPECT_EQ(loop.rounds, 1000 - ContinuationGuard::kMaxDepth - 1);
}

// Runs `fn` inside as many continuations as may be nested.
template <typename F>
void AtFullDepth(int depth, const F& fn) {
  if (depth == 0) return fn();
  const auto value = AsyncValueRef<int>::MakeAvailable(1);
  ASSERT_TRUE(value.AndThen([&] { AtFullDepth(depth - 1, fn); }));
}

// AV-3, AV-4
TEST_F(AsyncValueTest, PutOffContinuationsKeepTheirOrder) {
  std::vector<std::string> log;
  NotingWaiter waiters[] = {{log, "a1"}, {log, "a2"}, {log, "b1"}, {log, "b2"}, {log, "c"}};
  RcRef<IntValue> a = MakeUnconstructed<int>();
  RcRef<IntValue> b = MakeUnconstructed<int>();
  a->AndThen(waiters[0]);
  a->AndThen(waiters[1]);
  b->AndThen(waiters[2]);
  b->AndThen(waiters[3]);
  AtFullDepth(ContinuationGuard::kMaxDepth, [&] {
    a->Emplace(1);
    b->SetError(Internal("x"));
    a->AndThen(waiters[4]);
    EXPECT_TRUE(log.empty());
  });
  EXPECT_EQ(log, (std::vector<std::string>{"run a1", "run a2", "run b1", "run b2", "run c"}));
}

// AV-4: none is left over when the outermost continuation returns, also those that come from other ones put off.
TEST_F(AsyncValueTest, PutOffContinuationsRunBeforeTheOutermostReturns) {
  Relay::Depth depth;
  auto [first, last] = MakeRelays(depth, 500);
  const auto value = AsyncValueRef<int>::MakeAvailable(1);
  ASSERT_TRUE(value.AndThen([&] { AtFullDepth(ContinuationGuard::kMaxDepth - 1, [&] { first->Emplace(1); }); }));
  EXPECT_TRUE(last->IsConcrete());
  EXPECT_EQ(depth.runs, 500);
}

// AV-4, AV-7: whoever waits inside a continuation runs first what it has put off.
TEST_F(AsyncValueTest, PutOffContinuationsCanBeRunEarly) {
  Relay::Depth depth;
  auto [first, last] = MakeRelays(depth, 500);
  AtFullDepth(ContinuationGuard::kMaxDepth, [&] {
    first->Emplace(1);
    EXPECT_FALSE(last->IsAvailable());
    ContinuationGuard::RunDeferred();
    EXPECT_TRUE(last->IsConcrete());
  });
  EXPECT_EQ(depth.runs, 500);
}

// AV-4: a list of its own for each thread.
TEST_F(AsyncValueTest, ThreadsNestSeparately) {
  std::vector<std::string> log;
  NotingWaiter waiter(log, "other");
  RcRef<IntValue> value = MakeUnconstructed<int>();
  value->AndThen(waiter);
  AtFullDepth(ContinuationGuard::kMaxDepth, [&] {
    std::thread([&] { value->Emplace(1); }).join();
    EXPECT_EQ(log.size(), 1u);
  });
}

// AV-4: values that keep each other are destroyed one after the other, not one inside the other.
TEST_F(AsyncValueTest, ALongChainIsDestroyedOnASmallStack) {
  RunOnSmallStack([] {
    Relay::Depth depth;
    auto [first, last] = MakeRelays(depth, kLongChain);
    std::vector<std::string> log;
    NotingWaiter waiter(log, "last");
    last->AndThen(waiter);
    last.reset();
    first.reset();
    EXPECT_EQ(depth.runs, 0);
    EXPECT_EQ(log, std::vector<std::string>{"drop last"});
  });
}

// AV-4
TEST_F(AsyncValueTest, AValueThatGoesInsideADropIsGoneBeforeTheOutermostReturns) {
  std::vector<std::string> log;
  NotingWaiter waiter(log, "inner");
  RcRef<IntValue> inner = MakeUnconstructed<int>();
  inner->AndThen(waiter);
  RcRef<IntValue> outer = MakeUnconstructed<int>();
  ASSERT_TRUE(outer->AndThen([inner = std::move(inner)] {}));
  outer.reset();
  EXPECT_EQ(log, std::vector<std::string>{"drop inner"});
}

}  // namespace
}  // namespace tandem
