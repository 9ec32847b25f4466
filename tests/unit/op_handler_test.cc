// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Op handlers: what one is, stacks of them, why an op cannot run, fallback by dtype and across devices (OH-1, OH-2,
// OH-5, EX-4, EX-13).

#include "tandem/op_handler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test_runtime.h"

namespace tandem {
namespace {

// OH-1: a new device is a class with one method.
class EchoHandler final : public OpHandler {
 public:
  EchoHandler(std::string_view name, CoreRuntime& runtime) : OpHandler(name, runtime, &runtime.null_handler()) {}

  StatusOr<Op> MakeOp(std::string_view op_name) override {
    const OpDef* def = runtime().registry().Find(op_name);
    if (def == nullptr) return fallback()->MakeOp(op_name);
    ++num_made;
    return Op(MakeRef<const EchoOp>(def->name));
  }
  int num_made = 0;

 private:
  class EchoOp final : public OpImpl {
   public:
    using OpImpl::OpImpl;
    void Invoke(const OpInvocation& invocation) const override {
      for (TensorHandle& result : invocation.results) result = invocation.args[0].CopyRef();
      for (TensorHandle& arg : invocation.args) arg.reset();
    }
  };
};

TensorHandle CallOn(TestRuntime& rt, OpHandler* handler, std::string_view op, Args args) {
  TensorHandle result;
  rt.runtime().Execute(op, handler, Location(), args.span(), OpAttrsRef(), {&result, 1});
  return result;
}

TEST(OpHandlerTest, OH1_ADeviceImplementsMakeOpAndExecuteFollows) {
  TestRuntime rt;
  auto owned = std::make_unique<EchoHandler>("echo", rt.runtime());
  EchoHandler* echo = owned.get();
  rt.runtime().AddHandler(std::move(owned));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(rt.Values(CallOn(rt, echo, "t.Add", {rt.F32({4}), rt.F32({1})})), std::vector<float>{4});
  }
  EXPECT_EQ(echo->num_made, 1) << "resolved once";
  EXPECT_EQ(rt.ErrorOf(CallOn(rt, echo, "t.LongAd", {rt.F32({4})})),
            "[t.LongAd] op t.LongAd is not defined, did you mean t.LongAdd");
}

TEST(OpHandlerTest, OH5_FoundByNameTheFirstRegistrationWins) {
  TestRuntime rt;
  OpHandler* first = rt.runtime().AddHandler(std::make_unique<EchoHandler>("echo", rt.runtime()));
  OpHandler* second = rt.runtime().AddHandler(std::make_unique<EchoHandler>("echo", rt.runtime()));
  EXPECT_NE(first, second);
  EXPECT_EQ(rt.runtime().FindHandler("echo"), first);
  EXPECT_EQ(rt.runtime().FindHandler("cpu"), &rt.cpu());
  EXPECT_EQ(rt.runtime().FindHandler("null"), &rt.runtime().null_handler());
  // The second one works where it is used directly.
  EXPECT_EQ(rt.Values(CallOn(rt, second, "t.Add", {rt.F32({4}), rt.F32({1})})), std::vector<float>{4});
}

TEST(OpHandlerTest, OH5_AnUnregisteredHandlerIsNotFindable) {
  TestRuntime rt;
  EchoHandler apart("apart", rt.runtime());
  EXPECT_EQ(rt.runtime().FindHandler("apart"), nullptr);
  EXPECT_EQ(rt.runtime().FindHandler(""), nullptr);
  EXPECT_EQ(rt.Values(CallOn(rt, &apart, "t.Add", {rt.F32({4}), rt.F32({1})})), std::vector<float>{4});
}

// EX-4

TEST(OpHandlerTest, EX4_ThreeReasonsWhyAnOpCannotRun) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.NoKernel").Input("x: float").Output("y: float"));
  rt.runtime().registry().MarkLeftOut("t.LeftOut");
  const struct {
    std::string_view op;
    StatusCode code;
    std::string_view error;
  } kReasons[] = {
      {"t.longadd", StatusCode::kNotFound, "[t.longadd] op t.longadd is not defined, did you mean t.LongAdd"},
      {"t.Zzzz", StatusCode::kNotFound, "[t.Zzzz] op t.Zzzz is not defined"},
      {"t.NoKernel", StatusCode::kUnimplemented, "[t.NoKernel] op handler cpu has no kernel for this op"},
      {"t.LeftOut", StatusCode::kFailedPrecondition,
       "[t.LeftOut] op t.LeftOut was left out of this build by selective registration: name it in the list "
       "of ops that the build is given (TANDEM_OPS, tandem-rt trim)"},
  };
  for (const auto& reason : kReasons) {
    const TensorHandle result = rt.Call(reason.op, {rt.F32({1})});
    EXPECT_EQ(rt.ErrorOf(result), reason.error);
    EXPECT_EQ(rt.CodeOf(result), reason.code);
    const Status made = rt.runtime().MakeOp(reason.op, &rt.cpu()).status();
    EXPECT_EQ(made.message(), reason.error);
    EXPECT_EQ(made.code(), reason.code);
  }
}

