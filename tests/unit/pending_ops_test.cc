// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that wait: any number of them in a row, and bounds on how many there may be (EX-8, EX-11, EX-12).

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "failing_heap.h"
#include "small_stack.h"
#include "test_runtime.h"

namespace tandem {
namespace {

constexpr int kLongChain = 100'000;

// How a chain of pending ops is made and ended.
struct LongChain {
  const char* name;
  bool is_metadata_known = true;
  std::string_view op = "t.Add";
  // Ends what `promise` began; what the last result's error then says, if any.
  const char* (*end)(TestRuntime& rt, Promise& promise);
};
const char* ResolveIt(TestRuntime& rt, Promise& promise) {
  promise.Resolve(rt.Filled(1, 0));
  return "";
}
const char* FailIt(TestRuntime&, Promise& promise) {
  promise.Fail(Internal("failed"));
  return "failed";
}
const char* CancelIt(TestRuntime& rt, Promise&) {
  rt.host().CancelExecution("stop");
  return "[t.Add] stop";
}
const LongChain kLongChains[] = {
    {"Resolved", true, "t.Add", &ResolveIt},
    {"Failed", true, "t.Add", &FailIt},
    {"Cancelled", true, "t.Add", &CancelIt},
    {"ResolvedWithMetadataPending", false, "t.Add", &ResolveIt},
    {"FailedWithMetadataPending", false, "t.Add", &FailIt},
    {"CancelledWithMetadataPending", false, "t.Add", &CancelIt},
    {"WithoutMetadataFunction", true, "t.AddAnyway", &ResolveIt},
    {"ThroughTheQueue", true, "t.LongAdd", &ResolveIt},
};

class LongChainTest : public testing::TestWithParam<LongChain> {
 protected:
  LongChainTest() {
    rt_.Define(OpDefBuilder("t.AddAnyway").Input("x: float").Input("y: float").Output("z: float"),
               MakeKernel([](DenseArg x, DenseArg y, KernelFrame& frame) -> StatusOr<Tensor> {
                 const float sum = x.data<float>()[0] + y.data<float>()[0];
                 return MakeDense(x.metadata(), std::as_bytes(std::span(&sum, 1)), frame.host().device(),
                                  frame.host().allocator());
               }));
  }
  // Adds one `kLongChain` times to what the promise gives.
  TensorHandle Build(const Promise& promise) {
    TensorHandle last = promise.Handle();
    const TensorHandle one = rt_.F32({1});
    for (int i = 0; i < kLongChain; ++i) {
      TensorHandle args[2] = {std::move(last), one.CopyRef()};
      rt_.runtime().Execute(GetParam().op, &rt_.cpu(), Location(), args, OpAttrsRef(), {&last, 1});
    }
    return last;
  }
  TestRuntime rt_;
};
INSTANTIATE_TEST_SUITE_P(Ends, LongChainTest, testing::ValuesIn(kLongChains),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(LongChainTest, EX12_ResolvesWithBoundedStackAndGivesItsMemoryBack) {
  const auto run = [this] {
    Promise promise = GetParam().is_metadata_known ? rt_.MakePromise({DType::kF32, {1}}) : rt_.MakePromise();
    const TensorHandle last = Build(promise);
    EXPECT_FALSE(last.IsAvailable());
    const std::string error = GetParam().end(rt_, promise);
    EXPECT_EQ(rt_.ErrorOf(last), error);
    if (error.empty()) {
      EXPECT_EQ(rt_.Values(last), std::vector<float>{kLongChain});
    }
    rt_.host().Quiesce();
    rt_.host().Restart();
  };
  RunOnSmallStack([&] {
    TensorHandle warm = rt_.Call(GetParam().op, {rt_.F32({1}), rt_.F32({1})});
    rt_.host().Await(warm).ok();
    warm.reset();
    const int64_t values_before = AsyncValue::NumLive();
    const int64_t blocks_before = num_live_blocks;
    run();
    EXPECT_EQ(AsyncValue::NumLive(), values_before);
    // The cancellation itself is told, and kept by this test.
    EXPECT_LE(num_live_blocks - blocks_before, 10);
  });
}

TEST(PendingOpsTest, EX12_LongChainOfSideEffects) {
  TestRuntime rt;
  RunOnSmallStack([&] {
    Promise promise = rt.MakePromise({DType::kF32, {1}});
    AsyncValueRef<Chain> chain = MakeReadyChain();
    rt.CallN("t.Note", {promise.Handle()}, 0, {}, &chain);
    for (int i = 1; i < kLongChain; ++i) {
      TensorHandle arg = rt.F32({static_cast<float>(i)});
      rt.runtime().Execute("t.Note", &rt.cpu(), Location(), {&arg, 1}, OpAttrsRef(), {}, &chain);
    }
    EXPECT_FALSE(chain.IsAvailable());
    promise.Resolve(rt.Filled(1, 0));
    EXPECT_TRUE(rt.AwaitChain(chain).ok());
  });
  const std::vector<float> notes = rt.notes();
  ASSERT_EQ(notes.size(), static_cast<size_t>(kLongChain));
  for (int i = 0; i < kLongChain; ++i) ASSERT_EQ(notes[static_cast<size_t>(i)], static_cast<float>(i));
}

TEST(PendingOpsTest, EX12_ManyOpsThatWaitForTheSameValue) {
  TestRuntime rt;
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  std::vector<TensorHandle> sums;
  for (int i = 0; i < kLongChain; ++i) sums.push_back(rt.Call("t.Add", {promise.Handle(), promise.Handle()}));
  RunOnSmallStack([&] { promise.Resolve(rt.Filled(1, 2)); });
  for (const TensorHandle& sum : sums) ASSERT_TRUE(sum.IsConcrete());
  EXPECT_EQ(rt.Values(sums.back()), std::vector<float>{4});
}

TEST(PendingOpsTest, EX12_RuntimeDestroyedUnderALongChain) {
  std::optional<TestRuntime> rt(std::in_place);
  Promise promise = rt->MakePromise({DType::kF32, {1}});
  TensorHandle last = promise.Handle();
  for (int i = 0; i < kLongChain; ++i) last = rt->Call("t.Add", {last, promise.Handle()});
  RunOnSmallStack([&] { rt.reset(); });
  ASSERT_TRUE(last.IsError());
  EXPECT_EQ(last.GetError().code(), StatusCode::kCancelled);
}

// The last handle alone keeps nothing else alive than what it needs.
TEST(PendingOpsTest, EX8_InputsAreGoneWhenTheOpIsDone) {
  TestRuntime rt;
  const int64_t before = AsyncValue::NumLive();
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  TensorHandle last = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  last = rt.Call("t.Add", {std::move(last), rt.F32({1})});
  promise.Resolve(rt.Filled(1, 0));
  if (AsyncValue::CountsLive()) {
    EXPECT_EQ(AsyncValue::NumLive() - before, 1);
  }
  EXPECT_EQ(rt.Values(last), std::vector<float>{2});
}

// An op whose result nobody wants runs all the same, and leaves nothing.
TEST(PendingOpsTest, EX8_ResultsThatAreDroppedWhilePending) {
  TestRuntime rt;
  const int64_t before = AsyncValue::NumLive();
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  rt.Call("t.Add", {promise.Handle(), rt.F32({1})}).reset();
  promise.Resolve(rt.Filled(1, 0));
  EXPECT_EQ(AsyncValue::NumLive(), before);
}

HostContext::Options WithLimits(int num_workers, int64_t max_ops, int64_t max_bytes = INT64_MAX) {
  HostContext::Options options = TestRuntime::WithWorkers(num_workers);
  options.max_pending_ops = max_ops;
  options.max_pending_bytes = max_bytes;
  return options;
}

// An op whose kernel runs on a worker until it is let through: t.Gate(x: float).
class Gate {
 public:
  explicit Gate(TestRuntime& rt) {
    rt.Define(OpDefBuilder("t.Gate").Input("x: float").Output("y: float").Metadata<&test_ops::Same>());
    rt.AddKernel("t.Gate", {DType::kInvalid}, MakeKernel([this](const Tensor& x) -> StatusOr<Tensor> {
                                                begun_.release();
                                                through_.acquire();
                                                return x;
                                              }).WithCost(1e9f));
  }
  void AwaitBegun() { begun_.acquire(); }
  void LetOneThrough() { through_.release(); }

 private:
  std::counting_semaphore<> begun_{0};
  std::counting_semaphore<> through_{0};
};

// Issues `count` ops that run from a thread of its own; the test lets one after the other end. At no time may more than
// the limit have been issued but not ended.
void IssueAgainstLimit(TestRuntime& rt, int64_t limit, int count, int64_t size) {
  Gate gate(rt);
  std::atomic<int> num_issued{0};
  std::vector<TensorHandle> results(static_cast<size_t>(count));
  std::thread issuer([&] {
    for (int i = 0; i < count; ++i) {
      results[static_cast<size_t>(i)] =
          rt.Call("t.Gate", {TensorHandle::MakeAvailable(rt.Filled(size, static_cast<float>(i)))});
      num_issued.fetch_add(1);
      num_issued.notify_one();
    }
  });
  for (int i = 0; i < count; ++i) {
    for (int issued = num_issued; issued <= i; issued = num_issued) num_issued.wait(issued);
    gate.AwaitBegun();
    EXPECT_LE(num_issued, i + limit);
    gate.LetOneThrough();
  }
  issuer.join();
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(rt.Values(results[static_cast<size_t>(i)])[0], static_cast<float>(i));
  }
}

TEST(PendingLimitTest, EX11_APlainThreadWaitsAtTheLimitOfOps) {
  TestRuntime rt(WithLimits(1, 3));
  IssueAgainstLimit(rt, 3, 60, 1);
}

TEST(PendingLimitTest, EX11_APlainThreadWaitsAtTheLimitOfBytes) {
  TestRuntime rt(WithLimits(1, 1000, 2 * 100 * sizeof(float)));
  IssueAgainstLimit(rt, 2, 40, 100);
}

// The value that all wait for would come from the thread that waits for room.
TEST(PendingLimitTest, EX11_AThreadCannotDeadlockItself) {
  for (const int num_workers : {0, 2}) {
    TestRuntime rt(WithLimits(num_workers, 1000, 100 * sizeof(float)));
    Promise promise = rt.MakePromise({DType::kF32, {100}});
    const TensorHandle first = rt.Call("t.Add", {promise.Handle(), promise.Handle()});
    const TensorHandle second = rt.Call("t.Add", {first, first});
    EXPECT_EQ(rt.CodeOf(second), StatusCode::kResourceExhausted);
    EXPECT_EQ(rt.ErrorOf(second),
              "[t.Add] expected at most 1000 pending ops (max_pending_ops) and 400 bytes of pending results "
              "(max_pending_bytes), got one more op with 400 bytes, and all others wait for values from outside: "
              "provide these first");
    EXPECT_EQ(rt.told().size(), 1u);
    promise.Resolve(rt.Filled(100, 1));
    EXPECT_EQ(rt.Values(first)[0], 2);
    EXPECT_EQ(rt.Values(rt.Call("t.Add", {first, first}))[0], 4) << "usable afterwards";
  }
}

TEST(PendingLimitTest, EX11_AThreadCannotDeadlockItselfByAHugeShape) {
  TestRuntime rt;
  // As many bytes as may be pending, at least, and a shape that can be addressed.
  const Promise promise = rt.MakePromise({DType::kF32, {int64_t{1} << (sizeof(void*) == 8 ? 40 : 27)}});
  const TensorHandle first = rt.Call("t.Add", {promise.Handle(), promise.Handle()});
  EXPECT_FALSE(first.IsAvailable());
  EXPECT_EQ(rt.CodeOf(rt.Call("t.Add", {first, first})), StatusCode::kResourceExhausted);
  rt.host().CancelExecution("enough");
}

TEST(PendingLimitTest, EX11_NorByTheNumberOfOps) {
  TestRuntime rt(WithLimits(2, 4));
  Promise promise = rt.MakePromise();
  std::vector<TensorHandle> results;
  TensorHandle last = promise.Handle();
  while (!last.IsError() && results.size() < 100) {
    last = rt.Call("t.NonZero", {last});
    results.push_back(last.CopyRef());
  }
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(rt.CodeOf(last), StatusCode::kResourceExhausted);
  promise.Resolve(rt.Filled(1, 1));
  EXPECT_EQ(rt.Values(results[3]), std::vector<float>{1});
}

// An op whose kernel gives its result later: t.Late(x: float).
void DefineLate(TestRuntime& rt, std::function<void(Producer<Tensor>, Tensor)> begin) {
  rt.Define(OpDefBuilder("t.Late").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
            MakeKernel([begin = std::move(begin)](const Tensor& x) {
              auto producer = Producer<Tensor>::Make();
              AsyncValueRef<Tensor> value = producer.ref();
              begin(std::move(producer), x);
              return value;
            }));
}

TEST(PendingLimitTest, EX11_AnAsynchronousKernelIsWaitedFor) {
  HostContext::Options options = WithLimits(1, 1);
  options.stall_limit = std::chrono::hours(1);
  TestRuntime rt(std::move(options));
  std::binary_semaphore may_end{0};
  std::thread thread;
  DefineLate(rt, [&](Producer<Tensor> producer, Tensor x) {
    thread = std::thread([&may_end, producer = std::move(producer), x]() mutable {
      may_end.acquire();
      producer.Emplace(x);
    });
  });
  const TensorHandle late = rt.Call("t.Late", {rt.F32({5})});
  std::thread issuer([&] {
    const TensorHandle sum = rt.Call("t.LongAdd", {late, rt.F32({1})});
    EXPECT_EQ(rt.Values(sum), std::vector<float>{6});
  });
  may_end.release();
  issuer.join();
  thread.join();
}

// Whose end may depend on the thread that waits.
TEST(PendingLimitTest, EX11_AnAsynchronousKernelThatEndsNothingIsNotWaitedForForEver) {
  HostContext::Options options = WithLimits(1, 1);
  options.stall_limit = std::chrono::milliseconds(1);
  TestRuntime rt(std::move(options));
  Producer<Tensor> kept;
  DefineLate(rt, [&](Producer<Tensor> producer, const Tensor&) { kept = std::move(producer); });
  const TensorHandle late = rt.Call("t.Late", {rt.F32({5})});
  const TensorHandle sum = rt.Call("t.LongAdd", {late, rt.F32({1})});
  EXPECT_EQ(rt.CodeOf(sum), StatusCode::kResourceExhausted);
  kept.Emplace(rt.Filled(1, 3));
  EXPECT_EQ(rt.Values(late), std::vector<float>{3});
}

TEST(PendingLimitTest, EX11_ASingleOpIsAdmittedWhateverItsSize) {
  TestRuntime rt(WithLimits(1, 1, 10));
  Promise promise = rt.MakePromise({DType::kF32, {100}});
  const TensorHandle sum = rt.Call("t.Add", {promise.Handle(), promise.Handle()});
  promise.Resolve(rt.Filled(100, 1));
  EXPECT_TRUE(sum.IsConcrete());
}

TEST(PendingLimitTest, EX11_SeveralThreadsWaitAtTheLimit) {
  TestRuntime rt(WithLimits(2, 2));
  std::vector<std::thread> threads;
  std::atomic<int> num_right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const TensorHandle sum = rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({float(i)})});
        const TensorHandle next = rt.Call("t.LongAdd", {sum, rt.F32({1})});
        if (rt.Values(next) == std::vector<float>{float(i + 2)}) ++num_right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_right, 800);
}

