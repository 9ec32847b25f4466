// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runtimes: several at once, ended in any order, and what outlives them (WQ-3, WQ-2).

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test_runtime.h"

namespace tandem {
namespace {

TEST(RuntimeTest, WQ3_SeveralLiveInAProcess) {
  TestRuntime a;
  TestRuntime b;
  const TensorHandle in_a = a.Call("t.LongAdd", {a.F32({1}), a.F32({2})});
  const TensorHandle in_b = b.Call("t.LongAdd", {b.F32({3}), b.F32({4})});
  EXPECT_EQ(a.Values(in_a), std::vector<float>{3});
  EXPECT_EQ(b.Values(in_b), std::vector<float>{7});
  a.host().CancelExecution("stop");
  EXPECT_EQ(b.Values(b.Call("t.Add", {b.F32({3}), b.F32({4})})), std::vector<float>{7}) << "not touched";
  EXPECT_TRUE(b.told().empty());
}

TEST(RuntimeTest, WQ3_DestroyedInAnyOrder) {
  for (const std::vector<size_t>& order :
       {std::vector<size_t>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}}) {
    std::vector<std::unique_ptr<TestRuntime>> runtimes;
    for (int i = 0; i < 3; ++i) runtimes.push_back(std::make_unique<TestRuntime>(TestRuntime::WithWorkers(1)));
    std::vector<TensorHandle> handles;
    for (const auto& rt : runtimes) {
      for (int i = 0; i < 20; ++i) handles.push_back(rt->Call("t.LongAdd", {rt->F32({1}), rt->F32({2})}));
    }
    for (const size_t i : order) {
      runtimes[i].reset();
      for (const auto& rt : runtimes) {
        if (rt) {
          EXPECT_EQ(rt->Values(rt->Call("t.Add", {rt->F32({1}), rt->F32({2})})), std::vector<float>{3});
        }
      }
    }
  }
}

TEST(RuntimeTest, WQ3_HandlesOutliveTheRuntime) {
  std::vector<TensorHandle> handles;
  AsyncValueRef<Chain> chain;
  {
    TestRuntime rt;
    handles.push_back(rt.F32({1}));
    handles.push_back(TensorHandle::MakeAvailable(rt.Filled(10'000, 1)));
    handles.push_back(rt.Call("t.Add", {handles[1], handles[1]}));
    handles.push_back(rt.Call("t.LongAdd", {handles[1], handles[1]}));
    handles.push_back(rt.Call("t.Fail", {handles[0]}));
    rt.CallN("t.Note", {handles[0]}, 0, {}, &chain);
  }
  for (const TensorHandle& handle : handles) EXPECT_TRUE(handle.IsAvailable());
}

TEST(RuntimeTest, WQ3_HandlesOfAnotherRuntimeAreAnError) {
  TestRuntime a;
  TestRuntime b;
  constexpr std::string_view kError =
      "[t.Add] argument 1 (y) must be on device cpu, got a tensor on cpu of another runtime";
  EXPECT_EQ(a.ErrorOf(a.Call("t.Add", {a.F32({1}), b.F32({1})})), kError);
  Promise promise = b.MakePromise({DType::kF32, {1}});
  EXPECT_EQ(a.ErrorOf(a.Call("t.Add", {a.F32({1}), promise.Handle()})), kError);
  EXPECT_EQ(a.Values(a.Call("t.Add", {a.F32({1}), a.F32({1})})), std::vector<float>{2}) << "usable afterwards";
}

TEST(RuntimeTest, WQ3_ChainsOfAnotherRuntimeOrderEffectsAcrossBoth) {
  TestRuntime a;
  TestRuntime b;
  Promise promise = a.MakePromise({DType::kF32, {1}});
  AsyncValueRef<Chain> chain;
  a.CallN("t.Note", {promise.Handle()}, 0, {}, &chain);
  b.CallN("t.Note", {b.F32({2})}, 0, {}, &chain);
  EXPECT_TRUE(b.notes().empty());
  promise.Resolve(a.Filled(1, 1));
  EXPECT_EQ(b.notes(), std::vector<float>{2});
}

TEST(RuntimeTest, CA1_DestructionCancelsWhatIsPending) {
  std::vector<TensorHandle> results;
  AsyncValueRef<Chain> chain;
  Promise promise;
  {
    TestRuntime rt;
    promise = rt.MakePromise();
    results.push_back(rt.Call("t.Add", {promise.Handle(), rt.F32({1})}));
    results.push_back(rt.Call("t.NonZero", {results[0]}));
    results.push_back(rt.Call("t.LongAdd", {promise.Handle(), promise.Handle()}));
    rt.CallN("t.Note", {promise.Handle()}, 0, {}, &chain);
  }
  for (const TensorHandle& result : results) {
    ASSERT_TRUE(result.IsError());
    EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
    EXPECT_EQ(result.GetError().detail(), "the runtime is being destroyed");
  }
  ASSERT_TRUE(chain.IsError());
  // Nobody hears of it any more.
  promise.Fail(Internal("too late"));
}

TEST(RuntimeTest, CA1_ValuesThatAreResolvedAfterDestruction) {
  for (const bool with_metadata : {false, true}) {
    Promise promise;
    Tensor tensor({DType::kF32, {1}}, nullptr);
    {
      TestRuntime rt;
      promise = with_metadata ? rt.MakePromise() : rt.MakePromise({DType::kF32, {1}});
      tensor = rt.Filled(1, 1);
      for (int i = 0; i < 100; ++i) rt.Call("t.Add", {promise.Handle(), promise.Handle()}).reset();
    }
    promise.Resolve(std::move(tensor));
  }
}

TEST(RuntimeTest, CA1_KernelsThatResolveAfterDestruction) {
  for (const bool is_error : {false, true}) {
    RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
    RcRef<ConcreteAsyncValue<Chain>> effect = MakeUnconstructed<Chain>();
    Tensor tensor({DType::kF32, {1}}, nullptr);
    TensorHandle result;
    AsyncValueRef<Chain> chain;
    {
      TestRuntime rt;
      rt.Define(OpDefBuilder("t.Late").Input("x: float").Output("y: float").SideEffects().Metadata<&test_ops::Same>(),
                MakeKernel([&](KernelFrame& frame) {
                  frame.SetResult(0, AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)));
                  frame.SetChain(AsyncValueRef<Chain>(RcRef<AsyncValue>(effect)));
                  return Status();
                }));
      tensor = rt.Filled(1, 1);
      result = rt.Call("t.Late", {rt.F32({1})}, {}, &chain);
      EXPECT_FALSE(result.IsAvailable());
    }
    EXPECT_TRUE(result.IsError());
    EXPECT_TRUE(chain.IsError());
    is_error ? value->SetError(Internal("late")) : value->Emplace(std::move(tensor));
    is_error ? effect->SetError(Internal("late")) : effect->Emplace();
  }
}

// What is in the queue when the end comes is not left behind.
TEST(RuntimeTest, WQ2_DestructionWithAFullQueue) {
  std::vector<TensorHandle> results;
  for (const int num_workers : {0, 1, 2}) {
    TestRuntime rt(TestRuntime::WithWorkers(num_workers));
    for (int i = 0; i < 200; ++i) results.push_back(rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({2})}));
  }
  for (const TensorHandle& result : results) {
    EXPECT_TRUE(result.IsConcrete() || (result.IsError() && result.GetError().code() == StatusCode::kCancelled));
  }
}

