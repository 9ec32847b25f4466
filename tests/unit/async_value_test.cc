// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Async values: states, indirection, continuations and their nesting, destruction while pending (AV-1 to AV-6, ER-5).

#include "tandem/async_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "small_stack.h"
#include "tandem/chain.h"

namespace tandem {
namespace {

using State = AsyncValue::State;

constexpr int kLongChain = 100'000;

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

// ---- Producers

// AV-8
TEST_F(AsyncValueTest, AV8_AProducerEndsItsValueOnce) {
  auto producer = Producer<Counted>::Make();
  const AsyncValueRef<Counted> value = producer.ref();
  EXPECT_EQ(value.value()->state(), State::kUnconstructed);
  producer.Construct(4);
  EXPECT_EQ(value.FindContent()->value, 4);
  producer.SetConcrete();
  EXPECT_FALSE(producer);
  EXPECT_EQ(value->value, 4);
  EXPECT_TRUE(value.value()->IsUnique());

  auto failing = Producer<Counted>::MakeConstructed(5);
  const AsyncValueRef<Counted> failed = failing.ref();
  EXPECT_EQ(failing.value().value, 5);
  failing.SetError(Internal("x"));
  EXPECT_FALSE(failing);
  EXPECT_EQ(failed.GetError().message(), "x");
}

// AV-8
TEST_F(AsyncValueTest, AV8_AProducerThatGoesAwayMakesItsValueAnError) {
  const std::source_location site = std::source_location::current();
  std::vector<std::string> heard;
  AsyncValueRef<int> value;
  {
    auto producer = Producer<int>::Make();
    producer.Describe("tf.Slow", site);
    value = producer.ref();
    ASSERT_TRUE(value.AndThen([&] { heard.emplace_back(value.GetError().message()); }));
  }
  EXPECT_EQ(heard, std::vector<std::string>{"[tf.Slow] abandoned by its producer"});
  EXPECT_EQ(value.GetError().location().line, site.line());
}

// AV-8: in a closure that is never run, by assignment, and by a move that must not end it.
TEST_F(AsyncValueTest, AV8_AProducerIsAbandonedWhereverItIsLost) {
  auto producer = Producer<int>::Make();
  const AsyncValueRef<int> unrun = producer.ref();
  {
    auto closure = [producer = std::move(producer)]() mutable { producer.Emplace(1); };
    EXPECT_FALSE(producer);
    EXPECT_FALSE(unrun.IsAvailable());
    auto moved = std::move(closure);
    EXPECT_FALSE(unrun.IsAvailable());
  }
  EXPECT_EQ(unrun.GetError().message(), "abandoned by its producer");

  producer = Producer<int>::Make();
  const AsyncValueRef<int> replaced = producer.ref();
  producer = Producer<int>::Make();
  EXPECT_TRUE(replaced.IsError());
  const AsyncValueRef<int> last = producer.ref();
  producer = Producer<int>();
  EXPECT_TRUE(last.IsError());
}

// AV-8: without memory there is no value to end.
TEST_F(AsyncValueTest, AV8_AProducerWithoutMemoryIsNull) {
  EXPECT_FALSE(WithoutMemory([] { return Producer<Counted>::Make(); }));
  EXPECT_FALSE(WithoutMemory([] { return Producer<Counted>::MakeConstructed(1); }));
}

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

// ---- Indirection

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

// ---- Nesting

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

TEST_F(AsyncValueTest, AnIndirectValueThatIsNeverForwardedDropsItsWaiters) {
  std::vector<std::string> log;
  NotingWaiter waiter(log, "a");
  auto indirect = MakeRef<IndirectAsyncValue>();
  indirect->AndThen(waiter);
  indirect.reset();
  EXPECT_EQ(log, std::vector<std::string>{"drop a"});
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