TEST(OpHandlerTest, EX4_NoKernelForThisDType) {
  TestRuntime rt;
  const TensorHandle result = rt.Call("t.LongAdd", {rt.I32({1}), rt.I32({1})});
  EXPECT_EQ(rt.ErrorOf(result), "[t.LongAdd] op handler cpu has no kernel for dtype i32");
  EXPECT_EQ(rt.CodeOf(result), StatusCode::kUnimplemented);
  Promise promise = rt.MakePromise();
  const TensorHandle late = rt.Call("t.LongAdd", {promise.Handle(), rt.I32({1})});
  promise.Resolve(rt.MakeTensor<int32_t>({1}, {1}));
  EXPECT_EQ(rt.ErrorOf(late), "[t.LongAdd] op handler cpu has no kernel for dtype i32");
}

TEST(OpHandlerTest, EX4_KernelsForTypesOfAnOpThatHasNone) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Plain").Input("x: float").Output("y: float"));
  rt.AddKernel("t.Plain", {DType::kF32}, MakeKernel<&test_ops::NonZero>());
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Plain", {rt.F32({1})})), "[t.Plain] op handler cpu has no kernel for this op");
}

TEST(OpHandlerTest, EX4_AnOpDefinedAfterItWasAskedForIsFound) {
  TestRuntime rt;
  EXPECT_EQ(rt.CodeOf(rt.Call("t.Late", {rt.F32({1})})), StatusCode::kNotFound);
  rt.Define(OpDefBuilder("t.Late").Input("x: float").Output("y: float"));
  EXPECT_EQ(rt.CodeOf(rt.Call("t.Late", {rt.F32({1})})), StatusCode::kUnimplemented);
  rt.AddKernel("t.Late", {DType::kInvalid}, MakeKernel<&test_ops::NonZero>());
  EXPECT_TRUE(rt.Call("t.Late", {rt.F32({1})}).IsConcrete());
}

