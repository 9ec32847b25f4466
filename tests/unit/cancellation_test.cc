// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Cancellation: of a host, of requests, by deadlines, of running kernels, and all of it under load (CA-1 to CA-5).

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/request_context.h"
#include "test_runtime.h"

namespace tandem {
namespace {

using Clock = RequestContext::Clock;
using std::chrono::hours;
using std::chrono::milliseconds;

RcRef<RequestContext> MakeRequest(TestRuntime& rt, Clock::time_point deadline = Clock::time_point::max()) {
  StatusOr<RcRef<RequestContext>> request = RequestContext::Create(rt.host(), {deadline, nullptr});
  EXPECT_TRUE(request.ok());
  return *request;
}
TensorHandle CallIn(TestRuntime& rt, const RcRef<RequestContext>& request, std::string_view op, Args args) {
  return std::move(rt.Execute(ExecutionContext(rt.host(), Location(), request), op, std::move(args), 1)[0]);
}

// The status of a cancelled call; unlike Await, without waiting.
void ExpectCancelled(const TensorHandle& handle, std::string_view error) {
  ASSERT_TRUE(handle.IsError());
  EXPECT_EQ(handle.GetError().code(), StatusCode::kCancelled);
  EXPECT_EQ(handle.GetError().message(), error);
}

// CA-1, CA-2: the host.

TEST(CancellationTest, CA1_PendingOutputsAreErrorsAtOnceThoughNoInputEverResolves) {
  TestRuntime rt;
  const Promise known = rt.MakePromise({DType::kF32, {1}});
  const Promise unknown = rt.MakePromise();
  AsyncValueRef<Chain> chain;
  const TensorHandle results[] = {
      rt.Call("t.Add", {known.Handle(), rt.F32({1})}),
      rt.Call("t.Add", {unknown.Handle(), rt.F32({1})}),
      rt.Call("t.NonZero", {known.Handle()}),
      rt.Call("t.LongAdd", {known.Handle(), known.Handle()}),
  };
  const TensorHandle dependent = rt.Call("t.Add", {results[1], results[2]});
  rt.CallN("t.Note", {known.Handle()}, 0, {}, &chain);
  rt.host().CancelExecution("stop");
  ExpectCancelled(results[0], "[t.Add] stop");
  ExpectCancelled(results[1], "[t.Add] stop");
  ExpectCancelled(results[2], "[t.NonZero] stop");
  ExpectCancelled(results[3], "[t.LongAdd] stop");
  ASSERT_TRUE(dependent.IsError());
  EXPECT_EQ(dependent.GetError().code(), StatusCode::kCancelled);
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().message(), "[t.Note] stop");
  EXPECT_FALSE(results[1].IsMetadataAvailable());
  EXPECT_EQ(rt.told(), std::vector<std::string>{"stop"}) << "one cancellation, told once";
}

TEST(CancellationTest, CA1_InputsAreDropped) {
  TestRuntime rt;
  float memory[1] = {1};
  bool released = false;
  StatusOr<RcRef<HostBuffer>> buffer =
      HostAllocator::WrapExternal(memory, sizeof(memory), [&released] { released = true; });
  ASSERT_TRUE(buffer.ok());
  TensorHandle input = TensorHandle::MakeAvailable(
      Tensor({DType::kF32, {1}}, &rt.host().device(), kDenseHost, memory, std::move(*buffer)));
  const Promise never = rt.MakePromise({DType::kF32, {1}});
  const TensorHandle result = rt.Call("t.Add", {never.Handle(), std::move(input)});
  EXPECT_FALSE(released);
  rt.host().CancelExecution("stop");
  EXPECT_TRUE(released);
  EXPECT_TRUE(result.IsError());
}

TEST(CancellationTest, CA1_QueuedOpsAreCancelled) {
  TestRuntime rt(TestRuntime::WithWorkers(0));  // nothing runs until somebody waits
  std::vector<TensorHandle> results;
  for (int i = 0; i < 10; ++i) results.push_back(rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({2})}));
  rt.host().CancelExecution("stop");
  for (const TensorHandle& result : results) ExpectCancelled(result, "[t.LongAdd] stop");
  rt.host().Quiesce();
  for (const TensorHandle& result : results) ExpectCancelled(result, "[t.LongAdd] stop");
}

