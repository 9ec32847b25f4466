// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Heap calls of op calls: how many there are (EX-10), and what happens when any of them fails (ER-5): an error, nothing
// leaked, and a runtime that works on.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "failing_heap.h"
#include "tandem/logging_op_handler.h"
#include "test_runtime.h"

namespace tandem {
namespace {

// EX-10

class BudgetTest : public testing::Test {
 protected:
  // The allocations of one call that is not the first of its op.
  int64_t CountCall(std::string_view op, std::span<TensorHandle> args, std::span<TensorHandle> results,
                    const OpAttrsRef& attrs = {}, AsyncValueRef<Chain>* chain = nullptr) {
    std::vector<TensorHandle> warm_args;
    for (const TensorHandle& arg : args) warm_args.push_back(arg.CopyRef());
    std::vector<TensorHandle> warm_results(results.size());
    AsyncValueRef<Chain> warm_chain = MakeReadyChain();
    rt_.runtime().Execute(op, &rt_.cpu(), Location(), warm_args, attrs, warm_results,
                          chain == nullptr ? nullptr : &warm_chain);
    warm_results.clear();
    return CountAllocations(
        [&] { rt_.runtime().Execute(op, &rt_.cpu(), Location::Current(), args, attrs, results, chain); });
  }
  TestRuntime rt_{TestRuntime::WithWorkers(0)};
};

TEST_F(BudgetTest, EX10_OneForASmallResult) {
  TensorHandle result;
  TensorHandle scalars[2] = {rt_.Dense<float>({}, {1}), rt_.Dense<float>({}, {2})};
  EXPECT_EQ(CountCall("t.Add", scalars, {&result, 1}), 1);
  EXPECT_EQ(rt_.Values(result), std::vector<float>{3});
  TensorHandle sixteen[2] = {TensorHandle::MakeAvailable(rt_.Filled(16, 1)),
                             TensorHandle::MakeAvailable(rt_.Filled(16, 2))};
  EXPECT_EQ(CountCall("t.Add", sixteen, {&result, 1}), 1) << "64 bytes live in the tensor";
}

TEST_F(BudgetTest, EX10_OneForASmallResultOfAMadeOp) {
  const StatusOr<Op> op = rt_.runtime().MakeOp("t.Add", &rt_.cpu());
  ASSERT_TRUE(op.ok());
  const ExecutionContext exec(rt_.host(), Location());
  TensorHandle args[2] = {rt_.F32({1}), rt_.F32({2})};
  TensorHandle result;
  EXPECT_EQ(CountAllocations([&] { (*op)(exec, args, OpAttrsRef(), {&result, 1}); }), 1);
}

TEST_F(BudgetTest, EX10_TwoForALargeResult) {
  TensorHandle result;
  TensorHandle args[2] = {TensorHandle::MakeAvailable(rt_.Filled(100, 1)),
                          TensorHandle::MakeAvailable(rt_.Filled(100, 2))};
  const TensorHandle kept[2] = {args[0].CopyRef(), args[1].CopyRef()};
  EXPECT_EQ(CountCall("t.Add", args, {&result, 1}), 2);
}

TEST_F(BudgetTest, EX10_OneWhereAnArgumentIsTakenOver) {
  TensorHandle result;
  TensorHandle args[2] = {TensorHandle::MakeAvailable(rt_.Filled(100, 1)),
                          TensorHandle::MakeAvailable(rt_.Filled(100, 2))};
  EXPECT_EQ(CountCall("t.Add", args, {&result, 1}), 1);
}

TEST_F(BudgetTest, EX10_NoneForAttributes) {
  rt_.Define(OpDefBuilder("t.Attrs")
                 .Input("x: float")
                 .Output("y: float")
                 .Attr("i: int = 1")
                 .Attr("s: string = 'a'")
                 .Attr("l: list(int) = []")
                 .Metadata<&test_ops::Same>(),
             MakeKernel([](const Tensor& x) -> StatusOr<Tensor> { return x; }));
  TensorHandle result;
  TensorHandle args[1] = {rt_.F32({1})};
  OpAttrs attrs;
  const int64_t list[3] = {1, 2, 3};
  EXPECT_EQ(CountAllocations([&] {
              attrs.Set("i", int64_t{5});
              attrs.Set("s", std::string_view("text"));
              attrs.SetArray("l", std::span<const int64_t>(list));
            }),
            0);
  EXPECT_EQ(CountCall("t.Attrs", args, {&result, 1}, attrs), 1);
}

TEST_F(BudgetTest, EX10_NoneForAnEffect) {
  rt_.Define(OpDefBuilder("t.Effect").Input("x: float").SideEffects(), MakeKernel([](DenseArg) { return Status(); }));
  TensorHandle args[1] = {rt_.F32({1})};
  AsyncValueRef<Chain> chain = MakeReadyChain();
  EXPECT_EQ(CountCall("t.Effect", args, {}, {}, &chain), 0);
}

TEST_F(BudgetTest, EX10_OneForEachResult) {
  rt_.Define(OpDefBuilder("t.Three").Input("x: float").Output("a: float").Output("b: float").Output("c: float"),
             MakeKernel([](const Tensor& x, KernelFrame& frame) {
               for (size_t i = 0; i < 3; ++i) frame.SetResult(i, x);
               return Status();
             }));
  TensorHandle args[1] = {rt_.F32({1})};
  TensorHandle results[3];
  EXPECT_EQ(CountCall("t.Three", args, results), 3);
}

// ER-5: everything that a call may need is made before the heap is told to fail.
struct World {
  static HostContext::Options Options(int* num_told) {
    HostContext::Options options = TestRuntime::WithWorkers(0);
    options.diagnostic_handler = [num_told](const Status&) { ++*num_told; };
    return options;
  }
  World() : rt(Options(&num_told)) {}