TEST(OpHandlerTest, OR3_OneKernelPerDType) {
  TestRuntime rt;
  const Status again = rt.cpu().AddKernel("t.Add", {DType::kF64, DType::kF32}, MakeKernel<&test_ops::Add<float>>());
  EXPECT_EQ(again.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(again.message(), "op handler cpu must have one kernel per dtype, got a second one of t.Add for f32");
  // None of them was added.
  EXPECT_TRUE(rt.cpu().AddKernel("t.Add", {DType::kF64}, MakeKernel<&test_ops::Add<double>>()).ok());
}

// OH-2: stacks.

// "tag" of the first result that each handler in the stack gives.
Status Tag(KernelFrame& frame, float tag) {
  if (float* y = frame.AllocateResult<float>(0)) std::fill_n(y, frame.result_metadata(0).num_elements(), tag);
  return Status();
}
Kernel TagKernel(float tag) {
  return MakeKernel([tag](KernelFrame& frame) { return Tag(frame, tag); });
}

class StackTest : public testing::Test {
 protected:
  StackTest() {
    for (const std::string_view name : {"t.A", "t.B", "t.C"}) {
      rt_.Define(
          OpDefBuilder(name).Input("x: T").Output("y: float").Attr("T: {float, int32, int64}").Metadata<&AsFloat>());
    }
    bottom_ = Add("bottom", nullptr);
    middle_ = Add("middle", bottom_);
    top_ = Add("top", middle_);
  }
  static TensorMetadata AsFloat(const TensorMetadata& x) { return {DType::kF32, x.shape}; }
  KernelOpHandler* Add(std::string_view name, OpHandler* fallback) {
    auto handler = std::make_unique<KernelOpHandler>(name, rt_.runtime(), fallback, rt_.host().device(),
                                                     KernelOpHandler::Policy());
    KernelOpHandler* added = handler.get();
    rt_.runtime().AddHandler(std::move(handler));
    return added;
  }
  float TagOf(const TensorHandle& handle) {
    const std::vector<float> values = rt_.Values(handle);
    return values.empty() ? -1 : values[0];
  }

  TestRuntime rt_;
  KernelOpHandler* bottom_;
  KernelOpHandler* middle_;
  KernelOpHandler* top_;
};

TEST_F(StackTest, OH2_AnOpGoesToTheFirstHandlerThatHasIt) {
  ASSERT_TRUE(top_->AddKernel("t.A", {DType::kF32}, TagKernel(1)).ok());
  ASSERT_TRUE(middle_->AddKernel("t.A", {DType::kF32}, TagKernel(2)).ok());
  ASSERT_TRUE(middle_->AddKernel("t.B", {DType::kF32}, TagKernel(2)).ok());
  ASSERT_TRUE(bottom_->AddKernel("t.B", {DType::kF32}, TagKernel(3)).ok());
  ASSERT_TRUE(bottom_->AddKernel("t.C", {DType::kF32}, TagKernel(3)).ok());
  EXPECT_EQ(TagOf(CallOn(rt_, top_, "t.A", {rt_.F32({0})})), 1);
  EXPECT_EQ(TagOf(CallOn(rt_, top_, "t.B", {rt_.F32({0})})), 2);
  EXPECT_EQ(TagOf(CallOn(rt_, top_, "t.C", {rt_.F32({0})})), 3);
  EXPECT_EQ(TagOf(CallOn(rt_, middle_, "t.A", {rt_.F32({0})})), 2);
}

TEST_F(StackTest, OH2_FallbackForADTypeThatIsMissing) {
  ASSERT_TRUE(top_->AddKernel("t.A", {DType::kF32}, TagKernel(1)).ok());
  ASSERT_TRUE(bottom_->AddKernel("t.A", {DType::kF32, DType::kI32}, TagKernel(3)).ok());
  EXPECT_EQ(TagOf(CallOn(rt_, top_, "t.A", {rt_.F32({0})})), 1);
  EXPECT_EQ(TagOf(CallOn(rt_, top_, "t.A", {rt_.I32({0})})), 3);
  // Also where the dtype is known only later.
  Promise promise = rt_.MakePromise();
  const TensorHandle late = CallOn(rt_, top_, "t.A", {promise.Handle()});
  promise.Resolve(rt_.MakeTensor<int32_t>({1}, {0}));
  EXPECT_EQ(TagOf(late), 3);
  // And where it is known, but the tensor is not.
  Promise known = rt_.MakePromise({DType::kI32, {1}});
  const TensorHandle later = CallOn(rt_, top_, "t.A", {known.Handle()});
  EXPECT_EQ(TextOf(later), "pending f32[1] on cpu");
  known.Resolve(rt_.MakeTensor<int32_t>({1}, {0}));
  EXPECT_EQ(TagOf(later), 3);
}

// A kernel that is for some calls of its dtype only: the others are as if there were none.
TEST_F(StackTest, OH2_FallbackForCallsThatAKernelIsNotFor) {
  constexpr auto kVectors = [](std::span<const TensorMetadata* const> args, const OpAttrsRef&,
                               std::span<const TensorMetadata> results) {
    return args[0]->rank() == 1 && results[0].rank() == 1;
  };
  ASSERT_TRUE(top_->AddKernel("t.A", {DType::kF32}, TagKernel(1).OnlyIf(kVectors)).ok());
  ASSERT_TRUE(bottom_->AddKernel("t.A", {DType::kF32}, TagKernel(3)).ok());
  EXPECT_EQ(TagOf(CallOn(rt_, top_, "t.A", {rt_.F32({0})})), 1);
  EXPECT_EQ(TagOf(CallOn(rt_, top_, "t.A", {rt_.Dense<float>({1, 1}, {0})})), 3);
  // Also where the shape is known only later.
  for (const TensorShape& shape : {TensorShape({1}), TensorShape({1, 1})}) {
    Promise promise = rt_.MakePromise();
    const TensorHandle late = CallOn(rt_, top_, "t.A", {promise.Handle()});
    promise.Resolve(rt_.MakeTensor<float>(shape, {0}));
    EXPECT_EQ(TagOf(late), shape.rank() == 1 ? 1 : 3);
  }
  ASSERT_TRUE(bottom_->AddKernel("t.B", {DType::kF32}, TagKernel(3).OnlyIf(kVectors)).ok());
  EXPECT_EQ(rt_.ErrorOf(CallOn(rt_, bottom_, "t.B", {rt_.Dense<float>({1, 1}, {0})})),
            "[t.B] op handler bottom has no kernel for dtype f32");
}

TEST_F(StackTest, OH2_ErrorsOfTheFallbackAreToldOnce) {
  ASSERT_TRUE(top_->AddKernel("t.A", {DType::kF32}, TagKernel(1)).ok());
  ASSERT_TRUE(bottom_->AddKernel("t.A", {DType::kI32}, MakeKernel<&test_ops::Refuse>()).ok());
  EXPECT_EQ(rt_.ErrorOf(CallOn(rt_, top_, "t.A", {rt_.I32({0})})), "[t.A] refused");
  Promise promise = rt_.MakePromise();
  const TensorHandle late = CallOn(rt_, top_, "t.A", {promise.Handle()});
  promise.Resolve(rt_.MakeTensor<int32_t>({1}, {0}));
  EXPECT_EQ(rt_.ErrorOf(late), "[t.A] refused");
  EXPECT_EQ(rt_.told(), (std::vector<std::string>{"[t.A] refused", "[t.A] refused"}));
}

// The stack's end is the null handler; what it says names the handler that the caller asked.
TEST_F(StackTest, OH2_NobodyHasIt) {
  ASSERT_TRUE(top_->AddKernel("t.A", {DType::kF32}, TagKernel(1)).ok());
  ASSERT_TRUE(bottom_->AddKernel("t.A", {DType::kI32}, TagKernel(3)).ok());
  EXPECT_EQ(rt_.ErrorOf(CallOn(rt_, top_, "t.B", {rt_.F32({0})})), "[t.B] op handler top has no kernel for this op");
  EXPECT_EQ(rt_.ErrorOf(CallOn(rt_, top_, "t.A", {rt_.Dense<int64_t>({1}, {0})})),
            "[t.A] op handler bottom has no kernel for dtype i64");
}

TEST_F(StackTest, OH2_SideEffectsKeepTheirOrderThroughTheFallback) {
  rt_.Define(OpDefBuilder("t.Effect").Input("x: T").SideEffects().Attr("T: {float, int32}"));
  std::vector<int> order;
  const auto append = [&order](int tag) {
    return MakeKernel([&order, tag](KernelFrame&) {
      order.push_back(tag);
      return Status();
    });
  };
  ASSERT_TRUE(top_->AddKernel("t.Effect", {DType::kF32}, append(1)).ok());
  ASSERT_TRUE(bottom_->AddKernel("t.Effect", {DType::kI32}, append(3)).ok());
  Promise first = rt_.MakePromise();
  AsyncValueRef<Chain> chain;
  std::vector<TensorHandle> args;
  args.push_back(first.Handle());
  args.push_back(rt_.F32({0}));
  args.push_back(rt_.I32({0}));
  args.push_back(rt_.F32({0}));
  for (TensorHandle& arg : args) {
    rt_.runtime().Execute("t.Effect", top_, Location(), {&arg, 1}, OpAttrsRef(), {}, &chain);
  }
  EXPECT_TRUE(order.empty());
  first.Resolve(rt_.MakeTensor<int32_t>({1}, {0}));
  EXPECT_TRUE(rt_.AwaitChain(chain).ok());
  EXPECT_EQ(order, (std::vector<int>{3, 1, 3, 1}));
}

// OH-2, EX-13: across devices. The second device's memory is the host's, but its tensors are of a type of their own.

constexpr TensorType kFar{"dense_far"};

AsyncValueRef<Tensor> Recast(const Tensor& from, const Device& target) {
  Tensor to(from.metadata(), &target);
  if (from.IsInline()) {
    std::memcpy(to.UseInlineData(target.dense_type()), from.data(), from.metadata().byte_size());
  } else {
    to.UseStorage(target.dense_type(), const_cast<void*>(from.data()), from.storage());
  }
  return AsyncValueRef<Tensor>::MakeAvailable(std::move(to));
}
AsyncValueRef<Tensor> Convert(const ExecutionContext&, const Tensor& from, const Device& target) {
  return Recast(from, target);
}

StatusOr<TensorMetadata> Resized(const TensorMetadata& x, HostInput size) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t n, size.Scalar("size"));
  return TensorMetadata(x.dtype, {n});
}