TEST(CancellationTest, CA1_CallsFailUntilRestart) {
  TestRuntime rt;
  const StatusOr<Op> op = rt.runtime().MakeOp("t.Add", &rt.cpu());
  ASSERT_TRUE(op.ok());
  rt.host().CancelExecution("first");
  rt.host().CancelExecution("second");
  EXPECT_TRUE(rt.host().IsCancelled());
  EXPECT_EQ(rt.host().CheckActive().message(), "first") << "the first reason counts";
  ExpectCancelled(rt.Call("t.Add", {rt.F32({1}), rt.F32({2})}), "[t.Add] first");
  ExpectCancelled(rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({2})}), "[t.LongAdd] first");
  TensorHandle args[2] = {rt.F32({1}), rt.F32({2})};
  TensorHandle made;
  (*op)(ExecutionContext(rt.host(), Location()), args, OpAttrsRef(), {&made, 1});
  ExpectCancelled(made, "[t.Add] first");
  rt.host().Restart();
  EXPECT_FALSE(rt.host().IsCancelled());
  EXPECT_TRUE(rt.host().CheckActive().ok());
  EXPECT_EQ(rt.Values(rt.Call("t.Add", {rt.F32({1}), rt.F32({2})})), std::vector<float>{3});
  rt.host().CancelExecution("third");
  ExpectCancelled(rt.Call("t.Add", {rt.F32({1}), rt.F32({2})}), "[t.Add] third");
}

TEST(CancellationTest, CA2_OpsFromBeforeARestartStayCancelled) {
  TestRuntime rt;
  Promise promise = rt.MakePromise();
  const TensorHandle before = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  rt.host().CancelExecution("stop");
  rt.host().Restart();
  const TensorHandle after = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  promise.Resolve(rt.Filled(1, 1));
  ExpectCancelled(before, "[t.Add] stop");
  EXPECT_EQ(rt.Values(after), std::vector<float>{2});
}

// Between the reason and the sweep over the pending ops another thread may restart, and issue ops that the sweep finds.
TEST(CancellationTest, CA2_ACancellationDoesNotReachTheNextEpoch) {
  HostContext::Options options = TestRuntime::WithWorkers(1);
  TestRuntime* runtime = nullptr;
  Promise promise;
  std::vector<TensorHandle> next_epoch;
  options.diagnostic_handler = [&](const Status&) {  // called after the host says that it is cancelled
    std::thread([&] {
      runtime->host().Restart();
      for (int i = 0; i < 40; ++i) {
        next_epoch.push_back(runtime->Call("t.Add", {promise.Handle(), promise.Handle()}));
      }
    }).join();
  };
  TestRuntime rt(std::move(options));
  runtime = &rt;
  promise = rt.MakePromise();
  const TensorHandle before = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  rt.host().CancelExecution("stop");
  ExpectCancelled(before, "[t.Add] stop");
  promise.Resolve(rt.Filled(1, 1));
  ASSERT_EQ(next_epoch.size(), 40u);
  for (const TensorHandle& handle : next_epoch) EXPECT_EQ(rt.Values(handle), std::vector<float>{2});
}

TEST(CancellationTest, CA1_ContinuationsMayRestartAndIssueOps) {
  TestRuntime rt;
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  const TensorHandle waiting = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  TensorHandle retried;
  ASSERT_TRUE(waiting.value().AndThen([&] {
    rt.host().Restart();
    retried = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  }));
  rt.host().CancelExecution("stop");
  ExpectCancelled(waiting, "[t.Add] stop");
  promise.Resolve(rt.Filled(1, 1));
  EXPECT_EQ(rt.Values(retried), std::vector<float>{2});
}

