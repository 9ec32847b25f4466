// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that give values which become available later, or never (DI-3, DI-5, AV-8).

#include <gtest/gtest.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/kernel.h"
#include "test_runtime.h"

namespace tandem {
namespace {

// An op whose kernel gives `value`, which the test resolves.
class LateKernelTest : public testing::Test {
 protected:
  LateKernelTest() : value_(MakeUnconstructed<Tensor>()) {
    const auto kernel = [this](const Tensor&) { return AsyncValueRef<Tensor>(RcRef<AsyncValue>(value_)); };
    rt_.Define(OpDefBuilder("t.Late").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
               MakeKernel(kernel));
    rt_.Define(OpDefBuilder("t.LateUnknown").Input("x: float").Output("y: float"), MakeKernel(kernel));
  }
  TestRuntime rt_;
  RcRef<TensorValue> value_;
};

TEST_F(LateKernelTest, DI5_ConsumersSeeTheResultWhenItIsConcrete) {
  const TensorHandle result = rt_.Call("t.Late", {rt_.F32({1, 2})});
  const TensorHandle sum = rt_.Call("t.Add", {result, rt_.F32({1, 1})});
  EXPECT_EQ(TextOf(result), "pending f32[2] on cpu");
  value_->Construct(rt_.MakeTensor<float>({2}, {5, 6}));
  EXPECT_FALSE(result.IsAvailable()) << "constructed is not concrete";
  value_->SetConcrete();
  EXPECT_EQ(rt_.Values(result), (std::vector<float>{5, 6}));
  EXPECT_EQ(rt_.Values(sum), (std::vector<float>{6, 7}));
}

TEST_F(LateKernelTest, DI5_MetadataComesWithTheTensorWithoutAFunction) {
  const TensorHandle result = rt_.Call("t.LateUnknown", {rt_.F32({1, 2})});
  const TensorHandle sum = rt_.Call("t.Add", {result, rt_.F32({1, 1, 1})});
  EXPECT_EQ(TextOf(result), "pending, metadata pending on cpu");
  value_->Emplace(rt_.MakeTensor<float>({3}, {5, 6, 7}));
  EXPECT_EQ(TextOf(result), "f32[3] on cpu");
  EXPECT_EQ(rt_.Values(sum), (std::vector<float>{6, 7, 8}));
}

TEST_F(LateKernelTest, DI5_ResolvedByAThreadOfTheKernel) {
  TestRuntime rt;
  std::vector<std::thread> threads;
  rt.Define(OpDefBuilder("t.Threaded").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
            MakeKernel([&threads](const Tensor& x) {
              RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
              threads.emplace_back([value, x] { value->Emplace(x); });
              return AsyncValueRef<Tensor>(RcRef<AsyncValue>(std::move(value)));
            }));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(rt.Values(rt.Call("t.Threaded", {rt.F32({float(i)})})), std::vector<float>{float(i)});
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LateKernelTest, DI5_AvailableAtOnce) {
  value_->Emplace(rt_.MakeTensor<float>({2}, {5, 6}));
  EXPECT_EQ(rt_.Values(rt_.Call("t.Late", {rt_.F32({1, 2})})), (std::vector<float>{5, 6}));
  EXPECT_EQ(rt_.Values(rt_.Call("t.LateUnknown", {rt_.F32({1, 2})})), (std::vector<float>{5, 6}));
}

TEST_F(LateKernelTest, DI5_PendingInputsThenALateResult) {
  Promise promise = rt_.MakePromise();
  const TensorHandle known = rt_.Call("t.Late", {promise.Handle()});
  const TensorHandle unknown = rt_.Call("t.LateUnknown", {promise.Handle()});
  promise.Resolve(rt_.Filled(2, 1));
  EXPECT_EQ(TextOf(known), "pending f32[2] on cpu");
  EXPECT_EQ(TextOf(unknown), "pending, metadata pending on cpu");
  value_->Emplace(rt_.MakeTensor<float>({2}, {5, 6}));
  EXPECT_EQ(rt_.Values(known), (std::vector<float>{5, 6}));
  EXPECT_EQ(rt_.Values(unknown), (std::vector<float>{5, 6}));
}

TEST_F(LateKernelTest, DI5_ErrorsGetOpAndLocationAndAreTold) {
  const std::source_location site = std::source_location::current();
  const TensorHandle known = rt_.Call("t.Late", {rt_.F32({1, 2})}, {}, nullptr, site);
  const TensorHandle unknown = rt_.Call("t.LateUnknown", {rt_.F32({1, 2})}, {}, nullptr, site);
  value_->SetError(Internal("lost"));
  EXPECT_EQ(rt_.ErrorOf(known), "[t.Late] lost");
  EXPECT_EQ(known.GetError().location().line, site.line());
  EXPECT_EQ(rt_.ErrorOf(unknown), "[t.LateUnknown] lost");
  EXPECT_FALSE(unknown.IsMetadataAvailable());
  EXPECT_EQ(rt_.told(), (std::vector<std::string>{"[t.Late] lost", "[t.LateUnknown] lost"}));
}

TEST_F(LateKernelTest, DI5_WrongMetadataIsAnErrorThatIsTold) {
  const TensorHandle result = rt_.Call("t.Late", {rt_.F32({1, 2})});
  value_->Emplace(rt_.MakeTensor<float>({3}, {5, 6, 7}));
  EXPECT_EQ(rt_.ErrorOf(result), "[t.Late] kernel must give f32[2] on cpu, gave f32[3] on cpu");
  EXPECT_EQ(rt_.told().size(), 1u);
}

TEST_F(LateKernelTest, DI5_WrongDTypeOrDeviceIsAnError) {
  const TensorHandle result = rt_.Call("t.LateUnknown", {rt_.F32({1, 2})});
  value_->Emplace(rt_.MakeTensor<int32_t>({3}, {5, 6, 7}));
  EXPECT_EQ(rt_.ErrorOf(result), "[t.LateUnknown] kernel must give f32 on cpu, gave i32[3] on cpu");
  TestRuntime other;
  value_ = MakeUnconstructed<Tensor>();
  const TensorHandle next = rt_.Call("t.Late", {rt_.F32({1, 2})});
  value_->Emplace(other.MakeTensor<float>({2}, {5, 6}));
  EXPECT_EQ(rt_.ErrorOf(next), "[t.Late] kernel must give f32[2] on cpu, gave f32[2] on cpu");
}

TEST_F(LateKernelTest, DI5_ATensorWithoutPayloadIsAnError) {
  const TensorHandle result = rt_.Call("t.Late", {rt_.F32({1, 2})});
  value_->Emplace(TensorMetadata(DType::kF32, {2}), &rt_.host().device());
  EXPECT_EQ(rt_.ErrorOf(result), "[t.Late] kernel gave a tensor without a value");
}

TEST_F(LateKernelTest, DI5_NoValueAtAllIsAnError) {
  value_.reset();
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Late", {rt_.F32({1})})), "[t.Late] kernel gave no value for result 0");
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.LateUnknown", {rt_.F32({1})})),
            "[t.LateUnknown] kernel gave no value for result 0");
}

// AV-8: an asynchronous kernel whose producer goes away, and what depends on its result.
TEST_F(LateKernelTest, AV8_AnAbandonedResultIsAnErrorWithOpAndLocation) {
  Producer<Tensor> producer;
  const auto kernel = [&producer](const Tensor&) {
    producer = Producer<Tensor>::Make();
    return producer.ref();
  };
  rt_.Define(OpDefBuilder("t.Kept").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
             MakeKernel(kernel));
  rt_.Define(OpDefBuilder("t.KeptUnknown").Input("x: float").Output("y: float"), MakeKernel(kernel));
  for (const std::string_view op : {"t.Kept", "t.KeptUnknown"}) {
    const std::source_location site = std::source_location::current();
    const TensorHandle result = rt_.Call(op, {rt_.F32({1, 2})}, {}, nullptr, site);
    const TensorHandle sum = rt_.Call("t.Add", {result, rt_.F32({1, 1})});
    EXPECT_FALSE(sum.IsAvailable());
    std::thread([&producer] { producer = Producer<Tensor>(); }).join();
    for (const TensorHandle* handle : {&result, &sum}) {
      EXPECT_EQ(rt_.ErrorOf(*handle), "[" + std::string(op) + "] abandoned by its producer");
      EXPECT_EQ(handle->GetError().location().line, site.line());
    }
  }
  EXPECT_EQ(rt_.told().size(), 2u);
}

// AV-8: the kernel keeps no producer at all, so that the result's op has the last reference.
TEST_F(LateKernelTest, AV8_AValueThatNobodyCanEndIsAnErrorAtOnce) {
  rt_.Define(
      OpDefBuilder("t.Forgotten").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
      MakeKernel([](const Tensor&) { return AsyncValueRef<Tensor>(RcRef<AsyncValue>(MakeUnconstructed<Tensor>())); }));
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Forgotten", {rt_.F32({1})})), "[t.Forgotten] abandoned by its producer");
  Promise promise = rt_.MakePromise();
  const TensorHandle late = rt_.Call("t.Forgotten", {promise.Handle()});
  promise.Resolve(rt_.Filled(1, 1));
  EXPECT_EQ(rt_.ErrorOf(late), "[t.Forgotten] abandoned by its producer");
}

// AV-8
TEST_F(LateKernelTest, AV8_AnAbandonedEffectIsAnError) {
  Producer<Chain> producer;
  rt_.Define(OpDefBuilder("t.Effect").Input("x: float").SideEffects(), MakeKernel([&producer](KernelFrame& frame) {
               producer = Producer<Chain>::Make();
               frame.SetChain(producer.ref());
               return Status();
             }));
  AsyncValueRef<Chain> chain = MakeReadyChain();
  rt_.CallN("t.Effect", {rt_.F32({1})}, 0, {}, &chain);
  const AsyncValueRef<Chain> first = chain.CopyRef();
  rt_.CallN("t.Note", {rt_.F32({1})}, 0, {}, &chain);
  EXPECT_FALSE(chain.IsAvailable());
  producer = Producer<Chain>();
  EXPECT_EQ(rt_.AwaitChain(first).message(), "[t.Effect] abandoned by its producer");
  EXPECT_EQ(rt_.AwaitChain(chain).message(), "[t.Effect] abandoned by its producer");
  EXPECT_TRUE(rt_.notes().empty());
}

TEST_F(LateKernelTest, DI3_LateAndImmediateResultsAndErrors) {
  rt_.Define(OpDefBuilder("t.Mixed").Input("x: float").Output("a: float").Output("b: float").Output("c: float"),
             MakeKernel([this](const Tensor& x, KernelFrame& frame) {
               frame.SetResult(0, AsyncValueRef<Tensor>(RcRef<AsyncValue>(value_)));
               frame.SetResult(1, x);
               frame.SetError(2, Internal("third"));
               return Status();
             }));
  const std::vector<TensorHandle> results = rt_.CallN("t.Mixed", {rt_.F32({3})}, 3);
  EXPECT_FALSE(results[0].IsAvailable());
  EXPECT_EQ(rt_.Values(results[1]), std::vector<float>{3});
  EXPECT_EQ(rt_.ErrorOf(results[2]), "[t.Mixed] third");
  value_->Emplace(rt_.MakeTensor<float>({1}, {8}));
  EXPECT_EQ(rt_.Values(results[0]), std::vector<float>{8});
}

}  // namespace
}  // namespace tandem
