// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Errors of ops: values that travel to dependents only, located at the call, told once (ER-1 to ER-5).

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <source_location>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test_runtime.h"

namespace tandem {
namespace {

TEST(ErrorsTest, ER1_OnlyDependentsAreSkipped) {
  TestRuntime rt;
  const TensorHandle failed = rt.Call("t.Fail", {rt.F32({1})});
  const TensorHandle good = rt.Call("t.Add", {rt.F32({1}), rt.F32({2})});
  const TensorHandle spoilt = rt.Call("t.Add", {good, failed});
  const TensorHandle after = rt.Call("t.Add", {good, rt.F32({4})});
  const TensorHandle spoilt_later = rt.Call("t.LongAdd", {after, spoilt});
  EXPECT_EQ(rt.Values(after), std::vector<float>{7});
  for (const TensorHandle* handle : {&failed, &spoilt, &spoilt_later}) {
    EXPECT_EQ(rt.ErrorOf(*handle), "[t.Fail] refused");
    EXPECT_TRUE(handle->GetError() == failed.GetError()) << "the same error, not a copy of its text";
  }
  EXPECT_EQ(rt.told(), std::vector<std::string>{"[t.Fail] refused"});
}

TEST(ErrorsTest, ER1_TheFirstErrorAmongTheArgumentsWins) {
  TestRuntime rt;
  const TensorHandle first = TensorHandle::MakeError(Internal("first"));
  const TensorHandle second = TensorHandle::MakeError(Internal("second"));
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Add", {first, second})), "first");
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Add", {rt.F32({1}), second})), "second");
  // An error decides at once, though another argument is pending.
  const Promise promise = rt.MakePromise();
  const TensorHandle result = rt.Call("t.Add", {promise.Handle(), second});
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().message(), "second");
}

TEST(ErrorsTest, ER1_AnErrorThatComesLaterDecidesThoughOthersArePending) {
  TestRuntime rt;
  Promise never = rt.MakePromise({DType::kF32, {1}});
  Promise fails = rt.MakePromise({DType::kF32, {1}});
  const TensorHandle waits_for_it = rt.Call("t.Add", {fails.Handle(), never.Handle()});
  fails.Fail(Internal("late"));
  EXPECT_EQ(rt.ErrorOf(waits_for_it), "late");
  never.Fail(Internal("later"));
}

TEST(ErrorsTest, ER1_CausesAreKept) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Caused").Input("x: float").Output("y: float"), MakeKernel([](KernelFrame&) {
              return Internal("outer").WithCause(Internal("inner").WithCause(Internal("innermost")));
            }));
  const TensorHandle result = rt.Call("t.Caused", {rt.F32({1})});
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().message(), "[t.Caused] outer");
  EXPECT_EQ(result.GetError().cause().message(), "inner");
  EXPECT_EQ(result.GetError().cause().cause().message(), "innermost");
  EXPECT_TRUE(rt.told_errors()[0] == result.GetError());
}

// ER-3: the place of the call, whoever finds out, whenever it surfaces.

std::string Place(const DecodedLocation& location) {
  return TextOf(location.file, ":", location.line, ":", location.column);
}
std::string Place(const std::source_location& site) {
  return TextOf(std::string_view(site.file_name()), ":", site.line(), ":", site.column());
}

TEST(ErrorsTest, ER3_TheCallersFileLineAndColumn) {
  TestRuntime rt;
  TensorHandle arg = rt.F32({1});
  TensorHandle result;
  const auto call = [&](Location here, uint32_t line) {
    rt.runtime().Execute("t.Fail", &rt.cpu(), here, {&arg, 1}, OpAttrsRef(), {&result, 1});
    return line;
  };
  const uint32_t line = call(Location::Current(), __LINE__);
  ASSERT_TRUE(result.IsError());
  const DecodedLocation location = result.GetError().location();
  EXPECT_EQ(location.file, __FILE__);
  EXPECT_EQ(location.file, "tests/unit/errors_test.cc");  // from the top of the source tree, wherever it was built
  EXPECT_EQ(location.line, line);
  EXPECT_GT(location.column, std::string_view("  const uint32_t line = call(").size());
}

