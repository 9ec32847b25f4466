// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Async values: states, continuations, destruction while pending, several threads, accounting (AV-1, AV-3, AV-6, ER-5).

#include "tandem/async_value.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "async_value_test_fixture.h"
#include "failing_heap.h"
#include "tandem/chain.h"

namespace tandem {
namespace {

// ---- States

// AV-1
TEST_F(AsyncValueTest, GoesFromUnconstructedOverConstructedToConcrete) {
  RcRef<CountedValue> value = MakeUnconstructed<Counted>();
  EXPECT_EQ(value->state(), State::kUnconstructed);
  EXPECT_FALSE(value->IsAvailable());
  EXPECT_FALSE(value->HasContent());
  EXPECT_EQ(Counted::live, 0);
  value->Construct(7);
  EXPECT_EQ(value->state(), State::kConstructed);
  EXPECT_FALSE(value->IsAvailable());
  EXPECT_TRUE(value->HasContent());
  EXPECT_EQ(value->value().value, 7);
  value->SetConcrete();
  EXPECT_EQ(value->state(), State::kConcrete);
  EXPECT_TRUE(value->IsAvailable());
  EXPECT_TRUE(value->IsConcrete());
  EXPECT_FALSE(value->IsError());
  EXPECT_EQ(Counted::live, 1);
}

// AV-1
TEST_F(AsyncValueTest, EmplaceSkipsConstructed) {
  RcRef<CountedValue> value = MakeUnconstructed<Counted>();
  value->Emplace(7);
  EXPECT_TRUE(value->IsConcrete());
  EXPECT_EQ(value->value().value, 7);
}

// AV-1
TEST_F(AsyncValueTest, AnErrorMayComeAtOnce) {
  const Status error = Internal("x");
  RcRef<CountedValue> value = MakeUnconstructed<Counted>();
  value->SetError(error);
  EXPECT_EQ(value->state(), State::kError);
  EXPECT_TRUE(value->IsAvailable());
  EXPECT_FALSE(value->IsConcrete());
  EXPECT_FALSE(value->HasContent());
  EXPECT_EQ(value->GetError(), error);
}

// AV-1: what was constructed before the error stays readable.
TEST_F(AsyncValueTest, AnErrorKeepsWhatWasConstructed) {
  auto value = MakeRef<CountedValue>(CountedValue::Constructed{}, 7);
  EXPECT_EQ(value->state(), State::kConstructed);
  value->SetError(Internal("x"));
  EXPECT_TRUE(value->IsError());
  EXPECT_TRUE(value->HasContent());
  EXPECT_EQ(value->value().value, 7);
  EXPECT_EQ(Counted::live, 1);
}

// AV-1
TEST_F(AsyncValueTest, AvailableValuesAreMadeSo) {
  const auto value = AsyncValueRef<Counted>::MakeAvailable(3);
  EXPECT_TRUE(value.IsConcrete());
  EXPECT_EQ(value.get().value, 3);
  EXPECT_EQ(value->value, 3);
  EXPECT_EQ((*value).value, 3);
  const auto failed = AsyncValueRef<Counted>::MakeError(Internal("x"));
  EXPECT_TRUE(failed.IsError());
  EXPECT_TRUE(failed.IsAvailable());
  EXPECT_EQ(failed.GetError().detail(), "x");
}

// AV-1
TEST_F(AsyncValueTest, TheProducerAloneMayPublishWithoutAnExchange) {
  auto value = MakeRef<CountedValue>(CountedValue::Constructed{}, 7);
  value->SetConcreteUnshared();
  EXPECT_TRUE(value->IsConcrete());
}

TEST_F(AsyncValueTest, ContentIsFoundFromItsConstructionOn) {
  RcRef<CountedValue> value = MakeUnconstructed<Counted>();
  const AsyncValueRef<Counted> ref((RcRef<AsyncValue>(value)));
  EXPECT_EQ(ref.FindContent(), nullptr);
  value->Construct(7);
  ASSERT_NE(ref.FindContent(), nullptr);
  EXPECT_EQ(ref.FindContent()->value, 7);
  value->SetError(Internal("x"));
  ASSERT_NE(ref.FindContent(), nullptr);
  EXPECT_EQ(ref.FindContent()->value, 7);
  EXPECT_EQ(AsyncValueRef<Counted>::MakeError(Internal("x")).FindContent(), nullptr);
}

TEST_F(AsyncValueTest, ReferencesAreSharedAndGivenAway) {
  auto ref = AsyncValueRef<Counted>::MakeAvailable(1);
  EXPECT_TRUE(ref.value()->IsUnique());
  AsyncValueRef<Counted> copy = ref.CopyRef();
  EXPECT_EQ(copy.value(), ref.value());
  EXPECT_FALSE(ref.value()->IsUnique());
  copy.reset();
  EXPECT_FALSE(copy.IsValid());
  EXPECT_TRUE(ref.value()->IsUnique());
  const RcRef<AsyncValue> value = std::move(ref).TakeValue();
  EXPECT_FALSE(ref.IsValid());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(value->IsUnique());
}

TEST_F(AsyncValueTest, AReadyChainIsConcrete) { EXPECT_TRUE(MakeReadyChain().IsConcrete()); }

// ---- Continuations

// AV-3
TEST_F(AsyncValueTest, AContinuationOfAnAvailableValueRunsAtOnce) {
  const auto value = AsyncValueRef<int>::MakeAvailable(1);
  bool ran = false;
  EXPECT_EQ(CountAllocations([&] { EXPECT_TRUE(value.AndThen([&] { ran = true; })); }), 0);
  EXPECT_TRUE(ran);
  std::vector<std::string> log;
  NotingWaiter waiter(log, "a");
  value.AndThen(waiter);
  EXPECT_EQ(log, std::vector<std::string>{"run a"});
}

// AV-3
TEST_F(AsyncValueTest, AContinuationOfAPendingValueRunsOnTheResolvingThread) {
  RcRef<IntValue> value = MakeUnconstructed<int>();
  std::thread::id ran_on;
  ASSERT_TRUE(value->AndThen([&] { ran_on = std::this_thread::get_id(); }));
  EXPECT_EQ(ran_on, std::thread::id());
  std::thread resolver([&] { value->Emplace(1); });
  const std::thread::id resolver_id = resolver.get_id();
  resolver.join();
  EXPECT_EQ(ran_on, resolver_id);
}

// AV-3
TEST_F(AsyncValueTest, ContinuationsRunInTheOrderTheyCame) {
  std::vector<std::string> log;
  std::vector<NotingWaiter> waiters;
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    waiters.emplace_back(log, std::to_string(i));
    expected.push_back("run " + std::to_string(i));
  }
  RcRef<IntValue> value = MakeUnconstructed<int>();
  for (NotingWaiter& waiter : waiters) value->AndThen(waiter);
  value->Construct(1);
  EXPECT_TRUE(log.empty());
  value->SetConcrete();
  EXPECT_EQ(log, expected);
}

// AV-3
TEST_F(AsyncValueTest, ContinuationsRunForErrorsToo) {
  std::vector<std::string> log;
  NotingWaiter waiter(log, "a");
  RcRef<IntValue> value = MakeUnconstructed<int>();
  value->AndThen(waiter);
  value->SetError(Internal("x"));
  EXPECT_EQ(log, std::vector<std::string>{"run a"});
}

// AV-3
TEST_F(AsyncValueTest, AContinuationFindsTheValueAvailable) {
  RcRef<IntValue> value = MakeUnconstructed<int>();
  bool inner_ran = false;
  ASSERT_TRUE(value->AndThen([&] {
    EXPECT_TRUE(value->IsConcrete());
    EXPECT_TRUE(value->AndThen([&] { inner_ran = true; }));
    EXPECT_TRUE(inner_ran);
  }));
  value->Emplace(1);
  EXPECT_TRUE(inner_ran);
}

TEST_F(AsyncValueTest, ACallableIsDestroyedOnceItRan) {
  const auto token = std::make_shared<int>(0);
  RcRef<IntValue> value = MakeUnconstructed<int>();
  ASSERT_TRUE(value->AndThen([token] { ++*token; }));
  EXPECT_EQ(token.use_count(), 2);
  value->Emplace(1);
  EXPECT_EQ(*token, 1);
  EXPECT_EQ(token.use_count(), 1);
}

TEST_F(AsyncValueTest, ACallableMayOwnWhatCannotBeCopied) {
  RcRef<IntValue> value = MakeUnconstructed<int>();
  int got = 0;
  ASSERT_TRUE(value->AndThen([owned = std::make_unique<int>(5), &got] { got = *owned; }));
  value->Emplace(1);
  EXPECT_EQ(got, 5);
}

TEST_F(AsyncValueTest, ACallableMayDropTheValueItWaitsFor) {
  RcRef<IntValue> value = MakeUnconstructed<int>();
  IntValue* producer = value.get();
  producer->AddRef();
  ASSERT_TRUE(producer->AndThen([value = std::move(value)]() mutable { value.reset(); }));
  producer->SetError(Internal("x"));
  producer->DropRef();
}

// TH-5: the producer's reference is gone when the first waiter runs.
TEST_F(AsyncValueTest, AWaiterMayFindTheValueUnique) {
  RcRef<CountedValue> value = MakeRef<CountedValue>(CountedValue::Constructed{}, 1);
  CountedValue* producer = value.get();
  producer->AddRef();
  bool unique = false;
  ASSERT_TRUE(producer->AndThen([&, value = std::move(value)] { unique = value->IsUnique(); }));
  producer->SetConcreteAndDropRef();
  EXPECT_TRUE(unique);
}

TEST_F(AsyncValueTest, TheLastReferenceMayGoWithThePublication) {
  RcRef<CountedValue> value = MakeRef<CountedValue>(CountedValue::Constructed{}, 1);
  bool ran = false;
  ASSERT_TRUE(value->AndThen([&] { ran = true; }));
  value.release()->SetConcreteAndDropRef();
  EXPECT_TRUE(ran);
}

// ER-5
TEST_F(AsyncValueTest, WithoutMemoryACallableIsRefusedAndNeverCalled) {
  RcRef<IntValue> value = MakeUnconstructed<int>();
  const auto token = std::make_shared<int>(0);
  EXPECT_FALSE(WithoutMemory([&] { return value->AndThen([token] { ++*token; }); }));
  EXPECT_EQ(token.use_count(), 1);
  value->Emplace(1);
  EXPECT_EQ(*token, 0);
}

// ER-5
TEST_F(AsyncValueTest, WithoutMemoryValuesAreTheOutOfMemoryError) {
  const auto value = WithoutMemory([] { return AsyncValueRef<Counted>::MakeAvailable(1); });
  EXPECT_EQ(value.GetError(), Status::OutOfMemory());
  const auto error = WithoutMemory([] { return AsyncValueRef<Counted>::MakeError(Status::OutOfMemory()); });
  EXPECT_EQ(error.GetError(), Status::OutOfMemory());
  EXPECT_FALSE(WithoutMemory([] { return MakeUnconstructed<Counted>(); }));
  EXPECT_FALSE(value.value()->IsUnique());
  EXPECT_EQ(value.FindContent(), nullptr);
}

// ---- Destruction while pending

// AV-3
TEST_F(AsyncValueTest, WaitersOfAPendingValueThatGoesAreDroppedInOrder) {
  std::vector<std::string> log;
  NotingWaiter waiters[] = {{log, "a"}, {log, "b"}, {log, "c"}};
  auto value = MakeRef<CountedValue>(CountedValue::Constructed{}, 1);
  for (NotingWaiter& waiter : waiters) value->AndThen(waiter);
  value.reset();
  EXPECT_EQ(log, (std::vector<std::string>{"drop a", "drop b", "drop c"}));
}

// AV-3
TEST_F(AsyncValueTest, ADroppedCallableIsDestroyedUncalled) {
  const auto token = std::make_shared<int>(0);
  RcRef<IntValue> value = MakeUnconstructed<int>();
  ASSERT_TRUE(value->AndThen([token] { ++*token; }));
  value.reset();
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(*token, 0);
}

// ---- Threads

// AV-3: every waiter runs once, whether it came before the value or after it, and sees its content.
TEST_F(AsyncValueTest, ThreadsAddWaitersWhileOneResolves) {
  constexpr int kThreads = 4;
  constexpr int kWaiters = 200;
  for (int round = 0; round < 50; ++round) {
    RcRef<IntValue> value = MakeUnconstructed<int>();
    std::atomic<int> ready{0};
    std::atomic<int> runs{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, ref = RcRef<AsyncValue>(value)] {
        ++ready;
        for (int n = 0; n < kWaiters; ++n) {
          const bool kept = ref->AndThen([&, ref] {
            ++runs;
            if (static_cast<const IntValue*>(ref.get())->value() != 42) ++wrong;
          });
          if (!kept) ++wrong;
        }
      });
    }
    while (ready < kThreads / 2) std::this_thread::yield();
    value->Construct(42);
    std::this_thread::yield();
    value->SetConcrete();
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(runs, kThreads * kWaiters);
    ASSERT_EQ(wrong, 0);
    ASSERT_TRUE(value->IsUnique());
  }
}