TEST(PendingLimitTest, EX11_AWorkerRunsReadyWorkItself) {
  TestRuntime rt(WithLimits(1, 2));
  std::vector<TensorHandle> sums;
  rt.host().work_queue().AddTask([&] {
    for (int i = 0; i < 50; ++i) sums.push_back(rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({float(i)})}));
  });
  rt.host().Quiesce();
  ASSERT_EQ(sums.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(rt.Values(sums[static_cast<size_t>(i)]), std::vector<float>{float(i + 1)});
}

constexpr std::string_view kExhausted =
    "[t.Add] expected at most 4 pending ops (max_pending_ops) and 9223372036854775807 bytes of pending results "
    "(max_pending_bytes), got one more op with 4 bytes; await some results before issuing more";

// Issues ops that all wait for `promise`, until one is refused; how many were not.
int IssueUntilRefused(TestRuntime& rt, const Promise& promise, std::vector<TensorHandle>& results) {
  for (int i = 0; i < 100; ++i) {
    TensorHandle sum = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
    if (sum.IsError()) {
      EXPECT_EQ(sum.GetError().code(), StatusCode::kResourceExhausted);
      EXPECT_EQ(sum.GetError().message(), kExhausted);
      return i;
    }
    results.push_back(std::move(sum));
  }
  return 100;
}