TEST(ErrorsTest, ER3_OfEveryKindOfError) {
  TestRuntime rt;
  const std::source_location site = std::source_location::current();
  const auto place = [&](std::string_view op, Args args) {
    const TensorHandle result = rt.Call(op, std::move(args), {}, nullptr, site);
    EXPECT_FALSE(rt.host().Await(result).ok());
    return result.IsError() ? Place(result.GetError().location()) : "no error";
  };
  EXPECT_EQ(place("t.Unknown", {}), Place(site));
  EXPECT_EQ(place("t.Add", {rt.F32({1})}), Place(site));
  EXPECT_EQ(place("t.Add", {rt.F32({1}), TensorHandle()}), Place(site));
  EXPECT_EQ(place("t.Add", {rt.F32({1}), rt.F32({1, 2})}), Place(site));
  EXPECT_EQ(place("t.Add", {rt.F32({1}), rt.I32({1})}), Place(site));
  EXPECT_EQ(place("t.LongAdd", {rt.I32({1}), rt.I32({1})}), Place(site));
  EXPECT_EQ(place("t.Fail", {rt.F32({1})}), Place(site));
}

TEST(ErrorsTest, ER3_WhenItSurfacesMuchLaterAndFarDownstream) {
  TestRuntime rt;
  Promise promise = rt.MakePromise();
  const std::source_location site = std::source_location::current();
  TensorHandle last = rt.Call("t.Fail", {promise.Handle()}, {}, nullptr, site);
  const TensorHandle first = last.CopyRef();
  for (int i = 0; i < 5; ++i) last = rt.Call("t.LongAdd", {last, rt.F32({1})}, {}, nullptr, site);
  std::thread([&] { promise.Resolve(rt.Filled(1, 1)); }).join();
  EXPECT_EQ(rt.ErrorOf(last), "[t.Fail] refused");
  EXPECT_EQ(Place(last.GetError().location()), Place(site));
  std::string text = "InvalidArgument: [t.Fail] refused (" + Place(site) + ")";
  for (int i = 0; i < 5; ++i) text += "\n  through t.LongAdd (" + Place(site) + ")";
  EXPECT_EQ(last.GetError().ToString(), text);
}

// ER-3a: the way that an error came, be the ops on it issued before or after it was known.
class WayTest : public testing::Test {
 protected:
  // The ops of the way and their places, one a line.
  static std::string WayOf(const TensorHandle& handle) {
    std::string way;
    if (!handle.IsError()) return "no error";
    handle.GetError().WriteSteps([&](std::string_view part) { way += part; }, "", "\n");
    return way;
  }
  static std::string Line(std::string_view op, std::source_location site) {
    return std::string(op) + " (" + Place(site) + ")\n";
  }
  TestRuntime rt_;
};

TEST_F(WayTest, ER3a_ThroughOpsInARow) {
  const std::source_location first = std::source_location::current();
  const std::source_location second = std::source_location::current();
  Promise promise = rt_.MakePromise({DType::kF32, {1}});
  Promise unknown = rt_.MakePromise();
  std::vector<TensorHandle> ends;
  for (const TensorHandle& x : {rt_.F32({1}), promise.Handle(), unknown.Handle()}) {
    const TensorHandle bad = rt_.Call("t.Fail", {x});
    const TensorHandle once = rt_.Call("t.Add", {bad, rt_.F32({1})}, {}, nullptr, first);
    ends.push_back(rt_.Call("t.NonZero", {once}, {}, nullptr, second));
    EXPECT_EQ(bad.IsError() ? WayOf(bad) : "", "");
  }
  promise.Resolve(rt_.Filled(1, 1));
  unknown.Resolve(rt_.Filled(1, 1));
  for (const TensorHandle& end : ends) {
    EXPECT_EQ(rt_.ErrorOf(end), "[t.Fail] refused");
    EXPECT_EQ(end.GetError().op(), "t.Fail");
    EXPECT_EQ(WayOf(end), Line("t.Add", first) + Line("t.NonZero", second));
  }
  EXPECT_EQ(rt_.told().size(), 3u) << "ER-4: once each";
}

TEST_F(WayTest, ER3a_EX3_AllResultsOfAnOpAreOneErrorWithOneWay) {
  rt_.Define(OpDefBuilder("t.Two").Input("x: float").Output("y: float").Output("z: float"),
             MakeKernel([](KernelFrame&) { return Status(); }));
  AsyncValueRef<Chain> chain = MakeReadyChain();
  const std::vector<TensorHandle> results = rt_.CallN("t.Two", {rt_.Call("t.Fail", {rt_.F32({1})})}, 2, {}, &chain);
  EXPECT_TRUE(results[0].GetError() == results[1].GetError());
  ASSERT_TRUE(chain.IsError());
  EXPECT_TRUE(results[0].GetError() == chain.GetError());
  EXPECT_EQ(chain.GetError().num_steps(), 1u);
  EXPECT_EQ(WayOf(results[0]), WayOf(results[1]));
}

