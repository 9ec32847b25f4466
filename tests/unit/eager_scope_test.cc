// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Scopes of the C++ face: requests, deadlines, chains and queues for the calls of a block (TY-3).

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tandem/ops.h"
#include "tandem/work_queue.h"

namespace tandem::eager {
namespace {

using Clock = std::chrono::steady_clock;

class EagerScopeTest : public testing::Test {
 protected:
  EagerScopeTest()
      : runtime_(std::move(*Runtime::Create({.work_queue = CreateSingleThreadedWorkQueue(),
                                             .print = [this](std::string_view text) { printed_ += text; }}))),
        rt_(*runtime_),
        x_(rt_.FromValues<float>({1, 2}, {2})) {}

  RcRef<RequestContext> NewRequest() { return std::move(*RequestContext::Create(rt_.host(), {})); }

  std::string printed_;
  std::unique_ptr<Runtime> runtime_;
  Runtime& rt_;
  const Tensor x_;
};

TEST_F(EagerScopeTest, TY3_CallsOfAScopeBelongToItsRequest) {
  const RcRef<RequestContext> request = NewRequest();
  request->Cancel("enough");
  {
    const auto scope = rt_.With({.request = request});
    const Tensor y = add(x_, 1);
    EXPECT_EQ(y.Await().code(), StatusCode::kCancelled);
    EXPECT_NE(y.Await().message().find("enough"), std::string::npos);
    EXPECT_EQ((x_ + x_).Await().code(), StatusCode::kCancelled) << "operators are calls";
    EXPECT_EQ(fill(rt_, {2}, 1).Await().code(), StatusCode::kCancelled);
  }
  EXPECT_TRUE(add(x_, 1).Await().ok());
}

TEST_F(EagerScopeTest, TY3_AScopeForOneCall) {
  const RcRef<RequestContext> request = NewRequest();
  request->Cancel("enough");
  const Tensor y = rt_.With({.request = request}).Run([&] { return add(x_, 1); });
  EXPECT_EQ(y.Await().code(), StatusCode::kCancelled);
  EXPECT_TRUE(add(x_, 1).Await().ok());
}

TEST_F(EagerScopeTest, TY3_APassedDeadline) {
  const auto scope = rt_.With({.deadline = Clock::now() - std::chrono::seconds(1)});
  EXPECT_EQ(add(x_, 1).Await().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(EagerScopeTest, TY3_ADeadlineToComeLetsCallsRun) {
  const auto scope = rt_.With({.deadline = Clock::now() + std::chrono::hours(1)});
  EXPECT_EQ(add(x_, 1).ToString(), "f32[2] = [2, 3]");
}

TEST_F(EagerScopeTest, TY3_TheEarlierDeadlineHolds) {
  const auto outer = rt_.With({.deadline = Clock::now() - std::chrono::seconds(1)});
  const auto inner = rt_.With({.deadline = Clock::now() + std::chrono::hours(1)});
  EXPECT_EQ(add(x_, 1).Await().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(EagerScopeTest, TY3_ScopesInheritWhatTheyDoNotSay) {
  const RcRef<RequestContext> outer = NewRequest();
  const RcRef<RequestContext> inner = NewRequest();
  outer->Cancel("outer");
  AsyncValueRef<Chain> chain;
  const auto outer_scope = rt_.With({.request = outer});
  {
    const auto scope = rt_.With({.chain = &chain});
    EXPECT_EQ(add(x_, 1).Await().code(), StatusCode::kCancelled);
  }
  {
    const auto scope = rt_.With({.request = inner});
    EXPECT_TRUE(add(x_, 1).Await().ok()) << "the innermost request counts";
  }
  EXPECT_EQ(add(x_, 1).Await().code(), StatusCode::kCancelled);
}

TEST_F(EagerScopeTest, TY3_ARequestAndADeadlineExcludeEachOther) {
  const uint32_t line = __LINE__ + 2;
  const auto scope = rt_.With({.request = NewRequest(), .deadline = Clock::now() + std::chrono::hours(1)});
  const Tensor y = add(x_, 1);
  EXPECT_EQ(y.Await().message(), "[tf.AddV2] expected a request or a deadline, got both");
  EXPECT_EQ(y.Await().location().line, line);
}

TEST_F(EagerScopeTest, TY3_ScopesAreOfOneRuntimeAndOneThread) {
  auto other = std::move(*Runtime::Create({.work_queue = CreateSingleThreadedWorkQueue()}));
  const RcRef<RequestContext> request = NewRequest();
  request->Cancel("enough");
  const auto scope = rt_.With({.request = request});
  EXPECT_TRUE(add(other->Scalar(1.f), 1).Await().ok());
  const auto of_other = other->With({});
  EXPECT_EQ(add(x_, 1).Await().code(), StatusCode::kCancelled) << "also from behind a scope of another runtime";
  const auto foreign = other->With({.request = request});
  EXPECT_EQ(add(other->Scalar(1.f), 1).Await().message(),
            "[tf.AddV2] expected a request of this runtime, got one of another");
#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
  std::thread([&] { EXPECT_TRUE(add(x_, 1).Await().ok()); }).join();
#endif
}

TEST_F(EagerScopeTest, CH3_EffectsHappenInTheOrderOfTheCalls) {
  // The first one waits for its argument.
  const RcRef<TensorValue> late =
      MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kString, {}), &rt_.host().device());
  const Tensor first(&rt_, TensorHandle(AsyncValueRef<tandem::Tensor>(RcRef<AsyncValue>(late)), &rt_.host().device()));
  const Tensor text = rt_.FromStrings(std::vector<std::string_view>{"one\n"}, {});
  AsyncValueRef<Chain> chain;
  const auto scope = rt_.With({.chain = &chain});
  printStrings(rt_, first, nullptr, {.end = ""});
  printStrings(rt_, rt_.FromStrings(std::vector<std::string_view>{"two\n"}, {}), nullptr, {.end = ""});
  const Tensor y = add(x_, 1);
  EXPECT_EQ(printed_, "");
  EXPECT_FALSE(chain.IsAvailable());
  EXPECT_FALSE(y.handle().IsAvailable()) << "calls of the scope start after the chain (CH-2)";
  late->value() = text.handle().tensor();
  late->SetConcrete();
  EXPECT_TRUE(y.Await().ok());
  EXPECT_EQ(printed_, "one\ntwo\n");
  EXPECT_TRUE(chain.IsConcrete());
}

TEST_F(EagerScopeTest, CH2_SideEffectsWithoutAChainAreAnError) {
  std::vector<Status> told;
  auto runtime = std::move(*Runtime::Create({.work_queue = CreateSingleThreadedWorkQueue(),
                                             .on_diagnostic = [&](const Status& error) { told.push_back(error); }}));
  printStrings(*runtime, runtime->FromStrings(std::vector<std::string_view>{"one"}, {}));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].message().find("must be given a chain"), std::string::npos) << told[0].ToString();
}

TEST_F(EagerScopeTest, TY3_LongWorkGoesToTheScopesQueue) {
  const auto queue = CreateSingleThreadedWorkQueue();
  rt_.host().set_inline_cost_limit(-1);
  const Tensor y = rt_.With({.queue = queue.get()}).Run([&] { return add(x_, 1); });
  rt_.host().Quiesce();
  EXPECT_FALSE(y.handle().IsAvailable());
  queue->Quiesce();
  EXPECT_TRUE(y.handle().IsConcrete());
}

}  // namespace
}  // namespace tandem::eager