  void Execute(std::string_view op, size_t num_args, size_t num_results, const OpAttrsRef& attrs = {},
               bool with_chain = false) {
    Execute(&rt.cpu(), op, num_args, num_results, attrs, with_chain);
  }
  void Execute(OpHandler* handler, std::string_view op, size_t num_args, size_t num_results,
               const OpAttrsRef& attrs = {}, bool with_chain = false) {
    rt.runtime().Execute(op, handler, Location::Current(), {args.data(), num_args}, attrs,
                         {results.data(), num_results}, with_chain ? &chain : nullptr);
    used_args = num_args;
    used_results = num_results;
    uses_chain = with_chain;
  }

  int num_told = 0;
  TestRuntime rt;
  std::array<TensorHandle, 24> args;
  std::array<TensorHandle, 12> results;
  AsyncValueRef<Chain> chain;
  size_t used_args = 0;
  size_t used_results = 0;
  bool uses_chain = false;
  // For scenarios that need them.
  Promise promise;
  Tensor tensor{{DType::kF32, {1}}, nullptr};
  RcRef<TensorValue> late;
  RcRef<ConcreteAsyncValue<Chain>> late_chain;
  Op op;
  RcRef<RequestContext> request;
  std::optional<Device> far_device;
  OpHandler* handler = nullptr;
};

struct Scenario {
  const char* name;
  void (*prepare)(World&);
  void (*run)(World&);  // with a heap that fails
  // What the first result or the chain says when no allocation fails: "ok" or the error.
  std::string outcome = "ok";
};

void TwoSmall(World& w) {
  w.args[0] = w.rt.F32({1});
  w.args[1] = w.rt.F32({2});
}
void TwoSmallWarm(World& w) {
  TwoSmall(w);
  w.rt.Call("t.Add", {w.rt.F32({1}), w.rt.F32({2})}).reset();
}
void TwoLarge(World& w) {
  w.args[0] = TensorHandle::MakeAvailable(w.rt.Filled(100, 1));
  w.args[1] = w.args[0].CopyRef();
}
void KnownAndSmall(World& w) {
  w.promise = w.rt.MakePromise({DType::kF32, {1}});
  w.tensor = w.rt.Filled(1, 1);
  w.args[0] = w.promise.Handle();
  w.args[1] = w.rt.F32({2});
}
void UnknownAndSmall(World& w) {
  KnownAndSmall(w);
  w.promise = w.rt.MakePromise();
  w.args[0] = w.promise.Handle();
}
// Metadata of results that were pending is published without an allocation, so is the tensor.
void Resolve(World& w) { w.promise.Resolve(std::move(w.tensor)); }
void DefineLate(World& w) {
  TwoSmall(w);
  w.late = MakeUnconstructed<Tensor>();
  w.late_chain = MakeUnconstructed<Chain>();
  w.tensor = w.rt.Filled(1, 1);
  const auto kernel = [&w](KernelFrame& frame) {
    frame.SetResult(0, AsyncValueRef<Tensor>(RcRef<AsyncValue>(w.late)));
    frame.SetChain(AsyncValueRef<Chain>(RcRef<AsyncValue>(w.late_chain)));
    return Status();
  };
  w.rt.Define(OpDefBuilder("t.Late").Input("x: float").Output("y: float").SideEffects().Metadata<&test_ops::Same>(),
              MakeKernel(kernel));
  w.rt.Define(OpDefBuilder("t.LateUnknown").Input("x: float").Output("y: float").SideEffects(), MakeKernel(kernel));
}
void ResolveLate(World& w) {
  w.late->Construct(std::move(w.tensor));
  w.late->SetConcrete();
  w.late_chain->Emplace();
}
void DefineEffect(World& w) {
  KnownAndSmall(w);
  std::swap(w.args[0], w.args[1]);
  w.rt.Define(OpDefBuilder("t.Effect").Input("x: float").SideEffects(), MakeKernel([](DenseArg) { return Status(); }));
}
void DefineVariadic(World& w) {
  for (size_t i = 0; i < 20; ++i) w.args[i] = i % 5 == 0 ? w.rt.Spread({100}, 1) : w.rt.F32({1});
  w.rt.Define(OpDefBuilder("t.Variadic")
                  .Input("x: N * float")
                  .Output("y: N2 * float")
                  .Attr("N: int >= 1")
                  .Attr("N2: int >= 1 = 10"),
              MakeKernel([](VariadicArgs x, KernelFrame& frame) {
                for (size_t i = 0; i < frame.num_results(); ++i) frame.SetResult(i, x[i].tensor());
                return Status();
              }));
}
constexpr TensorType kFar{"dense_far"};
AsyncValueRef<Tensor> Recast(const ExecutionContext&, const Tensor& from, const Device& target) {
  Tensor to(from.metadata(), &target);
  std::memcpy(to.UseInlineData(target.dense_type()), from.data(), Tensor::kInlineBytes);
  return AsyncValueRef<Tensor>::MakeAvailable(std::move(to));
}
void DefineFallback(World& w) {
  UnknownAndSmall(w);
  w.far_device.emplace("far:0", kFar);
  EXPECT_TRUE(w.rt.host().conversions().Register(kDenseHost, kFar, &Recast).ok());
  EXPECT_TRUE(w.rt.host().conversions().Register(kFar, kDenseHost, &Recast).ok());
  auto far =
      std::make_unique<KernelOpHandler>("far", w.rt.runtime(), nullptr, *w.far_device, KernelOpHandler::Policy());
  EXPECT_TRUE(far->AddKernel("t.Add", {DType::kF32},
                             MakeKernel([](const Tensor& x, const Tensor&) -> StatusOr<Tensor> { return x; }))
                  .ok());
  OpHandler* fallback = w.rt.runtime().AddHandler(std::move(far));
  auto near =
      std::make_unique<KernelOpHandler>("near", w.rt.runtime(), fallback, w.rt.host().device(),
                                        KernelOpHandler::Policy{.use_work_queue = true, .transfer_for_fallback = true});
  EXPECT_TRUE(near->AddKernel("t.Add", {DType::kI32}, MakeKernel<&test_ops::Add<int32_t>>()).ok());
  w.handler = w.rt.runtime().AddHandler(std::move(near));
}
void DefineAttrs(World& w) {
  KnownAndSmall(w);
  OpDefBuilder builder("t.Attrs");
  builder.Input("x: float").Output("y: float").Metadata<&test_ops::Same>();
  for (char name = 'a'; name < 'k'; ++name) builder.Attr(TextOf(name, ": string = 'default'"));
  w.rt.Define(builder, MakeKernel([](const Tensor& x, const OpAttrsRef& attrs) -> StatusOr<Tensor> {
                for (const char name : std::string_view("abcdefghij")) {
                  std::string_view value;
                  if (!attrs.Get({&name, 1}, &value) || value != "a text of some length") {
                    return InvalidArgument("attribute ", name, " is lost");
                  }
                }
                return x;
              }));
}
void CallWithAttrs(World& w) {
  OpAttrs attrs;
  for (const char name : std::string_view("abcdefghij")) attrs.Set({&name, 1}, "a text of some length");
  w.Execute("t.Attrs", 1, 1, attrs);
}
// The first attribute is already too long for the stack, so that an empty set is left.
void CallWithOneLongAttr(World& w) {
  static constexpr std::array<char, 300> kText = [] {
    std::array<char, 300> text;
    text.fill('x');
    return text;
  }();
  OpAttrs attrs;
  attrs.Set("s", std::string_view(kText.data(), kText.size()));
  w.Execute("t.LongAttr", 1, 1, attrs);
}
void DefineLongAttr(World& w) {
  TwoSmallWarm(w);
  w.rt.Define(OpDefBuilder("t.LongAttr")
                  .Input("x: float")
                  .Output("y: float")
                  .Attr("s: string = 'default'")
                  .Metadata<&test_ops::Same>(),
              MakeKernel([](const Tensor& x, const OpAttrsRef& attrs) -> StatusOr<Tensor> {
                if (attrs.GetOr<std::string_view>("s", "").size() != 300) return Internal("the attribute is lost");
                return x;
              }));
}
StatusOr<TensorMetadata> Resized(const TensorMetadata& x, HostInput size) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t n, size.Scalar("size"));
  return TensorMetadata(x.dtype, {n});
}
void DefineHostInput(World& w) {
  w.promise = w.rt.MakePromise({DType::kI32, {1}});
  w.tensor = w.rt.MakeTensor<int32_t>({1}, {1});
  w.args[0] = w.rt.F32({1});
  w.args[1] = w.promise.Handle();
  w.rt.Define(
      OpDefBuilder("t.Resize").Input("x: float").HostInput("size: int32").Output("y: float").Metadata<&Resized>(),
      MakeKernel([](const Tensor& x, const Tensor&) -> StatusOr<Tensor> { return x; }));
}

