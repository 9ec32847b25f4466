// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Definitions and kernels that come and go together (OR-3): removal waits for what runs, and drops the code after it.

#include "tandem/op_library.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/logging_op_handler.h"
#include "test_runtime.h"

namespace tandem {
namespace {

// Stands for the code of a shared library: notes whether anything of it is used after it has gone.
struct Code {
  std::atomic<bool> is_loaded{true};
  std::atomic<int> num_uses_after{0};
  void Use() {
    if (!is_loaded) ++num_uses_after;
  }
};

// What a kernel or a metadata function is a closure over; its end is code of the library, too.
class Closure {
 public:
  Closure(Code& code, float value) : code_(code), value_(value) {}
  ~Closure() { code_.Use(); }
  float Value() const {
    code_.Use();
    return value_;
  }

 private:
  Code& code_;
  const float value_;
};

class OpLibraryTest : public testing::Test {
 protected:
  std::shared_ptr<const void> Load() {
    code_.is_loaded = true;
    return std::shared_ptr<const void>(
        &code_, [](const void* code) { static_cast<Code*>(const_cast<void*>(code))->is_loaded = false; });
  }
  std::unique_ptr<OpLibrary> MakeLibrary() { return std::make_unique<OpLibrary>(rt_.runtime(), Load()); }

  // "lib.Op", whose result has as many elements as its argument, or one more, and is all `value`.
  OpDefBuilder Definition(int64_t more = 0) {
    const auto closure = std::make_shared<const Closure>(code_, 0.0f);
    return std::move(
        OpDefBuilder("lib.Op")
            .Input("x: float")
            .Output("y: float")
            .Metadata([closure, more](const TensorMetadata& x) -> StatusOr<TensorMetadata> {
              return TensorMetadata{x.dtype, {x.num_elements() + more + static_cast<int64_t>(closure->Value())}};
            }));
  }
  Kernel Gives(float value) {
    return MakeKernel([closure = std::make_shared<const Closure>(code_, value)](DenseArg, KernelFrame& frame) {
      float* y = frame.AllocateResult<float>(0);
      for (int64_t i = 0; y != nullptr && i < frame.result_metadata(0).num_elements(); ++i) y[i] = closure->Value();
      return Status();
    });
  }
  void Fill(OpLibrary& library, float value) {
    ExpectOk(library.Define(Definition()));
    ExpectOk(library.AddKernel(rt_.cpu(), "lib.Op", Gives(value)));
  }
  TensorHandle Call() { return rt_.Call("lib.Op", {rt_.F32({0})}); }
  static void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }
  void ExpectGone() {
    EXPECT_FALSE(code_.is_loaded);
    EXPECT_EQ(code_.num_uses_after, 0);
  }

  // Nobody hears of the many errors of calls while there is no library.
  static HostContext::Options Unheard() {
    HostContext::Options options = TestRuntime::WithWorkers(2);
    options.diagnostic_handler = [](const Status&) {};
    return options;
  }

