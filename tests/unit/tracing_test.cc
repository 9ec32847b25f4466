// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tracing of op calls: switched at run time, also for ops made before; what an event says (TR-1, TR-2, EX-9).

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test_runtime.h"

namespace tandem {
namespace {

class TracingTest : public testing::Test {
 protected:
  int64_t num_events() { return rt_.host().tracer().num_events(); }
  std::string json() { return rt_.host().tracer().ToJson(); }
  bool Says(std::string_view text) { return json().find(text) != std::string::npos; }
  TensorHandle Add() { return rt_.Call("t.Add", {rt_.F32({1, 2}), rt_.F32({3, 4})}); }

  TestRuntime rt_;
};

TEST_F(TracingTest, TR1_OffRecordsNothing) {
  Add();
  EXPECT_EQ(num_events(), 0);
}

TEST_F(TracingTest, TR1_SwitchedOnAndOffAtRunTime) {
  Add();
  rt_.host().StartTracing();
  EXPECT_TRUE(rt_.host().IsTracing());
  Add();
  Add();
  rt_.host().StopTracing();
  EXPECT_FALSE(rt_.host().IsTracing());
  Add();
  EXPECT_EQ(num_events(), 2);
  rt_.host().StartTracing();
  Add();
  rt_.host().StopTracing();
  EXPECT_EQ(num_events(), 3);
}

TEST_F(TracingTest, TR1_EX9_ForOpsMadeBefore) {
  const StatusOr<Op> op = rt_.runtime().MakeOp("t.Add", &rt_.cpu());
  ASSERT_TRUE(op.ok());
  const auto call = [&] {
    TensorHandle args[2] = {rt_.F32({1}), rt_.F32({2})};
    TensorHandle result;
    (*op)(ExecutionContext(rt_.host(), Location()), args, OpAttrsRef(), {&result, 1});
    EXPECT_TRUE(result.IsConcrete());
  };
  call();
  EXPECT_EQ(num_events(), 0);
  rt_.host().StartTracing();
  call();
  EXPECT_EQ(num_events(), 1);
  rt_.host().StopTracing();
  call();
  EXPECT_EQ(num_events(), 1);
}

TEST_F(TracingTest, TR1_CallsAreNotChangedByIt) {
  rt_.host().StartTracing();
  EXPECT_EQ(rt_.Values(Add()), (std::vector<float>{4, 6}));
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Fail", {rt_.F32({1})})), "[t.Fail] refused");
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Add", {rt_.F32({1}), rt_.F32({1, 2})})),
            "[t.Add] shapes must agree, got x: f32[1], y: f32[2]");
}

TEST_F(TracingTest, TR2_NameDeviceShapesAndAttributes) {
  rt_.Define(OpDefBuilder("t.Attrs")
                 .Input("x: float")
                 .Output("y: float")
                 .Attr("b: int")
                 .Attr("a: string = 'q'")
                 .Metadata<&test_ops::Same>(),
             MakeKernel([](const Tensor& x) -> StatusOr<Tensor> { return x; }));
  rt_.host().StartTracing();
  Add();
  OpAttrs attrs;
  attrs.Set("b", int64_t{5});
  attrs.Set("a", std::string_view("say \"hi\""));
  EXPECT_TRUE(rt_.Call("t.Attrs", {rt_.Dense<float>({1, 1}, {1})}, attrs).IsConcrete());
  EXPECT_TRUE(Says("\"ph\":\"X\""));
  EXPECT_TRUE(Says("\"name\":\"t.Add\""));
  EXPECT_TRUE(Says("\"device\":\"cpu\""));
  EXPECT_TRUE(Says("\"inputs\":\"f32[2], f32[2]\""));
  EXPECT_TRUE(Says("\"name\":\"t.Attrs\""));
  EXPECT_TRUE(Says("\"inputs\":\"f32[1,1]\""));
  EXPECT_TRUE(Says(R"("attrs":"{a = \"say \\\"hi\\\"\", b = 5}")")) << json();
}

TEST_F(TracingTest, TR2_QueueTimeOfOpsThatWait) {
  rt_.host().StartTracing();
  Promise promise = rt_.MakePromise({DType::kF32, {2}});
  const TensorHandle result = rt_.Call("t.Add", {promise.Handle(), rt_.F32({3, 4})});
  EXPECT_EQ(num_events(), 0) << "recorded when the kernel has run";
  // At least this much passes between the call and the kernel.
  const auto until = TraceEvent::Clock::now() + std::chrono::milliseconds(2);
  while (TraceEvent::Clock::now() < until) {
  }
  promise.Resolve(rt_.Filled(2, 1));
  ASSERT_EQ(num_events(), 1);
  const std::string text = json();
  const size_t at = text.find("\"queued_us\":");
  ASSERT_NE(at, text.npos);
  EXPECT_GE(std::stod(text.substr(at + 12)), 2000.0);
}

TEST_F(TracingTest, TR2_OpsInTheQueueAreRecordedWhereTheyRan) {
  rt_.host().StartTracing();
  std::vector<TensorHandle> results;
  for (int i = 0; i < 20; ++i) results.push_back(rt_.Call("t.LongAdd", {rt_.F32({1}), rt_.F32({2})}));
  for (const TensorHandle& result : results) EXPECT_EQ(rt_.Values(result), std::vector<float>{3});
  EXPECT_EQ(num_events(), 20);
}

TEST_F(TracingTest, TR1_SwitchedWhileOtherThreadsCall) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 300; ++i) EXPECT_FALSE(Add().IsError());
    });
  }
  for (int i = 0; i < 50; ++i) {
    i % 2 == 0 ? rt_.host().StartTracing() : rt_.host().StopTracing();
    EXPECT_FALSE(json().empty());
  }
  for (std::thread& thread : threads) thread.join();
  rt_.host().tracer().Clear();
  EXPECT_EQ(num_events(), 0);
}

// A call that began before tracing was on has no time of its call to tell.
TEST_F(TracingTest, TR1_SwitchedOnWhileAnOpIsPending) {
  Promise promise = rt_.MakePromise({DType::kF32, {2}});
  const TensorHandle result = rt_.Call("t.Add", {promise.Handle(), rt_.F32({3, 4})});
  rt_.host().StartTracing();
  promise.Resolve(rt_.Filled(2, 1));
  EXPECT_EQ(num_events(), 1);
  EXPECT_TRUE(Says("\"queued_us\":0.000")) << json();
}

}  // namespace
}  // namespace tandem