void ExpectAllRun(TestRuntime& rt, Promise& promise, const std::vector<TensorHandle>& results) {
  promise.Resolve(rt.Filled(1, 1));
  for (const TensorHandle& result : results) EXPECT_EQ(rt.Values(result), std::vector<float>{2});
  EXPECT_EQ(rt.Values(rt.Call("t.Add", {rt.F32({1}), rt.F32({1})})), std::vector<float>{2}) << "usable afterwards";
}

TEST(PendingLimitTest, EX11_AWorkerThatFindsNoWorkIsBounded) {
  TestRuntime rt(WithLimits(1, 4));
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  std::vector<TensorHandle> results;
  int num_issued = 0;
  rt.host().work_queue().AddTask([&] { num_issued = IssueUntilRefused(rt, promise, results); });
  rt.host().Quiesce();
  EXPECT_GE(num_issued, 4);
  EXPECT_LE(num_issued, 8);
  ExpectAllRun(rt, promise, results);
}

// Others may be due after it on the same thread, the very ones that would make room.
TEST(PendingLimitTest, EX11_AContinuationDoesNotWait) {
  TestRuntime rt(WithLimits(1, 4));
  Promise first = rt.MakePromise({DType::kF32, {1}});
  Promise second = rt.MakePromise({DType::kF32, {1}});
  std::vector<TensorHandle> results;
  int num_issued = 0;
  ASSERT_TRUE(first.value->AndThen([&] { num_issued = IssueUntilRefused(rt, second, results); }));
  std::vector<TensorHandle> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(rt.Call("t.Add", {first.Handle(), rt.F32({1})}));
  first.Resolve(rt.Filled(1, 1));
  EXPECT_GE(num_issued, 1);
  EXPECT_LE(num_issued, 8);
  for (const TensorHandle& result : waiting) EXPECT_TRUE(result.IsConcrete());
  ExpectAllRun(rt, second, results);
}