  Code code_;
  TestRuntime rt_{Unheard()};
};

TEST_F(OpLibraryTest, OR3_WhatIsRemovedIsGoneWithItsCode) {
  const auto library = MakeLibrary();
  Fill(*library, 3);
  EXPECT_EQ(rt_.Values(Call()), std::vector<float>{3});
  EXPECT_NE(rt_.runtime().registry().Find("lib.Op"), nullptr);
  const AsyncValueRef<Chain> removed = library->Remove();
  EXPECT_TRUE(removed.IsConcrete());
  ExpectGone();
  EXPECT_EQ(rt_.runtime().registry().Find("lib.Op"), nullptr);
  EXPECT_EQ(rt_.ErrorOf(Call()), "[lib.Op] op lib.Op is not defined");
  EXPECT_TRUE(library->Remove().IsConcrete());
  EXPECT_EQ(library->Define(Definition()).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(library->AddKernel(rt_.cpu(), "lib.Op", Gives(1)).code(), StatusCode::kFailedPrecondition);
}

TEST_F(OpLibraryTest, OR3_TheEndOfALibraryRemovesIt) {
  Fill(*MakeLibrary(), 3);
  ExpectGone();
  EXPECT_EQ(rt_.ErrorOf(Call()), "[lib.Op] op lib.Op is not defined");
}

// Another definition under the same name: the shape tells which one a call has.
TEST_F(OpLibraryTest, OR3_AnotherLibraryMayTakeTheName) {
  for (int i = 0; i < 3; ++i) {
    OpLibrary library(rt_.runtime(), Load());
    ExpectOk(library.Define(Definition(i)));
    ExpectOk(library.AddKernel(rt_.cpu(), "lib.Op", Gives(static_cast<float>(i))));
    EXPECT_EQ(rt_.Values(Call()), std::vector<float>(static_cast<size_t>(i) + 1, static_cast<float>(i)));
  }
  ExpectGone();
}

TEST_F(OpLibraryTest, OR3_FailedAdditionsLeaveWhatWasThere) {
  OpLibrary first(rt_.runtime());
  Fill(first, 1);
  {
    OpLibrary second(rt_.runtime(), Load());
    EXPECT_EQ(second.Define(Definition()).code(), StatusCode::kAlreadyExists);
    EXPECT_EQ(second.AddKernel(rt_.cpu(), "lib.Op", Gives(2)).code(), StatusCode::kAlreadyExists);
  }
  ExpectGone();
  EXPECT_EQ(rt_.Values(Call()), std::vector<float>{1});
}

// Only the kernel is the library's: the fallback has the op again.
TEST_F(OpLibraryTest, OR3_KernelsForOpsOfOthers) {
  auto owned = std::make_unique<KernelOpHandler>("over", rt_.runtime(), &rt_.cpu(), rt_.host().device(),
                                                 KernelOpHandler::Policy());
  auto& over = static_cast<KernelOpHandler&>(*rt_.runtime().AddHandler(std::move(owned)));
  const auto logging = CreateLoggingOpHandler("logging", rt_.runtime(), over, {.sink = [](std::string_view) {}});
  OpLibrary definition(rt_.runtime());
  Fill(definition, 1);
  const auto call = [&](OpHandler* handler) {
    TensorHandle args[] = {rt_.F32({0})};
    TensorHandle result;
    rt_.runtime().Execute("lib.Op", handler, Location::Current(), args, OpAttrsRef(), {&result, 1});
    return rt_.Values(result)[0];
  };
  EXPECT_EQ(call(logging.get()), 1);
  {
    OpLibrary library(rt_.runtime(), Load());
    ExpectOk(library.AddKernel(over, "lib.Op", Gives(2)));
    EXPECT_EQ(call(logging.get()), 2);
    EXPECT_EQ(call(&over), 2);
    EXPECT_EQ(call(&rt_.cpu()), 1);
  }
  ExpectGone();
  EXPECT_EQ(call(logging.get()), 1);
  EXPECT_EQ(call(&over), 1);
}

TEST_F(OpLibraryTest, OR3_OpsMadeBeforeKeepTheCode) {
  const auto library = MakeLibrary();
  Fill(*library, 3);
  StatusOr<Op> op = rt_.runtime().MakeOp("lib.Op", &rt_.cpu());
  ASSERT_TRUE(op.ok());
  const AsyncValueRef<Chain> removed = library->Remove();
  EXPECT_FALSE(removed.IsAvailable());
  TensorHandle args[] = {rt_.F32({0})};
  TensorHandle result;
  (*op)(ExecutionContext(rt_.host(), Location()), args, OpAttrsRef(), {&result, 1});
  EXPECT_EQ(rt_.Values(result), std::vector<float>{3});
  EXPECT_EQ(op->name(), "lib.Op");
  EXPECT_TRUE(code_.is_loaded);
  *op = Op();
  EXPECT_TRUE(removed.IsConcrete());
  ExpectGone();
}

TEST_F(OpLibraryTest, OR3_PendingCallsKeepTheCode) {
  const auto library = MakeLibrary();
  Fill(*library, 3);
  Promise promise = rt_.MakePromise({DType::kF32, {1}});
  const TensorHandle late = rt_.Call("lib.Op", {promise.Handle()});
  const AsyncValueRef<Chain> removed = library->Remove();
  EXPECT_FALSE(removed.IsAvailable());
  promise.Resolve(rt_.Filled(1, 0));
  EXPECT_EQ(rt_.Values(late), std::vector<float>{3});
  ExpectOk(rt_.AwaitChain(removed));
  ExpectGone();
}

// The caller has found the op in the table, and is in its kernel when that is removed.
TEST_F(OpLibraryTest, OR3_RemovalWaitsForRunningCalls) {
  OpLibrary library(rt_.runtime(), Load());
  std::latch is_running(1);
  std::latch may_end(1);
  ExpectOk(library.Define(Definition()));
  const auto closure = std::make_shared<const Closure>(code_, 3.0f);
  ExpectOk(library.AddKernel(rt_.cpu(), "lib.Op", MakeKernel([&, closure](DenseArg, KernelFrame& frame) {
                               is_running.count_down();
                               may_end.wait();
                               if (float* y = frame.AllocateResult<float>(0)) *y = closure->Value();
                               return Status();
                             })));
  std::thread caller([this] { EXPECT_EQ(rt_.Values(Call()), std::vector<float>{3}); });
  is_running.wait();
  const AsyncValueRef<Chain> removed = library.Remove();
  EXPECT_FALSE(removed.IsAvailable());
  EXPECT_TRUE(code_.is_loaded);
  // Others see that it is gone.
  EXPECT_EQ(rt_.ErrorOf(Call()), "[lib.Op] op lib.Op is not defined");
  may_end.count_down();
  ExpectOk(rt_.AwaitChain(removed));
  EXPECT_FALSE(code_.is_loaded);
  caller.join();
}

// DI-5: a value that the kernel is still to give has the texts of the definition.
TEST_F(OpLibraryTest, OR3_LateValuesOutliveTheirOps) {
  OpLibrary library(rt_.runtime(), Load());
  ExpectOk(library.Define(Definition()));
  const Promise promise = rt_.MakePromise({DType::kF32, {1}});
  ExpectOk(library.AddKernel(rt_.cpu(), "lib.Op", MakeKernel([&promise](DenseArg) {
                               return AsyncValueRef<Tensor>(RcRef<AsyncValue>(promise.value));
                             })));
  const TensorHandle late = Call();
  const AsyncValueRef<Chain> removed = library.Remove();
  EXPECT_FALSE(removed.IsAvailable());
  promise.value->SetError(InvalidArgument("no number"));
  EXPECT_EQ(rt_.ErrorOf(late), "[lib.Op] no number");
  EXPECT_TRUE(removed.IsConcrete());
}

// Each call has one library or the other, or none; nothing of one is used after its end.
TEST_F(OpLibraryTest, OR3_LibrariesComeAndGoWhileOthersCall) {
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        const TensorHandle result = Call();
        if (!rt_.host().Await(result).ok()) continue;  // none
        const float value = rt_.Values(result)[0];
        if (value != 1 && value != 2) ++wrong;
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    auto code = std::make_unique<Code>();
    Code& its = *code;
    const auto closure = std::make_shared<const Closure>(its, i % 2 == 0 ? 1.0f : 2.0f);
    OpLibrary library(rt_.runtime(), std::shared_ptr<const void>(&its, [](const void* gone) {
                        static_cast<Code*>(const_cast<void*>(gone))->is_loaded = false;
                      }));
    ExpectOk(library.AddKernel(rt_.cpu(), "lib.Op", MakeKernel([closure](DenseArg, KernelFrame& frame) {
                                 if (float* y = frame.AllocateResult<float>(0)) *y = closure->Value();
                                 return Status();
                               })));
    ExpectOk(library.Define(Definition()));
    EXPECT_TRUE(rt_.host().Await(Call()).ok());
    const AsyncValueRef<Chain> removed = library.Remove();
    ExpectOk(rt_.AwaitChain(removed));
    EXPECT_FALSE(its.is_loaded);
    EXPECT_EQ(its.num_uses_after, 0);
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tandem