// Threads that know nothing of the runtime resolve what its ops wait for while it is destroyed.
TEST(RuntimeTest, WQ3_DestroyedWhileOthersResolveItsInputs) {
  for (int round = 0; round < 30; ++round) {
    constexpr int kThreads = 3;
    constexpr int kPromises = 30;
    std::optional<TestRuntime> rt(std::in_place, TestRuntime::WithWorkers(1));
    rt->Define(OpDefBuilder("t.Picky").Input("x: float").Output("y: float"), MakeKernel([](KernelFrame& frame) {
                 return Internal("told to ", frame.host().IsCancelled() ? "nobody" : "somebody");
               }));
    std::vector<std::vector<Promise>> promises(kThreads);
    std::vector<TensorHandle> results;
    const Tensor tensor = rt->Filled(1, 1);
    for (std::vector<Promise>& own : promises) {
      for (int i = 0; i < kPromises; ++i) {
        own.push_back(i % 2 == 0 ? rt->MakePromise() : rt->MakePromise({DType::kF32, {1}}));
        const TensorHandle input = own.back().Handle();
        results.push_back(rt->Call("t.Add", {input, input}));
        results.push_back(rt->Call("t.LongAdd", {results.back(), input}));
        results.push_back(rt->Call("t.Picky", {results.back()}));
        results.push_back(rt->Call("t.Picky", {input}));
      }
    }
    std::latch start(kThreads + 1);
    std::vector<std::thread> threads;
    for (std::vector<Promise>& own : promises) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        for (Promise& promise : own) promise.Resolve(tensor);
      });
    }
    start.arrive_and_wait();
    rt.reset();
    for (std::thread& thread : threads) thread.join();
    for (const TensorHandle& result : results) EXPECT_TRUE(result.IsAvailable());
  }
}