class AcrossDevicesTest : public testing::TestWithParam<bool> {
 protected:
  AcrossDevicesTest() : far_device_("far:0", kFar) {
    TensorConversions& conversions = rt_.host().conversions();
    EXPECT_TRUE(conversions.Register(kDenseHost, kFar, &Convert).ok());
    EXPECT_TRUE(conversions.Register(kFar, kDenseHost, &Convert).ok());
    auto far = std::make_unique<KernelOpHandler>("far", rt_.runtime(), nullptr, far_device_, KernelOpHandler::Policy());
    far_ = far.get();
    rt_.runtime().AddHandler(std::move(far));
    auto near = std::make_unique<KernelOpHandler>(
        "near", rt_.runtime(), far_, rt_.host().device(),
        KernelOpHandler::Policy{.use_work_queue = true, .transfer_for_fallback = transfers()});
    near_ = near.get();
    rt_.runtime().AddHandler(std::move(near));
    // Doubles on the far device.
    rt_.Define(
        OpDefBuilder("t.Double").Input("x: T").Output("y: T").Attr("T: {float, int32}").Metadata<&test_ops::Same>());
    EXPECT_TRUE(far_->AddKernel("t.Double", {DType::kF32},
                                MakeKernel([](const Tensor& x, KernelFrame& frame) -> StatusOr<Tensor> {
                                  if (!x.IsA(kFar)) return Internal("not far");
                                  Tensor y(frame.result_metadata(0), frame.handler().device());
                                  auto* data = static_cast<float*>(y.UseInlineData(kFar));
                                  for (int64_t i = 0; i < x.num_elements(); ++i)
                                    data[i] = 2 * static_cast<const float*>(x.data())[i];
                                  return y;
                                }))
                    .ok());
    EXPECT_TRUE(near_->AddKernel("t.Double", {DType::kI32}, MakeKernel<&test_ops::Refuse>()).ok());
    // Only on the far device, with an input that is read on the host.
    rt_.Define(
        OpDefBuilder("t.Resize").Input("x: float").HostInput("size: int32").Output("y: float").Metadata<&Resized>());
    EXPECT_TRUE(far_->AddKernel("t.Resize", MakeKernel([](const Tensor& x, const Tensor& size,
                                                          KernelFrame& frame) -> StatusOr<Tensor> {
                                  EXPECT_TRUE(x.IsA(kFar));
                                  EXPECT_TRUE(size.IsA(kDenseHost));
                                  Tensor y(frame.result_metadata(0), frame.handler().device());
                                  std::memset(y.UseInlineData(kFar), 0, Tensor::kInlineBytes);
                                  return y;
                                }))
                    .ok());
  }
  bool transfers() const { return GetParam(); }