const Scenario kScenarios[] = {
    {"InlineFirstTime", &TwoSmall, [](World& w) { w.Execute("t.Add", 2, 1); }},
    {"Inline", &TwoSmallWarm, [](World& w) { w.Execute("t.Add", 2, 1); }},
    {"InlineLarge", &TwoLarge, [](World& w) { w.Execute("t.Add", 2, 1); }},
    {"InlineExpanded",
     [](World& w) {
       w.args[0] = w.rt.Spread({100}, 1);
       w.args[1] = w.rt.Spread({100}, 1);
     },
     [](World& w) { w.Execute("t.Add", 2, 1); }},
    {"MakeOp", &TwoSmall,
     [](World& w) {
       StatusOr<Op> op = w.rt.runtime().MakeOp("t.Add", &w.rt.cpu());
       if (op.ok()) {
         (*op)(ExecutionContext(w.rt.host(), Location()), {w.args.data(), 2}, OpAttrsRef(), {w.results.data(), 1});
         w.used_results = 1;
       } else {
         EXPECT_EQ(op.status().code(), StatusCode::kResourceExhausted);
       }
     }},
    {"Made",
     [](World& w) {
       TwoSmall(w);
       w.op = *w.rt.runtime().MakeOp("t.Add", &w.rt.cpu());
     },
     [](World& w) {
       w.op(ExecutionContext(w.rt.host(), Location()), {w.args.data(), 2}, OpAttrsRef(), {w.results.data(), 1});
       w.used_results = 1;
     }},
    {"NoMetadataFunction", &TwoSmall, [](World& w) { w.Execute("t.NonZero", 1, 1); }},
    {"Queued", &TwoSmall,
     [](World& w) {
       w.Execute("t.LongAdd", 2, 1);
       w.rt.host().Quiesce();
     }},
    {"QueuedLarge", &TwoLarge,
     [](World& w) {
       w.Execute("t.LongAdd", 2, 1);
       w.rt.host().Quiesce();
     }},
    {"Pending", &KnownAndSmall,
     [](World& w) {
       w.Execute("t.Add", 2, 1);
       Resolve(w);
     }},
    {"PendingMetadata", &UnknownAndSmall,
     [](World& w) {
       w.Execute("t.Add", 2, 1);
       Resolve(w);
     }},
    {"PendingWithoutMetadataFunction", &KnownAndSmall,
     [](World& w) {
       w.Execute("t.NonZero", 1, 1);
       Resolve(w);
     }},
    {"PendingThenQueued", &UnknownAndSmall,
     [](World& w) {
       w.Execute("t.LongAdd", 2, 1);
       Resolve(w);
       w.rt.host().Quiesce();
     }},
    {"PendingCancelled", &UnknownAndSmall,
     [](World& w) {
       w.Execute("t.Add", 2, 1);
       w.rt.host().CancelExecution("stop");
     },
     "[t.Add] stop"},
    {"PendingFailed", &UnknownAndSmall,
     [](World& w) {
       w.Execute("t.Fail", 1, 1);
       Resolve(w);
     },
     "[t.Fail] refused"},
    {"PendingMetadataError",
     [](World& w) {
       UnknownAndSmall(w);
       w.args[1] = w.rt.F32({1, 2});
     },
     [](World& w) {
       w.Execute("t.Add", 2, 1);
       Resolve(w);
     },
     "[t.Add] shapes must agree, got x: f32[1], y: f32[2]"},
    {"HostInput", &DefineHostInput,
     [](World& w) {
       w.Execute("t.Resize", 2, 1);
       Resolve(w);
     }},
    {"Effect", &DefineEffect, [](World& w) { w.Execute("t.Effect", 1, 0, {}, true); }},
    {"PendingEffect",
     [](World& w) {
       DefineEffect(w);
       std::swap(w.args[0], w.args[1]);
     },
     [](World& w) {
       w.Execute("t.Effect", 1, 0, {}, true);
       Resolve(w);
     }},
    {"Variadic", &DefineVariadic, [](World& w) { w.Execute("t.Variadic", 20, 10); }},
    {"UnknownOp", &TwoSmall, [](World& w) { w.Execute("t.Unknown", 2, 2); }, "[t.Unknown] op t.Unknown is not defined"},
    {"WrongCount", &TwoSmall, [](World& w) { w.Execute("t.Add", 1, 1, {}, true); },
     "[t.Add] expected 2 arguments, got 1"},
    {"KernelFails", &TwoSmall, [](World& w) { w.Execute("t.Fail", 1, 1); }, "[t.Fail] refused"},
    {"Cancelled",
     [](World& w) {
       TwoSmall(w);
       w.rt.host().CancelExecution("stop");
     },
     [](World& w) { w.Execute("t.Add", 2, 1); }, "[t.Add] stop"},
    {"ErrorArgument",
     [](World& w) {
       TwoSmall(w);
       w.args[0] = TensorHandle::MakeError(Internal("broken"));
     },
     [](World& w) { w.Execute("t.Add", 2, 1, {}, true); }, "broken"},
    {"LateResult", &DefineLate,
     [](World& w) {
       w.Execute("t.Late", 1, 1, {}, true);
       ResolveLate(w);
     }},
    {"LateResultWithoutMetadata", &DefineLate,
     [](World& w) {
       w.Execute("t.LateUnknown", 1, 1, {}, true);
       ResolveLate(w);
     }},
    {"Fallback", &DefineFallback,
     [](World& w) {
       w.args[0] = w.args[1].CopyRef();
       w.Execute(w.handler, "t.Add", 2, 1);
     }},
    {"PendingFallback", &DefineFallback,
     [](World& w) {
       w.Execute(w.handler, "t.Add", 2, 1);
       Resolve(w);
     }},
    {"Attributes",
     [](World& w) {
       DefineAttrs(w);
       w.args[0] = w.rt.F32({1});
     },
     &CallWithAttrs},
    {"AttributesPending", &DefineAttrs,
     [](World& w) {
       CallWithAttrs(w);
       Resolve(w);
     }},
    {"OneLongAttribute", &DefineLongAttr, &CallWithOneLongAttr},
    {"Traced",
     [](World& w) {
       UnknownAndSmall(w);
       w.rt.host().StartTracing();
     },
     [](World& w) {
       w.Execute("t.Add", 2, 1);
       Resolve(w);
     }},
    {"Request", &UnknownAndSmall,
     [](World& w) {
       StatusOr<RcRef<RequestContext>> request =
           RequestContext::Create(w.rt.host(), {RequestContext::Clock::now() + std::chrono::hours(1), nullptr});
       if (!request.ok()) {
         EXPECT_EQ(request.status().code(), StatusCode::kResourceExhausted);
         return;
       }
       const ExecutionContext exec(w.rt.host(), Location(), *request);
       w.rt.runtime().Execute(exec, "t.Add", &w.rt.cpu(), {w.args.data(), 2}, OpAttrsRef(), {w.results.data(), 1});
       w.used_results = 1;
       (*request)->Cancel("over");
       Resolve(w);
     },
     "[t.Add] over"},
    {"AwaitWithDeadline", &KnownAndSmall,
     [](World& w) {
       w.Execute("t.Add", 2, 1);
       const AsyncValue* value = w.results[0].value().value();
       const Status status = w.rt.host().Await({&value, 1}, WorkQueue::Deadline::min());
       EXPECT_TRUE(status.ok() || status.code() == StatusCode::kDeadlineExceeded ||
                   status.code() == StatusCode::kResourceExhausted)
           << status.ToString();
       Resolve(w);
     }},
    {"Logged",
     [](World& w) {
       UnknownAndSmall(w);
       w.handler = w.rt.runtime().AddHandler(CreateLoggingOpHandler(
           "log", w.rt.runtime(), w.rt.cpu(), {.sink = [](std::string_view) {}, .synchronous = false}));
     },
     [](World& w) {
       w.Execute(w.handler, "t.Add", 2, 1);
       Resolve(w);
     }},
};