TEST(PendingLimitTest, EX11_WhereWaitingIsImpossibleTheOpFails) {
  HostContext::Options options = WithLimits(0, 4);
  options.work_queue = CreateSingleThreadedWorkQueue(/*may_block=*/false);
  TestRuntime rt(std::move(options));
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  std::vector<TensorHandle> results;
  EXPECT_EQ(IssueUntilRefused(rt, promise, results), 4);
  ExpectAllRun(rt, promise, results);
}

TEST(PendingLimitTest, EX11_WhereWaitingIsImpossibleReadyWorkRunsFirst) {
  HostContext::Options options = WithLimits(0, 4);
  options.work_queue = CreateSingleThreadedWorkQueue(/*may_block=*/false);
  TestRuntime rt(std::move(options));
  std::vector<TensorHandle> sums;
  for (int i = 0; i < 50; ++i) sums.push_back(rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({1})}));
  for (const TensorHandle& sum : sums) EXPECT_EQ(rt.Values(sum), std::vector<float>{2});
}

TEST(PendingLimitTest, EX11_AThreadWithoutWorkersRunsReadyWorkItself) {
  TestRuntime rt(WithLimits(0, 1));
  std::vector<TensorHandle> sums;
  for (int i = 0; i < 50; ++i) sums.push_back(rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({1})}));
  for (const TensorHandle& sum : sums) EXPECT_EQ(rt.Values(sum), std::vector<float>{2});
}