TEST_F(WayTest, ER3a_OfTwoErrorsTheFirstArgumentsWayIsKept) {
  const TensorHandle left = rt_.Call("t.NonZero", {rt_.Call("t.Fail", {rt_.F32({1})})});
  const TensorHandle right = rt_.Call("t.Fail", {rt_.F32({1})});
  EXPECT_EQ(rt_.Call("t.Add", {left, right}).GetError().num_steps(), 2u);
  EXPECT_EQ(rt_.Call("t.Add", {right, left}).GetError().num_steps(), 1u);
}

TEST_F(WayTest, ER3a_ThroughChains) {
  AsyncValueRef<Chain> chain = AsyncValueRef<Chain>::MakeError(Internal("before"));
  rt_.CallN("t.Note", {rt_.F32({1})}, 0, {}, &chain);
  rt_.CallN("t.Note", {rt_.F32({2})}, 0, {}, &chain);
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().message(), "before");
  ASSERT_EQ(chain.GetError().num_steps(), 2u);
  EXPECT_EQ(chain.GetError().step(1).op, "t.Note");
}

// However many there are, memory and time of each op are the same.
TEST_F(WayTest, ER3a_AHundredThousandOpsInARow) {
  Promise promise = rt_.MakePromise({DType::kF32, {1}});
  for (const TensorHandle& bad : {rt_.Call("t.Fail", {rt_.F32({1})}), rt_.Call("t.Fail", {promise.Handle()})}) {
    TensorHandle last = bad.CopyRef();
    for (int i = 0; i < 100'000; ++i) last = rt_.Call("t.Add", {std::move(last), rt_.F32({1})});
    if (promise.value) promise.Resolve(rt_.Filled(1, 1));
    EXPECT_EQ(rt_.ErrorOf(last), "[t.Fail] refused");
    EXPECT_EQ(last.GetError().num_steps(), 100'000u);
    EXPECT_EQ(std::ranges::count(WayOf(last), '\n'), 9);
  }
}

TEST(ErrorsTest, ER3_OfCancelledOps) {
  TestRuntime rt;
  Promise promise = rt.MakePromise();
  const std::source_location site = std::source_location::current();
  const TensorHandle waiting = rt.Call("t.Add", {promise.Handle(), rt.F32({1})}, {}, nullptr, site);
  rt.host().CancelExecution("stop");
  const TensorHandle refused = rt.Call("t.Add", {rt.F32({1}), rt.F32({1})}, {}, nullptr, site);
  for (const TensorHandle* handle : {&waiting, &refused}) {
    EXPECT_EQ(rt.ErrorOf(*handle), "[t.Add] stop");
    EXPECT_EQ(Place(handle->GetError().location()), Place(site));
  }
}

// Positions in something that only its decoder understands.
class LineDecoder final : public LocationDecoder {
 public:
  DecodedLocation Decode(uintptr_t data) const override { return {"program.txt", static_cast<uint32_t>(data), 7}; }
};

TEST(ErrorsTest, ER3_LocationsAreDecodedWhenTheErrorIsMade) {
  TestRuntime rt;
  TensorHandle result;
  {
    const LineDecoder decoder;
    TensorHandle arg = rt.F32({1});
    rt.runtime().Execute("t.Fail", &rt.cpu(), Location(&decoder, 42), {&arg, 1}, OpAttrsRef(), {&result, 1});
  }
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(Place(result.GetError().location()), "program.txt:42:7");
}

TEST(ErrorsTest, ER3_TheKernelsOwnLocationIsKept) {
  TestRuntime rt;
  const std::source_location inner = std::source_location::current();
  rt.Define(OpDefBuilder("t.Program").Input("x: float").Output("y: float"),
            MakeKernel([inner](KernelFrame&) { return Internal("inside").WithContext("t.Inner", Location(inner)); }));
  const TensorHandle result = rt.Call("t.Program", {rt.F32({1})});
  EXPECT_EQ(rt.ErrorOf(result), "[t.Inner] inside");
  EXPECT_EQ(Place(result.GetError().location()), Place(inner));
}

// ER-4

TEST(ErrorsTest, ER4_EachErrorIsToldOnceDecodedOnTheThreadItArisesOn) {
  TestRuntime rt;
  const std::source_location site = std::source_location::current();
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  const TensorHandle now = rt.Call("t.Fail", {rt.F32({1})}, {}, nullptr, site);
  const TensorHandle late = rt.Call("t.Fail", {promise.Handle()}, {}, nullptr, site);
  std::vector<TensorHandle> dependents;
  for (int i = 0; i < 10; ++i) {
    dependents.push_back(rt.Call("t.Add", {now, rt.F32({1})}));
    dependents.push_back(rt.Call("t.Add", {late, rt.F32({1})}));
  }
  EXPECT_EQ(rt.told().size(), 1u);
  promise.Resolve(rt.Filled(1, 1));
  for (const TensorHandle& dependent : dependents) EXPECT_TRUE(dependent.IsError());
  const std::vector<Status> told = rt.told_errors();
  ASSERT_EQ(told.size(), 2u);
  for (const Status& error : told) EXPECT_EQ(Place(error.location()), Place(site));
  EXPECT_TRUE(told[0] == now.GetError());
  EXPECT_TRUE(told[1] == late.GetError());
}

TEST(ErrorsTest, ER4_AnErrorThatCameFromOutsideIsNotTold) {
  TestRuntime rt;
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  const TensorHandle now = rt.Call("t.Add", {TensorHandle::MakeError(Internal("outside")), rt.F32({1})});
  const TensorHandle late = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  promise.Fail(Internal("outside"));
  EXPECT_EQ(rt.ErrorOf(now), "outside");
  EXPECT_EQ(rt.ErrorOf(late), "outside");
  EXPECT_TRUE(rt.told().empty());
}

TEST(ErrorsTest, ER4_TheHandlerMayCallIntoTheRuntime) {
  HostContext::Options options = TestRuntime::WithWorkers(1);
  TestRuntime* runtime = nullptr;
  std::atomic<int> num_told{0};
  options.diagnostic_handler = [&](const Status& status) {
    ++num_told;
    // To end everything at the first error is what many programs want.
    runtime->host().CancelExecution(status.message());
    EXPECT_EQ(runtime->host().CheckActive().code(), StatusCode::kCancelled);
  };
  TestRuntime rt(std::move(options));
  runtime = &rt;
  Promise promise = rt.MakePromise({DType::kF32, {1}});
  const TensorHandle waiting = rt.Call("t.Add", {promise.Handle(), rt.F32({1})});
  const TensorHandle failed = rt.Call("t.Fail", {rt.F32({1})});
  EXPECT_EQ(rt.ErrorOf(failed), "[t.Fail] refused");
  EXPECT_EQ(rt.CodeOf(waiting), StatusCode::kCancelled);
  EXPECT_EQ(num_told, 2) << "the error, and the cancellation";
}

TEST(ErrorsTest, ER4_TheHandlerMayCancelTheRequestThatEnds) {
  HostContext::Options options = TestRuntime::WithWorkers(1);
  RequestContext* ending = nullptr;
  int num_told = 0;
  options.diagnostic_handler = [&](const Status&) {
    ++num_told;
    ending->Cancel("again");
    EXPECT_FALSE(ending->CheckActive().ok());
  };
  TestRuntime rt(std::move(options));
  const StatusOr<RcRef<RequestContext>> request = RequestContext::Create(rt.host(), {});
  ASSERT_TRUE(request.ok());
  ending = request->get();
  (*request)->Cancel("first");
  EXPECT_EQ((*request)->CheckActive().message(), "first");
  EXPECT_EQ(num_told, 1);
}

// ER-5: running out of tensor memory; of the heap in allocation_test.cc.

TEST(ErrorsTest, ER5_TensorMemoryThatCannotBeHad) {
  HostContext::Options options = TestRuntime::WithWorkers(1);
  options.allocator.memory_limit = 10'000;
  TestRuntime rt(std::move(options));
  const TensorHandle result = rt.Call("t.Add", {rt.Spread({5'000}, 1), rt.Spread({5'000}, 2)});
  EXPECT_EQ(rt.CodeOf(result), StatusCode::kResourceExhausted);
  const TensorHandle next = rt.Call("t.Add", {result, rt.Spread({5'000}, 2)});
  EXPECT_EQ(rt.CodeOf(next), StatusCode::kResourceExhausted);
  EXPECT_EQ(rt.told().size(), 1u);
  EXPECT_EQ(rt.Values(rt.Call("t.Add", {rt.F32({1}), rt.F32({2})})), std::vector<float>{3}) << "usable afterwards";
}

}  // namespace
}  // namespace tandem