TEST(CancellationTest, CA1_ValuesThatAreNeverResolvedLeakNothing) {
  const int64_t before = AsyncValue::NumLive();
  {
    TestRuntime rt;
    const Promise promise = rt.MakePromise();
    TensorHandle last = promise.Handle();
    for (int i = 0; i < 100; ++i) last = rt.Call(i % 2 == 0 ? "t.Add" : "t.LongAdd", {last, promise.Handle()});
    last.reset();
    rt.host().CancelExecution("stop");
  }
  EXPECT_EQ(AsyncValue::NumLive(), before);
}

// CA-3: requests.

TEST(RequestTest, CA3_EachIsCancelledAlone) {
  TestRuntime rt;
  Promise promise = rt.MakePromise();
  const RcRef<RequestContext> a = MakeRequest(rt);
  const RcRef<RequestContext> b = MakeRequest(rt);
  const TensorHandle in_a = CallIn(rt, a, "t.Add", {promise.Handle(), rt.F32({1})});
  const TensorHandle in_b = CallIn(rt, b, "t.Add", {promise.Handle(), rt.F32({1})});
  const TensorHandle in_none = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  a->Cancel("a is over");
  a->Cancel("again");
  ExpectCancelled(in_a, "[t.Add] a is over");
  EXPECT_FALSE(in_b.IsAvailable());
  EXPECT_FALSE(in_none.IsAvailable());
  ExpectCancelled(CallIn(rt, a, "t.Add", {rt.F32({1}), rt.F32({1})}), "[t.Add] a is over");
  EXPECT_EQ(a->CheckActive().message(), "a is over");
  EXPECT_TRUE(b->CheckActive().ok());
  EXPECT_EQ(rt.Values(CallIn(rt, b, "t.Add", {rt.F32({1}), rt.F32({1})})), std::vector<float>{2});
  promise.Resolve(rt.Filled(1, 1));
  EXPECT_EQ(rt.Values(in_b), std::vector<float>{2});
  EXPECT_EQ(rt.Values(in_none), std::vector<float>{2});
}

TEST(RequestTest, CA3_RestartOfTheHostDoesNotReviveARequest) {
  TestRuntime rt;
  const RcRef<RequestContext> request = MakeRequest(rt);
  request->Cancel("over");
  rt.host().CancelExecution("stop");
  ExpectCancelled(CallIn(rt, request, "t.Add", {rt.F32({1}), rt.F32({1})}), "[t.Add] stop");
  rt.host().Restart();
  ExpectCancelled(CallIn(rt, request, "t.Add", {rt.F32({1}), rt.F32({1})}), "[t.Add] over");
}

TEST(RequestTest, CA3_CarriesDataToTheKernel) {
  TestRuntime rt;
  auto data = std::make_shared<int>(42);
  const std::weak_ptr<int> watch = data;
  int seen = 0;
  rt.Define(OpDefBuilder("t.Data").Input("x: float").Output("y: float"),
            MakeKernel([&seen](const Tensor& x, KernelFrame& frame) -> StatusOr<Tensor> {
              seen = *static_cast<int*>(frame.exec().request()->data());
              return x;
            }));
  {
    StatusOr<RcRef<RequestContext>> request =
        RequestContext::Create(rt.host(), {Clock::time_point::max(), std::move(data)});
    ASSERT_TRUE(request.ok());
    EXPECT_TRUE(CallIn(rt, *request, "t.Data", {rt.F32({1})}).IsConcrete());
  }
  EXPECT_EQ(seen, 42);
  EXPECT_TRUE(watch.expired());
}

// The ops keep the request alive, not the other way round; a cancelled op keeps nothing.
TEST(RequestTest, CA3_LivesAsLongAsItsOps) {
  TestRuntime rt;
  auto data = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = data;
  Promise promise = rt.MakePromise();
  TensorHandle result;
  {
    StatusOr<RcRef<RequestContext>> request =
        RequestContext::Create(rt.host(), {Clock::now() + hours(1), std::move(data)});
    result = CallIn(rt, *request, "t.Add", {promise.Handle(), rt.F32({1})});
  }
  EXPECT_FALSE(watch.expired());
  rt.host().CancelExecution("stop");
  EXPECT_TRUE(watch.expired()) << "though the op is still in the list of the promise";
  ExpectCancelled(result, "[t.Add] stop");
}

