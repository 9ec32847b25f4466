// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that come and go while the runtime lives (OR-3): calls by name see it at once, on handlers over the one that
// has changed too, and ops made before stay what they are.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/logging_op_handler.h"
#include "test_runtime.h"

namespace tandem {
namespace {

// "t.Op" has a type attribute and a metadata function; each kernel gives a constant.
class OpChangesTest : public testing::Test {
 protected:
  OpChangesTest() {
    rt_.Define(OpDefBuilder("t.Op").Input("x: T").Output("y: T").Attr("T: {float, int32}").Metadata<&test_ops::Same>());
  }

  template <typename T>
  static Kernel Gives(T value) {
    return MakeKernel([value](DenseArg, KernelFrame& frame) {
      if (T* y = frame.AllocateResult<T>(0)) *y = value;
      return Status();
    });
  }
  KernelOpHandler* AddOver(OpHandler* fallback) {
    auto handler = std::make_unique<KernelOpHandler>("over", rt_.runtime(), fallback, rt_.host().device(),
                                                     KernelOpHandler::Policy());
    return static_cast<KernelOpHandler*>(rt_.runtime().AddHandler(std::move(handler)));
  }
  float Call(OpHandler* handler) {
    TensorHandle args[] = {rt_.F32({0})};
    TensorHandle result;
    rt_.runtime().Execute("t.Op", handler, Location::Current(), args, OpAttrsRef(), {&result, 1});
    return rt_.host().Await(result).ok() ? rt_.Values(result)[0] : -1;
  }

  TestRuntime rt_;
};

TEST_F(OpChangesTest, OR3_AKernelAddedAfterALookUpIsFound) {
  rt_.AddKernel("t.Op", {DType::kI32}, Gives<int32_t>(7));
  EXPECT_EQ(rt_.Values<int32_t>(rt_.Call("t.Op", {rt_.I32({0})})), std::vector<int32_t>{7});
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Op", {rt_.F32({0})})), "[t.Op] op handler cpu has no kernel for dtype f32");
  rt_.AddKernel("t.Op", {DType::kF32}, Gives(8.0f));
  EXPECT_EQ(rt_.Values(rt_.Call("t.Op", {rt_.F32({0})})), std::vector<float>{8});
  EXPECT_EQ(rt_.Values<int32_t>(rt_.Call("t.Op", {rt_.I32({0})})), std::vector<int32_t>{7});
}

TEST_F(OpChangesTest, OR3_HandlersOverTheOneThatChangesSeeIt) {
  rt_.AddKernel("t.Op", {DType::kF32}, Gives(1.0f));
  KernelOpHandler* const over = AddOver(&rt_.cpu());
  std::vector<std::string> lines;
  LoggingOptions options;
  options.sink = [&lines](std::string_view line) { lines.emplace_back(line); };
  const auto logging = CreateLoggingOpHandler("logging", rt_.runtime(), *over, std::move(options));
  EXPECT_EQ(Call(logging.get()), 1);
  ASSERT_TRUE(over->AddKernel("t.Op", {DType::kF32}, Gives(2.0f)).ok());
  EXPECT_EQ(Call(over), 2);
  EXPECT_EQ(Call(logging.get()), 2);
  EXPECT_EQ(Call(&rt_.cpu()), 1);
  over->RemoveKernels("t.Op", {DType::kF32});
  EXPECT_FALSE(over->HasKernel("t.Op", DType::kF32));
  EXPECT_EQ(Call(logging.get()), 1);
  EXPECT_EQ(Call(over), 1);
}

TEST_F(OpChangesTest, OR3_WhatIsRemovedCanBeAddedAgain) {
  for (int i = 0; i < 5; ++i) {
    rt_.AddKernel("t.Op", {DType::kF32, DType::kI32}, Gives(static_cast<float>(i)));
    EXPECT_EQ(Call(&rt_.cpu()), static_cast<float>(i));
    rt_.cpu().RemoveKernels("t.Op", {DType::kF32});
    EXPECT_EQ(Call(&rt_.cpu()), -1);
    EXPECT_TRUE(rt_.cpu().HasKernel("t.Op", DType::kI32));
    rt_.cpu().RemoveKernels("t.Op", {DType::kF32, DType::kI32});
    EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Op", {rt_.I32({0})})), "[t.Op] op handler cpu has no kernel for this op");
  }
  rt_.cpu().RemoveKernels("t.None", {DType::kF32});
}

TEST_F(OpChangesTest, OR3_OpsMadeBeforeKeepTheirKernels) {
  rt_.AddKernel("t.Op", {DType::kF32}, Gives(1.0f));
  const StatusOr<Op> op = rt_.runtime().MakeOp("t.Op", &rt_.cpu());
  ASSERT_TRUE(op.ok());
  rt_.cpu().RemoveKernels("t.Op", {DType::kF32});
  rt_.AddKernel("t.Op", {DType::kF32}, Gives(2.0f));
  TensorHandle args[] = {rt_.F32({0})};
  TensorHandle result;
  (*op)(ExecutionContext(rt_.host(), Location()), args, OpAttrsRef(), {&result, 1});
  EXPECT_EQ(rt_.Values(result), std::vector<float>{1});
  EXPECT_EQ(Call(&rt_.cpu()), 2);
}

// A pending call keeps what it was resolved to.
TEST_F(OpChangesTest, OR3_PendingCallsEndWithTheirKernels) {
  rt_.AddKernel("t.Op", {DType::kF32}, Gives(1.0f));
  Promise promise = rt_.MakePromise({DType::kF32, {1}});
  const TensorHandle late = rt_.Call("t.Op", {promise.Handle()});
  rt_.cpu().RemoveKernels("t.Op", {DType::kF32});
  promise.Resolve(rt_.Filled(1, 0));
  EXPECT_EQ(rt_.Values(late), std::vector<float>{1});
}

// Each call sees one state or the other, and after the last change the last.
TEST_F(OpChangesTest, OR3_ChangesWhileOthersCall) {
  rt_.AddKernel("t.Op", {DType::kF32}, Gives(1.0f));
  KernelOpHandler* const over = AddOver(&rt_.cpu());
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        const float value = Call(over);
        if (value != 1 && value != 2) ++wrong;
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(over->AddKernel("t.Op", {DType::kF32}, Gives(2.0f)).ok());
    if (Call(over) != 2) ++wrong;
    over->RemoveKernels("t.Op", {DType::kF32});
    if (Call(over) != 1) ++wrong;
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tandem