// Continuations that issue ops at the limit, whose continuations issue ops at the limit, and so on.
TEST(PendingLimitTest, EX11_MakingRoomDoesNotNest) {
  TestRuntime rt(WithLimits(0, 1));
  int num_left = 20'000;
  RunOnSmallStack([&] {
    std::function<void()> issue = [&] {
      if (--num_left < 0) return;
      const TensorHandle sum = rt.Call("t.LongAdd", {rt.F32({1}), rt.F32({1})});
      EXPECT_FALSE(sum.IsError());
      EXPECT_TRUE(sum.value().AndThen([&issue] { issue(); }));
    };
    issue();
    issue();
    rt.host().Quiesce();
  });
  EXPECT_LT(num_left, 0);
}

Status AllLike(const TensorMetadata& x, std::span<TensorMetadata> results) {
  for (TensorMetadata& result : results) result = x;
  return Status();
}

// Byte counts of results that could never be allocated.
TEST(PendingLimitTest, EX11_HugeResultsDoNotOverflowTheCount) {
  TestRuntime rt(WithLimits(1, 100));
  rt.Define(OpDefBuilder("t.Copies")
                .Input("x: double")
                .Output("a: double")
                .Output("b: double")
                .Output("c: double")
                .Metadata<&AllLike>());
  rt.AddKernel("t.Copies", {DType::kInvalid}, MakeKernel([](KernelFrame& frame) {
                 for (size_t i = 0; i < frame.num_results(); ++i) frame.SetResult(i, frame.arg(0));
                 return Status();
               }));
  const TensorMetadata huge(DType::kF64, {PTRDIFF_MAX / 8});
  Promise promise = rt.MakePromise(huge);
  std::vector<std::vector<TensorHandle>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(rt.CallN("t.Copies", {promise.Handle()}, 3));
  const double value = 3;
  promise.Resolve(std::move(*MakeScalar(huge, &value, rt.host().device())));
  for (const std::vector<TensorHandle>& results : calls) EXPECT_EQ(TextOf(results[2].metadata()), TextOf(huge));
}