TEST(RequestTest, CA3_ACancelledRequestMayBeGoneBeforeItsOps) {
  TestRuntime rt;
  Promise promise = rt.MakePromise();
  RcRef<RequestContext> request = MakeRequest(rt, Clock::now() + hours(1));
  const TensorHandle result = CallIn(rt, request, "t.Add", {promise.Handle(), rt.F32({1})});
  request->Cancel("over");
  request.reset();
  promise.Resolve(rt.Filled(1, 1));
  ExpectCancelled(result, "[t.Add] over");
}

void ExpectDeadlineExceeded(TestRuntime& rt, const TensorHandle& handle, std::string_view op = "t.Add") {
  EXPECT_EQ(rt.CodeOf(handle), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(rt.ErrorOf(handle), TextOf("[", op, "] the deadline of the request has passed"));
}

class DeadlineTest : public testing::TestWithParam<int> {
 protected:
  TestRuntime rt_{TestRuntime::WithWorkers(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Workers, DeadlineTest, testing::Values(0, 1));

TEST_P(DeadlineTest, CA3_PendingOpsFailAtTheDeadline) {
  const Promise never = rt_.MakePromise();
  const RcRef<RequestContext> request = MakeRequest(rt_, Clock::now() + milliseconds(10));
  const TensorHandle result = CallIn(rt_, request, "t.Add", {never.Handle(), rt_.F32({1})});
  const TensorHandle dependent = rt_.Call("t.Add", {result, rt_.F32({1})});
  ExpectDeadlineExceeded(rt_, dependent);  // waits for it
  EXPECT_GE(Clock::now(), request->deadline());
  ExpectDeadlineExceeded(rt_, result);
  ExpectDeadlineExceeded(rt_, CallIn(rt_, request, "t.LongAdd", {rt_.F32({1}), rt_.F32({1})}), "t.LongAdd");
}

TEST_P(DeadlineTest, CA3_ADeadlineInThePast) {
  const RcRef<RequestContext> request = MakeRequest(rt_, Clock::now() - hours(1));
  ExpectDeadlineExceeded(rt_, CallIn(rt_, request, "t.Add", {rt_.F32({1}), rt_.F32({1})}));
  const RcRef<RequestContext> earliest = MakeRequest(rt_, Clock::time_point::min());
  ExpectDeadlineExceeded(rt_, CallIn(rt_, earliest, "t.Add", {rt_.F32({1}), rt_.F32({1})}));
}

TEST_P(DeadlineTest, CA3_ADeadlineThatIsNotReachedChangesNothing) {
  Promise promise = rt_.MakePromise();
  const RcRef<RequestContext> request = MakeRequest(rt_, Clock::now() + hours(1));
  const TensorHandle result = CallIn(rt_, request, "t.Add", {promise.Handle(), rt_.F32({1})});
  promise.Resolve(rt_.Filled(1, 1));
  EXPECT_EQ(rt_.Values(result), std::vector<float>{2});
  EXPECT_EQ(rt_.Values(CallIn(rt_, request, "t.LongAdd", {rt_.F32({1}), rt_.F32({1})})), std::vector<float>{2});
  EXPECT_TRUE(rt_.told().empty());
}

// Neither is done only when the hour is over.
TEST_P(DeadlineTest, WQ1_NeitherQuiesceNorDestructionWaitsForADeadline) {
  const RcRef<RequestContext> request = MakeRequest(rt_, Clock::now() + hours(1));
  const TensorHandle result = CallIn(rt_, request, "t.LongAdd", {rt_.F32({1}), rt_.F32({1})});
  rt_.host().Quiesce();
  EXPECT_TRUE(result.IsConcrete());
}

TEST_P(DeadlineTest, CA3_ManyDeadlinesInAnyOrder) {
  const Promise never = rt_.MakePromise();
  std::mt19937 random(1);
  std::vector<RcRef<RequestContext>> requests;
  std::vector<TensorHandle> results;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 100; ++i) {
    // Every fourth is forgotten in time.
    const auto delay = i % 4 == 0 ? milliseconds(3'600'000) : milliseconds(random() % 20);
    RcRef<RequestContext> request = MakeRequest(rt_, start + delay);
    TensorHandle result = CallIn(rt_, request, "t.Add", {never.Handle(), rt_.F32({1})});
    if (i % 4 == 0) {
      request->Cancel("over");
    } else {
      requests.push_back(std::move(request));
      results.push_back(std::move(result));
    }
  }
  for (const TensorHandle& result : results) ExpectDeadlineExceeded(rt_, result);
  for (const RcRef<RequestContext>& request : requests) EXPECT_FALSE(request->CheckActive().ok());
}

TEST_P(DeadlineTest, CA3_TheLastReferenceIsAPendingOp) {
  for (int i = 0; i < 20; ++i) {
    const Promise never = rt_.MakePromise();
    const TensorHandle result =
        CallIn(rt_, MakeRequest(rt_, Clock::now() + milliseconds(1)), "t.Add", {never.Handle(), rt_.F32({1})});
    EXPECT_EQ(rt_.CodeOf(result), StatusCode::kDeadlineExceeded);
  }
}

// While one thread tells of the end of a request, another finds that the next one's time is over, too.
TEST(DeadlineRaceTest, CA3_SeveralThreadsNoticeDeadlines) {
  for (int round = 0; round < 10; ++round) {
    HostContext::Options options = TestRuntime::WithWorkers(1);
    std::atomic<int> num_ended{0};
    options.diagnostic_handler = [&](const Status&) {
      ++num_ended;
      // Long enough for the others' deadlines to pass.
      const Clock::time_point until = Clock::now() + milliseconds(2);
      while (Clock::now() < until) std::this_thread::yield();
    };
    TestRuntime rt(std::move(options));
    std::vector<RcRef<RequestContext>> requests;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < 6; ++i) requests.push_back(MakeRequest(rt, start + std::chrono::microseconds(500 * i)));
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        const TensorHandle ready = rt.F32({1});
        while (num_ended < 6) EXPECT_TRUE(rt.host().Await(ready).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const RcRef<RequestContext>& request : requests) {
      EXPECT_EQ(request->CheckActive().code(), StatusCode::kDeadlineExceeded);
    }
  }
}

// The request may end at any moment of a call, also while the op is being made pending.
TEST(DeadlineRaceTest, CA3_DeadlinesThatPassDuringACall) {
  TestRuntime rt;
  const Promise never = rt.MakePromise();
  for (int i = 0; i < 300; ++i) {
    const RcRef<RequestContext> request = MakeRequest(rt, Clock::now() + std::chrono::microseconds(i));
    std::vector<TensorHandle> results;
    for (int k = 0; k < 5; ++k) results.push_back(CallIn(rt, request, "t.Add", {never.Handle(), rt.F32({1})}));
    for (const TensorHandle& result : results) EXPECT_EQ(rt.CodeOf(result), StatusCode::kDeadlineExceeded);
  }
}

// CA-4: running kernels.

class RunningKernelTest : public testing::TestWithParam<bool> {
 protected:
  // Runs until it is told to end, then gives what `end` says.
  TensorHandle Start(const RcRef<RequestContext>& request, bool polls) {
    rt_.Define(OpDefBuilder("t.Poll").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
               MakeKernel([this, polls](const Tensor& x, KernelFrame& frame) -> StatusOr<Tensor> {
                 running_.count_down();
                 if (!polls) {
                   end_.wait();
                   return x;
                 }
                 for (;;) TANDEM_RETURN_IF_ERROR(frame.CheckActive());
               }).WithCost(1e9f));
    TensorHandle result = CallIn(rt_, request, "t.Poll", {rt_.F32({7})});
    running_.wait();
    return result;
  }
  // By the request, or by the host.
  void Cancel(const RcRef<RequestContext>& request) {
    GetParam() ? request->Cancel("stop") : rt_.host().CancelExecution("stop");
  }
  std::latch running_{1};
  std::latch end_{1};
  TestRuntime rt_{TestRuntime::WithWorkers(1)};
};
INSTANTIATE_TEST_SUITE_P(ByRequest, RunningKernelTest, testing::Bool());

TEST_P(RunningKernelTest, CA4_LongKernelsPoll) {
  const RcRef<RequestContext> request = MakeRequest(rt_);
  const TensorHandle result = Start(request, /*polls=*/true);
  Cancel(request);
  EXPECT_EQ(rt_.ErrorOf(result), "[t.Poll] stop");
  EXPECT_EQ(rt_.CodeOf(result), StatusCode::kCancelled);
}

TEST_P(RunningKernelTest, CA4_AKernelThatDoesNotPollDeliversAWholeResult) {
  const RcRef<RequestContext> request = MakeRequest(rt_);
  const TensorHandle result = Start(request, /*polls=*/false);
  const TensorHandle dependent = CallIn(rt_, request, "t.Add", {result, rt_.F32({1})});
  Cancel(request);
  ExpectCancelled(dependent, "[t.Add] stop");
  EXPECT_FALSE(result.IsAvailable());
  end_.count_down();
  EXPECT_EQ(rt_.Values(result), std::vector<float>{7});
}

TEST(RunningKernelDeadlineTest, CA4_PollingSeesTheDeadline) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Poll").Input("x: float").Output("y: float"),
            MakeKernel([](KernelFrame& frame) -> StatusOr<Tensor> {
              for (;;) TANDEM_RETURN_IF_ERROR(frame.CheckActive());
            }));
  const RcRef<RequestContext> request = MakeRequest(rt, Clock::now() + milliseconds(5));
  ExpectDeadlineExceeded(rt, CallIn(rt, request, "t.Poll", {rt.F32({1})}), "t.Poll");
}