class FailingHeapTest : public testing::TestWithParam<std::tuple<Scenario, bool>> {
 protected:
  // Runs the scenario with allocation `n` failing, and with all after it if `fail_rest`. False if there are fewer.
  bool RunFailing(int n, bool fail_rest) {
    const Scenario& scenario = std::get<0>(GetParam());
    World world;
    scenario.prepare(world);
    world.num_told = 0;
    const int64_t throwing_before = thread_heap.num_throwing;
    const int64_t failures_before = thread_heap.num_failures;
    thread_heap.fails_once = !fail_rest;
    WithMemoryFor(n, [&] { scenario.run(world); });
    thread_heap.fails_once = false;
    const bool failed = thread_heap.num_failures > failures_before;
    EXPECT_EQ(thread_heap.num_throwing, throwing_before) << "an allocation that may not fail";
    Check(world, failed);
    return failed;
  }

  void Check(World& world, bool failed) {
    for (size_t i = 0; i < world.used_args; ++i) EXPECT_FALSE(world.args[i].IsValid()) << "EX-2";
    Status outcome;
    for (size_t i = 0; i < world.used_results; ++i) {
      const TensorHandle& result = world.results[i];
      ASSERT_TRUE(result.IsValid()) << "EX-3";
      ASSERT_TRUE(result.IsAvailable());
      if (result.IsError()) outcome = result.GetError();
    }
    if (world.uses_chain) {
      ASSERT_TRUE(world.chain.IsValid());
      ASSERT_TRUE(world.chain.IsAvailable());
      if (world.chain.IsError()) outcome = world.chain.GetError();
    }
    const std::string text = outcome.ok() ? "ok" : std::string(outcome.message());
    const bool is_memory = outcome.code() == StatusCode::kResourceExhausted;
    const std::string& expected = std::get<0>(GetParam()).outcome;
    const bool is_expected = text == expected;
    if (failed && world.used_results == 0 && !world.uses_chain) {
      // It did not come to the call.
    } else if (failed) {
      // Without memory an error may lack its op.
      EXPECT_TRUE(is_memory || is_expected || expected.ends_with("] " + text)) << text;
      if (is_memory) {
        EXPECT_GT(world.num_told, 0) << "ER-4";
      }
    } else {
      EXPECT_TRUE(is_expected) << text;
    }
    world.rt.host().Restart();
    const TensorHandle next = world.rt.Call("t.Add", {world.rt.F32({1}), world.rt.F32({2})});
    EXPECT_EQ(world.rt.Values(next), std::vector<float>{3}) << "usable afterwards";
  }
};
INSTANTIATE_TEST_SUITE_P(Scenarios, FailingHeapTest, testing::Combine(testing::ValuesIn(kScenarios), testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) ? "AndAllAfterIt" : "");
                         });

TEST_P(FailingHeapTest, ER5_EachAllocationThatFailsBecomesAnError) {
  RunFailing(1'000'000, false);
  const int64_t before = AsyncValue::NumLive();
  int n = 0;
  while (RunFailing(n, std::get<1>(GetParam()))) {
    EXPECT_EQ(AsyncValue::NumLive(), before) << "after failure " << n;
    ++n;
    ASSERT_LT(n, 1000);
  }
  if (std::string_view(std::get<0>(GetParam()).name) != "Effect") {
    EXPECT_GT(n, 0) << "the scenario is expected to allocate";
  }
}

}  // namespace
}  // namespace tandem