TEST(PendingLimitTest, EX11_CancellationEndsTheWaitForRoom) {
  TestRuntime rt(WithLimits(1, 1));
  Gate gate(rt);
  const TensorHandle first = rt.Call("t.Gate", {rt.F32({1})});
  gate.AwaitBegun();
  TensorHandle second;
  std::thread issuer([&] { second = rt.Call("t.Gate", {rt.F32({1})}); });
  rt.host().CancelExecution("stop");
  issuer.join();
  gate.LetOneThrough();
  EXPECT_EQ(rt.Values(first), std::vector<float>{1}) << "had begun";
  EXPECT_EQ(rt.ErrorOf(second), "[t.Gate] stop");
}

// Whoever waits may be the one who notices that the time is over.
TEST(PendingLimitTest, EX11_ADeadlineEndsTheWaitForRoom) {
  TestRuntime rt(WithLimits(1, 1));
  Gate gate(rt);
  const TensorHandle first = rt.Call("t.Gate", {rt.F32({1})});
  gate.AwaitBegun();
  const auto deadline = RequestContext::Clock::now() + std::chrono::milliseconds(20);
  const auto request = RequestContext::Create(rt.host(), {deadline, nullptr});
  ASSERT_TRUE(request.ok());
  const std::vector<TensorHandle> results =
      rt.Execute(ExecutionContext(rt.host(), Location(), *request), "t.Gate", {rt.F32({1})}, 1);
  EXPECT_EQ(rt.CodeOf(results[0]), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(rt.ErrorOf(results[0]), "[t.Gate] the deadline of the request has passed");
  gate.LetOneThrough();
  EXPECT_EQ(rt.Values(first), std::vector<float>{1});
}

}  // namespace
}  // namespace tandem