// What a kernel gives later is pending like any op.
TEST(LateResultTest, CA1_LateResultsAreErrorsAtOnce) {
  TestRuntime rt;
  std::vector<RcRef<TensorValue>> values;
  RcRef<ConcreteAsyncValue<Chain>> effect = MakeUnconstructed<Chain>();
  const auto give = [&](const Tensor&) {
    values.push_back(MakeUnconstructed<Tensor>());
    return AsyncValueRef<Tensor>(RcRef<AsyncValue>(values.back()));
  };
  rt.Define(OpDefBuilder("t.Late").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(), MakeKernel(give));
  rt.Define(OpDefBuilder("t.LateUnknown").Input("x: float").Output("y: float"), MakeKernel(give));
  rt.Define(OpDefBuilder("t.LateEffect").Input("x: float").SideEffects(), MakeKernel([&](KernelFrame& frame) {
              frame.SetChain(AsyncValueRef<Chain>(RcRef<AsyncValue>(effect)));
              return Status();
            }));
  const RcRef<RequestContext> request = MakeRequest(rt);
  const TensorHandle in_request = CallIn(rt, request, "t.Late", {rt.F32({1})});
  const TensorHandle known = rt.Call("t.Late", {rt.F32({1})});
  const TensorHandle unknown = rt.Call("t.LateUnknown", {rt.F32({1})});
  AsyncValueRef<Chain> chain;
  rt.CallN("t.LateEffect", {rt.F32({1})}, 0, {}, &chain);
  request->Cancel("over");
  ExpectCancelled(in_request, "[t.Late] over");
  EXPECT_FALSE(known.IsAvailable());
  rt.host().CancelExecution("stop");
  ExpectCancelled(known, "[t.Late] stop");
  ExpectCancelled(unknown, "[t.LateUnknown] stop");
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().message(), "[t.LateEffect] stop");
  // What comes now is discarded.
  values[0]->Emplace(rt.Filled(1, 1));
  values[1]->SetError(Internal("too late"));
  effect->Emplace();
  ExpectCancelled(known, "[t.Late] stop");
  EXPECT_EQ(rt.told(), (std::vector<std::string>{"over", "stop"}));
  // The third is never resolved at all.
}