// AV-1: who sees a state sees what belongs to it.
TEST_F(AsyncValueTest, ThreadsReadStatesWhileOneResolves) {
  for (int round = 0; round < 300; ++round) {
    RcRef<CountedValue> value = MakeUnconstructed<Counted>();
    auto indirect = MakeRef<IndirectAsyncValue>();
    indirect->ForwardTo(value);
    std::vector<std::thread> readers;
    for (const RcRef<AsyncValue>& read : {RcRef<AsyncValue>(value), RcRef<AsyncValue>(indirect)}) {
      readers.emplace_back([ref = AsyncValueRef<Counted>(read)] {
        while (!ref.IsAvailable()) {
          const Counted* content = ref.FindContent();
          ASSERT_TRUE(content == nullptr || content->value == 5);
          std::this_thread::yield();
        }
        if (ref.IsError()) {
          ASSERT_EQ(ref.GetError().detail(), "x");
        } else {
          ASSERT_EQ(ref.get().value, 5);
        }
      });
    }
    value->Construct(5);
    if (round % 2 == 0) {
      value->SetConcrete();
    } else {
      value->SetError(Internal("x"));
    }
    value.reset();
    indirect.reset();
    for (std::thread& reader : readers) reader.join();
  }
}

// AV-3, AV-6: either the value is resolved, or its waiters are dropped; never both, never neither.
TEST_F(AsyncValueTest, ThreadsDropReferencesWhileOneResolves) {
  std::atomic<int> ended{0};
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    RcRef<IntValue> value = MakeUnconstructed<int>();
    const std::shared_ptr<void> at_end(nullptr, [&](void*) { ++ended; });
    ASSERT_TRUE(value->AndThen([at_end] {}));
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([mine = value]() mutable { mine.reset(); });
    threads.emplace_back([mine = std::move(value), round]() mutable {
      if (round % 2 == 0) mine->Emplace(1);
      mine.reset();
    });
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(at_end.use_count() == 1);
  }
  EXPECT_EQ(ended, kRounds);
}