  // Destroyed last: tensors on it may be alive as long as the runtime.
  Device far_device_;
  TestRuntime rt_;
  KernelOpHandler* far_;
  KernelOpHandler* near_;
};
INSTANTIATE_TEST_SUITE_P(Transfers, AcrossDevicesTest, testing::Bool());

TEST_P(AcrossDevicesTest, EX13_FallbackTransfersOnlyIfTold) {
  rt_.host().StartTracing();
  // By a missing dtype, and now and later.
  const TensorHandle now = CallOn(rt_, near_, "t.Double", {rt_.F32({3, 4})});
  Promise promise = rt_.MakePromise();
  const TensorHandle late = CallOn(rt_, near_, "t.Double", {promise.Handle()});
  promise.Resolve(rt_.Filled(1, 5));
  rt_.host().StopTracing();
  const std::string trace = rt_.host().tracer().ToJson();
  if (transfers()) {
    EXPECT_EQ(rt_.Values(now), (std::vector<float>{6, 8}));
    EXPECT_EQ(TextOf(now), "f32[2] on cpu");
    EXPECT_EQ(rt_.Values(late), std::vector<float>{10});
    EXPECT_EQ(late.device(), &rt_.host().device());
    // There and back, twice.
    size_t num_transfers = 0;
    for (size_t at = trace.find("tandem.Transfer"); at != trace.npos; at = trace.find("tandem.Transfer", at + 1)) {
      ++num_transfers;
    }
    EXPECT_EQ(num_transfers, 4u);
  } else {
    constexpr std::string_view kError =
        "[t.Double] argument 0 (x) must be on device far:0, got a tensor on cpu; transfer it first";
    EXPECT_EQ(rt_.ErrorOf(now), kError);
    EXPECT_EQ(rt_.ErrorOf(late), kError);
    EXPECT_EQ(trace.find("tandem.Transfer"), trace.npos);
  }
}