// CA-5: under load.

TEST(CancellationLoadTest, CA5_CancelAndRestartWhileThreadsIssueOps) {
  TestRuntime rt;
  constexpr int kThreads = 4;
  constexpr int kRounds = 150;
  std::atomic<bool> over{false};
  std::atomic<int> num_wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        Promise promise = i % 2 == 0 ? rt.MakePromise() : rt.MakePromise({DType::kF32, {1}});
        const RcRef<RequestContext> request =
            i % 3 == 0 ? MakeRequest(rt, Clock::now() + std::chrono::microseconds(100 * (i % 10))) : MakeRequest(rt);
        TensorHandle last = promise.Handle();
        AsyncValueRef<Chain> chain;
        for (int k = 0; k < 8; ++k) {
          last = CallIn(rt, request, k % 2 == 0 ? "t.Add" : "t.LongAdd", {last, rt.F32({1})});
          rt.Execute(ExecutionContext(rt.host(), Location(), request), "t.Note", {last}, 0, {}, &chain);
        }
        if (i % 5 == t) request->Cancel("one request");
        if (i % 7 == t) {
          promise.Fail(Internal("failed"));
        } else if (i % 7 != t + 1) {
          promise.Resolve(rt.Filled(1, 1));
        } else {
          request->Cancel("never resolved");
        }
        const Status status = rt.host().Await(last);
        const bool is_right = status.ok()
                                  ? DenseData<float>(last.tensor())[0] == 9.0f
                                  : status.code() == StatusCode::kCancelled ||
                                        status.code() == StatusCode::kDeadlineExceeded || status.message() == "failed";
        if (!is_right) ++num_wrong;
      }
    });
  }
  std::thread canceller([&] {
    while (!over) {
      rt.host().CancelExecution("everything");
      std::this_thread::yield();
      rt.host().Restart();
      for (int k = 0; k < 100 && !over; ++k) std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  over = true;
  canceller.join();
  EXPECT_EQ(num_wrong, 0);
  rt.host().Restart();
  EXPECT_EQ(rt.Values(rt.Call("t.Add", {rt.F32({1}), rt.F32({2})})), std::vector<float>{3}) << "usable afterwards";
}

// An op that is being resolved and cancelled at the same moment ends in one of the two ways, whole.
TEST(CancellationLoadTest, CA5_ResolveAgainstCancel) {
  TestRuntime rt;
  int num_cancelled = 0;
  for (int i = 0; i < 300; ++i) {
    Promise promise = i % 2 == 0 ? rt.MakePromise() : rt.MakePromise({DType::kF32, {1}});
    std::vector<TensorHandle> results;
    for (const std::string_view op : {"t.Add", "t.LongAdd", "t.Add"}) {
      results.push_back(rt.Call(op, {promise.Handle(), promise.Handle()}));
    }
    results.push_back(rt.Call("t.NonZero", {results[0]}));
    std::latch start(2);
    std::thread resolver([&] {
      start.arrive_and_wait();
      promise.Resolve(rt.Filled(1, 1));
    });
    start.arrive_and_wait();
    rt.host().CancelExecution("stop");
    resolver.join();
    for (const TensorHandle& result : results) {
      const Status status = rt.host().Await(result);
      num_cancelled += !status.ok();
      if (status.ok()) {
        EXPECT_EQ(DenseData<float>(result.tensor())[0], 2.0f);
      } else {
        EXPECT_EQ(status.code(), StatusCode::kCancelled);
      }
    }
    rt.host().Restart();
  }
  RecordProperty("num_cancelled", num_cancelled);
}

}  // namespace
}  // namespace tandem