// The end of a runtime without anything pending is no error.
TEST(RuntimeTest, ER4_DestructionAloneIsNotTold) {
  std::vector<std::string> told;
  const auto run = [&told](bool with_pending) {
    HostContext::Options options = TestRuntime::WithWorkers(1);
    options.diagnostic_handler = [&told](const Status& status) { told.emplace_back(status.message()); };
    TestRuntime rt(std::move(options));
    EXPECT_TRUE(rt.Call("t.Add", {rt.F32({1}), rt.F32({2})}).IsConcrete());
    if (with_pending) rt.Call("t.Add", {rt.MakePromise().Handle(), rt.F32({2})}).reset();
  };
  run(false);
  EXPECT_TRUE(told.empty());
  run(true);
  EXPECT_EQ(told, std::vector<std::string>{"the runtime is being destroyed"});
}

struct CountingContext : SharedContext {
  CountingContext() { ++num_made; }
  ~CountingContext() override { ++num_destroyed; }
  static inline std::atomic<int> num_made = 0;
  static inline std::atomic<int> num_destroyed = 0;
};
struct OtherContext : SharedContext {
  int value = 0;
};

TEST(RuntimeTest, SharedContextIsOneForEachClassAndRuntime) {
  CountingContext::num_made = CountingContext::num_destroyed = 0;
  RcRef<OtherContext> kept;
  {
    TestRuntime rt;
    TestRuntime another;
    CoreRuntime& runtime = rt.runtime();
    std::vector<RcRef<CountingContext>> found(4);
    std::vector<std::thread> threads;
    for (RcRef<CountingContext>& context : found) {
      threads.emplace_back([&] { context = runtime.GetOrCreateSharedContext<CountingContext>(); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const RcRef<CountingContext>& context : found) EXPECT_EQ(context.get(), found[0].get());
    EXPECT_EQ(CountingContext::num_made, 1);
    kept = runtime.GetOrCreateSharedContext<OtherContext>();
    kept->value = 7;
    EXPECT_EQ(runtime.GetOrCreateSharedContext<OtherContext>()->value, 7);
    EXPECT_EQ(another.runtime().GetOrCreateSharedContext<OtherContext>()->value, 0);
  }
  EXPECT_EQ(CountingContext::num_destroyed, 1);
  EXPECT_EQ(kept->value, 7);
}

TEST(RuntimeTest, WQ2_QuiesceWaitsForQueuedOps) {
  for (const int num_workers : {0, 1, 2}) {
    TestRuntime rt(TestRuntime::WithWorkers(num_workers));
    std::vector<TensorHandle> results;
    for (int i = 0; i < 50; ++i) results.push_back(rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({2})}));
    rt.host().Quiesce();
    for (const TensorHandle& result : results) EXPECT_TRUE(result.IsConcrete());
  }
}

TEST(RuntimeTest, AV7_AwaitOfANullHandleIsAnError) {
  TestRuntime rt;
  EXPECT_EQ(rt.host().Await(TensorHandle()).message(), "expected a tensor to wait for, got a null handle");
}

TEST(RuntimeTest, AV7_AwaitWhereWaitingIsImpossible) {
  HostContext::Options options;
  options.work_queue = CreateSingleThreadedWorkQueue(/*may_block=*/false);
  TestRuntime rt(std::move(options));
  EXPECT_EQ(rt.Values(rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({2})})), std::vector<float>{3});
  Promise promise = rt.MakePromise();
  const TensorHandle never = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  EXPECT_EQ(rt.CodeOf(never), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tandem