TEST_P(AcrossDevicesTest, EX13_ExplicitTransfersWorkEitherWay) {
  const ExecutionContext exec(rt_.host(), Location::Current());
  const TensorHandle there = rt_.F32({3}).TransferTo(exec, far_device_);
  const TensorHandle doubled = CallOn(rt_, far_, "t.Double", {there});
  EXPECT_EQ(TextOf(doubled), "f32[1] on far:0");
  EXPECT_EQ(rt_.Values(doubled.TransferTo(exec, rt_.host().device())), std::vector<float>{6});
  EXPECT_EQ(rt_.ErrorOf(CallOn(rt_, &rt_.cpu(), "t.Add", {doubled, rt_.F32({1})})),
            "[t.Add] argument 0 (x) must be on device cpu, got a tensor on far:0; transfer it first");
}

TEST_P(AcrossDevicesTest, EX13_HostInputsStayOnTheHost) {
  const TensorHandle result = CallOn(rt_, near_, "t.Resize", {rt_.F32({3}), rt_.I32({4})});
  if (transfers()) {
    EXPECT_EQ(rt_.Values(result), std::vector<float>(4, 0));
  } else {
    EXPECT_TRUE(result.IsError());
  }
  const ExecutionContext exec(rt_.host(), Location::Current());
  const TensorHandle there = rt_.F32({3}).TransferTo(exec, far_device_);
  EXPECT_EQ(TextOf(CallOn(rt_, far_, "t.Resize", {there, rt_.I32({4})})), "f32[4] on far:0");
  // Its content cannot be read there.
  EXPECT_EQ(rt_.ErrorOf(CallOn(rt_, far_, "t.Resize", {there, rt_.I32({4}).TransferTo(exec, far_device_)})),
            "[t.Resize] argument 1 (size) must be a dense tensor on the host, got i32[1] as dense_far");
}

TEST_P(AcrossDevicesTest, EX13_ArgumentsAreBroughtWhereTheyAreWantedIfTold) {
  const Device& host = rt_.host().device();
  KernelOpHandler::Policy policy;
  policy.take_host_tensors = transfers();
  auto added = std::make_unique<KernelOpHandler>("taking", rt_.runtime(), nullptr, far_device_, policy);
  KernelOpHandler& taking = *added;
  rt_.runtime().AddHandler(std::move(added));
  ASSERT_TRUE(taking
                  .AddKernel("t.Resize", MakeKernel([](const Tensor& x, const Tensor& size,
                                                       KernelFrame& frame) -> StatusOr<Tensor> {
                               EXPECT_TRUE(x.IsA(kFar));
                               EXPECT_TRUE(size.IsA(kDenseHost));
                               Tensor y(frame.result_metadata(0), frame.handler().device());
                               std::memset(y.UseInlineData(kFar), 0, Tensor::kInlineBytes);
                               return y;
                             }))
                  .ok());
  const ExecutionContext exec(rt_.host(), Location::Current());
  // Both in the wrong place; then what is to come.
  const TensorHandle now = CallOn(rt_, &taking, "t.Resize", {rt_.F32({3}), rt_.I32({4}).TransferTo(exec, far_device_)});
  Promise promise = rt_.MakePromise();
  const TensorHandle late = CallOn(rt_, &taking, "t.Resize", {promise.Handle(), rt_.I32({2})});
  promise.Resolve(rt_.Filled(1, 5));
  if (transfers()) {
    EXPECT_EQ(TextOf(now), "f32[4] on far:0");
    EXPECT_EQ(rt_.Values(late.TransferTo(exec, host)), std::vector<float>(2, 0));
  } else {
    constexpr std::string_view kError =
        "[t.Resize] argument 0 (x) must be on device far:0, got a tensor on cpu; transfer it first";
    EXPECT_EQ(rt_.ErrorOf(now), kError);
    EXPECT_EQ(rt_.ErrorOf(late), kError);
  }
}

