// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What kernels may take is an open set (DI-4a): arguments of a device, numbers of host inputs, what a handler provides,
// and parameters that somebody else defines; and results on any device.

#include "tandem/kernel_parameter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "kernel_test_ops.h"
#include "test_runtime.h"

namespace tandem {

// A parameter of this test's own: an argument's elements, summed up.
struct Sum {
  double value;
};

template <>
struct KernelParameter<Sum> : KernelParameterBase<KernelArguments::kOne> {
  Status Take(KernelFrame& frame, size_t& next, bool&) {
    i = next++;
    return internal::CheckDense(frame, i);
  }
  Sum Get(KernelFrame& frame) {
    double sum = 0;
    for (const float x : DenseData<float>(frame.arg(i))) sum += x;
    return {sum};
  }
  size_t i = 0;
};

namespace {

struct Counter {
  static constexpr KernelContext kKernelContext = {"a counter"};
  int count = 0;
};
struct Scale {
  static constexpr KernelContext kKernelContext = {"a scale"};
  float value = 3;
};

class CountingHandler final : public KernelOpHandler {
 public:
  explicit CountingHandler(CoreRuntime& runtime)
      : KernelOpHandler("counting", runtime, nullptr, runtime.host().device(), Policy()) {
    Provide(counter);
    Provide(scale);
  }
  Counter counter;
  Scale scale;
};

TensorMetadata Thousand() { return TensorMetadata(DType::kF32, {1000}); }

StatusOr<Tensor> MakeOne(HostContext& host, float value) {
  return MakeDense({DType::kF32, {1}}, std::as_bytes(std::span(&value, 1)), host.device(), host.allocator());
}

TEST(KernelParameterTest, DI4a_WhatTheHandlerProvides) {
  TestRuntime rt;
  auto owned = std::make_unique<CountingHandler>(rt.runtime());
  CountingHandler& handler = *owned;
  rt.runtime().AddHandler(std::move(owned));
  rt.Define(OpDefBuilder("t.Op").Input("x: float").Output("y: float"));
  const Kernel kernel =
      MakeKernel([](Scale& scale, DenseArg x, const ExecutionContext& exec, Counter& counter) -> StatusOr<Tensor> {
        ++counter.count;
        return MakeOne(exec.host(), scale.value * *x.data<float>());
      });
  EXPECT_TRUE(handler.AddKernel("t.Op", kernel).ok());
  for (int i = 1; i <= 2; ++i) {
    TensorHandle args[] = {rt.F32({5})};
    TensorHandle result;
    rt.runtime().Execute("t.Op", &handler, Location::Current(), args, OpAttrsRef(), {&result, 1});
    EXPECT_EQ(rt.Values(result), std::vector<float>{15});
    EXPECT_EQ(handler.counter.count, i);
  }
  const Status refused = rt.cpu().AddKernel("t.Op", kernel);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(), "a kernel of t.Op takes a scale, which op handler cpu does not provide");
  EXPECT_FALSE(rt.cpu().HasKernel("t.Op", DType::kInvalid));
}

TEST(KernelParameterTest, DI4a_ParametersOfOthers) {
  TestRuntime rt;
  DefineOp(rt, 2, 1, MakeKernel([](Sum a, KernelFrame& frame, Sum b) {
             return MakeOne(frame.host(), static_cast<float>(a.value - b.value));
           }));
  EXPECT_EQ(rt.Values(rt.Call("t.Op", {rt.F32({1, 2, 3}), rt.F32({4})})), std::vector<float>{2});
  // They count as arguments.
  rt.Define(OpDefBuilder("t.One").Input("x: float").Output("y: float"), MakeKernel([](Sum, Sum) { return Status(); }));
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.One", {rt.F32({1})})), "[t.One] kernel takes 2 arguments, the op has 1");
}

TEST(KernelParameterTest, DI4a_DeviceArgIsDenseOnTheKernelsDevice) {
  TestRuntime rt;
  DefineOp(rt, 1, 1, MakeKernel([](DeviceArg x) -> StatusOr<Tensor> { return x.tensor(); }));
  EXPECT_EQ(rt.Values(rt.Call("t.Op", {rt.F32({1, 2})})), (std::vector<float>{1, 2}));
  EXPECT_EQ(rt.ErrorOf(rt.Call("t.Op", {rt.Spread({2}, 1)})),
            "[t.Op] argument 0 (x0) must be a dense tensor on cpu, got f32[2] as scalar_host on cpu");
}

TEST(KernelParameterTest, DI4a_HostInputIsReadAsNumbers) {
  TestRuntime rt;
  std::vector<int64_t> seen;
  rt.Define(OpDefBuilder("t.Op").Input("x: float").Input("axes: int32").Output("y: float"),
            MakeKernel([&seen](const Tensor& x, HostInput axes) -> StatusOr<Tensor> {
              for (int64_t i = 0; i < axes.size(); ++i) seen.push_back(axes.Int(i));
              return x;
            }));
  EXPECT_TRUE(rt.Call("t.Op", {rt.F32({1}), rt.I32({4, -5})}).IsConcrete());
  EXPECT_EQ(seen, (std::vector<int64_t>{4, -5}));
}

TEST(KernelParameterTest, TH5_NewResultTakesOverWhereItMay) {
  TestRuntime rt;
  rt.Define(OpDefBuilder("t.Op").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
            MakeKernel([](DeviceArg x, KernelFrame& frame) {
              StatusOr<Tensor> y = frame.NewResult(0, {0});
              if (!y.ok()) return y.status();
              auto* to = static_cast<float*>(y->mutable_data());
              for (int64_t i = 0; i < x.size(); ++i) to[i] = x.data<float>()[i] + 1;
              frame.SetResult(0, std::move(*y));
              return Status();
            }));
  const std::vector<float> zeros(100);
  TensorHandle x = rt.F32(zeros);
  const void* const memory = x.tensor().data();
  const TensorHandle kept = rt.Call("t.Op", {x});
  EXPECT_NE(kept.tensor().data(), memory);
  const TensorHandle taken = rt.Call("t.Op", {std::move(x)});
  EXPECT_EQ(taken.tensor().data(), memory);
  EXPECT_EQ(rt.Values(kept), std::vector<float>(100, 1));
  EXPECT_EQ(rt.Values(taken), std::vector<float>(100, 1));
  // Small ones are in the tensor itself.
  EXPECT_EQ(rt.Values(rt.Call("t.Op", {rt.F32({1, 2})})), (std::vector<float>{2, 3}));
}

// ER-5
TEST(KernelParameterTest, ER5_NewResultWithoutMemoryIsAnError) {
  TestRuntime rt;
  rt.host().allocator().set_memory_limit(1000);
  rt.Define(OpDefBuilder("t.Op").Output("y: float").Metadata<&Thousand>(),
            MakeKernel([](KernelFrame& frame) -> StatusOr<Tensor> { return frame.NewResult(0); }));
  EXPECT_EQ(rt.CodeOf(rt.Call("t.Op", {})), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tandem