// AV-3, AV-4: a web of values that several threads resolve.
TEST_F(AsyncValueTest, ThreadsResolveChainsThatCross) {
  constexpr int kLength = 2000;
  std::vector<RcRef<IntValue>> values(kLength);
  for (auto& value : values) value = MakeUnconstructed<int>();
  std::atomic<int> resolved{0};
  // Value i is resolved by the later of values i-1 and i-2.
  std::vector<std::unique_ptr<std::atomic<int>>> missing;
  for (int i = 0; i < kLength; ++i) missing.push_back(std::make_unique<std::atomic<int>>(2));
  for (int i = 2; i < kLength; ++i) {
    for (const int before : {i - 1, i - 2}) {
      ASSERT_TRUE(values[before]->AndThen([&, i] {
        if (--*missing[i] > 0) return;
        ++resolved;
        values[i]->Emplace(i);
      }));
    }
  }
  std::thread first([&] { values[0]->Emplace(0); });
  std::thread second([&] { values[1]->Emplace(1); });
  first.join();
  second.join();
  EXPECT_EQ(resolved, kLength - 2);
  EXPECT_TRUE(values.back()->IsConcrete());
}

// ---- Accounting

// AV-6
TEST_F(AsyncValueTest, LiveValuesAreCounted) {
  if (!AsyncValue::CountsLive()) GTEST_SKIP() << "this build does not count";
  const int64_t before = AsyncValue::NumLive();
  {
    const auto a = AsyncValueRef<int>::MakeAvailable(1);
    const auto b = AsyncValueRef<int>::MakeError(Internal("x"));
    const auto c = MakeRef<IndirectAsyncValue>();
    const auto d = a.CopyRef();
    EXPECT_EQ(AsyncValue::NumLive(), before + 3);
  }
  EXPECT_EQ(AsyncValue::NumLive(), before);
}

// AV-6, ER-5: the ready-made error lives for ever and is not counted.
TEST_F(AsyncValueTest, TheOutOfMemoryValueIsNotCounted) {
  const int64_t before = AsyncValue::NumLive();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 1000; ++n) ASSERT_EQ(OutOfMemoryAsyncValue()->GetError(), Status::OutOfMemory());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(AsyncValue::NumLive(), before);
}

}  // namespace
}  // namespace tandem