// No device but the host has them, so a fallback's strings are not moved, be the metadata known or still to come.
TEST_P(AcrossDevicesTest, OH2_StringsStayOnTheHost) {
  if (!transfers()) return;
  KernelOpHandler::Policy policy;
  policy.transfer_for_fallback = true;
  policy.take_host_tensors = true;
  auto added = std::make_unique<KernelOpHandler>("beside", rt_.runtime(), &rt_.cpu(), far_device_, policy);
  KernelOpHandler& beside = *added;
  rt_.runtime().AddHandler(std::move(added));
  const auto same = [](const Tensor& x) -> StatusOr<Tensor> { return x; };
  const auto op = [](std::string_view name) {
    return OpDefBuilder(name).Input("x: T").Output("y: T").Attr("T: {string, float}");
  };
  rt_.Define(op("t.Known").Metadata<&test_ops::Same>());
  rt_.Define(op("t.Unknown"));
  for (const std::string_view name : {"t.Known", "t.Unknown"}) {
    rt_.AddKernel(name, {DType::kString, DType::kF32}, MakeKernel(same).WithCost(1e9f));
  }
  ASSERT_TRUE(beside.AddKernel("t.Known", {DType::kF32}, MakeKernel<&test_ops::Refuse>()).ok());
  const std::string_view texts[] = {"a", "b"};
  for (const std::string_view name : {"t.Known", "t.Unknown"}) {
    const TensorHandle result =
        CallOn(rt_, &beside, name,
               {TensorHandle::MakeAvailable(*MakeString({2}, texts, rt_.host().device(), rt_.host().allocator()))});
    ASSERT_TRUE(rt_.host().Await(result).ok()) << name;
    EXPECT_EQ(TextOf(result), "string[2] on cpu") << name;
    // Nor those that are still to come, as long as it is known that they are strings.
    Promise promise = rt_.MakePromise({DType::kString, {2}});
    const TensorHandle late = CallOn(rt_, &beside, name, {promise.Handle()});
    promise.Resolve(*MakeString({2}, texts, rt_.host().device(), rt_.host().allocator()));
    const TensorHandle there = late.TransferTo(ExecutionContext(rt_.host(), Location::Current()), rt_.host().device());
    ASSERT_TRUE(rt_.host().Await(there).ok()) << name << ": " << rt_.ErrorOf(there);
    EXPECT_EQ(TextOf(there), "string[2] on cpu") << name;
  }
  // Numbers are moved.
  const TensorHandle number = CallOn(rt_, &beside, "t.Unknown", {rt_.F32({1})});
  ASSERT_TRUE(rt_.host().Await(number).ok());
  EXPECT_EQ(TextOf(number), "f32[1] on far:0");
  // A wrong dtype is told as on the host.
  EXPECT_EQ(rt_.ErrorOf(CallOn(rt_, &beside, "t.Add", {rt_.I32({1}), rt_.F32({1})})),
            rt_.ErrorOf(CallOn(rt_, &rt_.cpu(), "t.Add", {rt_.I32({1}), rt_.F32({1})})));
}

TEST_P(AcrossDevicesTest, EX2_EX3_FailuresInTheFallbackGiveOneErrorAndConsume) {
  TensorHandle args[2] = {rt_.F32({1}), TensorHandle()};
  TensorHandle results[2];
  rt_.runtime().Execute("t.Resize", near_, Location(), args, OpAttrsRef(), results);
  EXPECT_FALSE(args[0].IsValid());
  for (const TensorHandle& result : results) {
    ASSERT_TRUE(result.IsError());
    EXPECT_TRUE(result.GetError() == results[0].GetError());
  }
  EXPECT_EQ(rt_.told().size(), 1u);
}

TEST_P(AcrossDevicesTest, EX3_ACancelledCallIsToldOnce) {
  rt_.host().CancelExecution("stop");
  EXPECT_EQ(rt_.ErrorOf(CallOn(rt_, near_, "t.Resize", {rt_.F32({3}), rt_.I32({4})})), "[t.Resize] stop");
  EXPECT_EQ(rt_.told(), (std::vector<std::string>{"stop", "[t.Resize] stop"}));
}

}  // namespace
}  // namespace tandem
