// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The null handler, which knows no op and says why (EX-2 to EX-4, ER-3, ER-4, OH-2, OH-3, OH-5, OR-4).

#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "host_values.h"
#include "tandem/core_runtime.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_handler.h"

namespace tandem {
namespace {

class NullOpHandlerTest : public testing::Test {
 protected:
  NullOpHandlerTest() : runtime_(Options()) {
    EXPECT_TRUE(
        runtime_.registry()
            .Register(OpDefBuilder("test.Negate").Input("x: float").Output("y: float").Metadata<&UnchangedMetadata>())
            .ok());
    runtime_.registry().MarkLeftOut("test.Invert");
  }
  HostContext::Options Options() {
    HostContext::Options options;
    options.work_queue = CreateSingleThreadedWorkQueue();
    options.diagnostic_handler = [this](const Status& error) {
      const std::lock_guard lock(mutex_);
      diagnostics_.push_back(error);
    };
    return options;
  }
  OpHandler& Null() { return runtime_.null_handler(); }

  std::mutex mutex_;
  std::vector<Status> diagnostics_;
  const HostMemory memory_;
  CoreRuntime runtime_;
};

// OH-2, OH-5
TEST_F(NullOpHandlerTest, IsAlwaysThere) {
  EXPECT_EQ(runtime_.FindHandler("null"), &Null());
  EXPECT_EQ(Null().name(), "null");
  EXPECT_EQ(Null().device(), nullptr);
  EXPECT_EQ(Null().fallback(), nullptr);
  EXPECT_EQ(&Null().runtime(), &runtime_);
}

// EX-4
TEST_F(NullOpHandlerTest, AnOpThatIsNotDefinedIsNotFound) {
  const Status status = Null().MakeOp("test.Negat").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.detail(), "op test.Negat is not defined, did you mean test.Negate");
  EXPECT_EQ(Null().MakeOp("").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Null().MakeOp(std::string(10'000, 'x')).status().code(), StatusCode::kNotFound);
}

// EX-4
TEST_F(NullOpHandlerTest, ADefinedOpHasNoKernelHere) {
  const Status status = Null().MakeOp("test.Negate").status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.detail(), "op handler null has no kernel for this op");
}

// EX-4, OR-4
TEST_F(NullOpHandlerTest, AnOpThatWasLeftOutSaysSo) {
  const Status status = Null().MakeOp("test.Invert").status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.detail(),
            "op test.Invert was left out of this build by selective registration: name it in the list of ops that the "
            "build is given (TANDEM_OPS, tandem-rt trim)");
}

// EX-4
TEST_F(NullOpHandlerTest, TheRuntimeNamesTheOp) {
  EXPECT_EQ(runtime_.MakeOp("test.Negate", &Null()).status().message(),
            "[test.Negate] op handler null has no kernel for this op");
}

// EX-2, EX-3, ER-3, ER-4
TEST_F(NullOpHandlerTest, ACallFailsAsAWhole) {
  TensorHandle args[] = {TensorHandle::MakeAvailable(memory_.Dense<float>({1}, {1})),
                         TensorHandle::MakeError(Internal("x")), TensorHandle()};
  TensorHandle results[3];
  AsyncValueRef<Chain> chain = MakeReadyChain();
  runtime_.Execute("test.Negate", &Null(), Location::Current(), args, OpAttrsRef(), results, &chain);
  constexpr uint32_t kLine = __LINE__ - 1;
  for (const TensorHandle& arg : args) EXPECT_FALSE(arg.IsValid());
  const Status error = results[0].GetError();
  EXPECT_EQ(error.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(error.op(), "test.Negate");
  EXPECT_EQ(error.location().line, kLine);
  EXPECT_TRUE(error.location().file.ends_with("null_op_handler_test.cc"));
  for (const TensorHandle& result : results) EXPECT_EQ(result.GetError(), error);
  EXPECT_EQ(chain.GetError(), error);
  ASSERT_EQ(diagnostics_.size(), 1u);
  EXPECT_EQ(diagnostics_[0], error);
}

// EX-2, EX-3
TEST_F(NullOpHandlerTest, ACallWithNothingToFillFailsToo) {
  TensorHandle arg = TensorHandle::MakeAvailable(memory_.Dense<float>({1}, {1}));
  runtime_.Execute("test.Negate", &Null(), Location::Current(), {&arg, 1}, OpAttrsRef(), {}, nullptr);
  EXPECT_FALSE(arg.IsValid());
  EXPECT_EQ(diagnostics_.size(), 1u);
}

// EX-1, EX-3
TEST_F(NullOpHandlerTest, ThreadsFailEachForItself) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        TensorHandle result;
        runtime_.Execute(n % 2 == 0 ? "test.Negate" : "test.None", &Null(), Location(), {}, OpAttrsRef(), {&result, 1});
        ASSERT_EQ(result.GetError().code(), n % 2 == 0 ? StatusCode::kUnimplemented : StatusCode::kNotFound);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(diagnostics_.size(), 400u);
}

// WQ-3
TEST_F(NullOpHandlerTest, EachRuntimeHasItsOwn) {
  std::optional<CoreRuntime> other;
  other.emplace(HostContext::Options());
  EXPECT_NE(&other->null_handler(), &Null());
  EXPECT_EQ(other->null_handler().MakeOp("test.Negate").status().code(), StatusCode::kNotFound);
  other.reset();
  EXPECT_EQ(Null().MakeOp("test.Negate").status().code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tandem
