// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls of element-wise ops that wait for each other: computed as one, and nobody sees more of it than that it takes
// less time and memory (PR-6).

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "forwarding_queue.h"
#include "pending_group_test_fixture.h"

namespace tandem {
namespace {

class PendingGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!world_.has_fuser()) GTEST_SKIP() << "this build has no fuser";
  }
  // In pairs: what is computed as one, and what is not.
  template <typename F>
  void InBoth(F fn) {
    fn(world_);
    fn(alone_);
  }
  GroupWorld world_;
  GroupWorld alone_{{.fuse = false}};
};

// (x * x + 1, exp of that, its negative), the last of them.
TensorHandle CallThree(GroupWorld& world, const TensorHandle& x) {
  TensorHandle y = world.Call("tf.Mul", x.CopyRef(), x.CopyRef());
  y = world.Call("tf.AddV2", std::move(y), world.Dense({}, {1}));
  return world.Call("tf.Neg", std::move(y));
}

TEST_F(PendingGroupTest, PR6_AChainThatWaitsForOneValueIsOneKernel) {
  auto x = world_.MakePending();
  const TensorHandle y = CallThree(world_, x.handle);
  EXPECT_FALSE(y.IsAvailable());
  world_.host().StartTracing();
  x.Resolve(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
  ASSERT_TRUE(y.IsConcrete());
  world_.host().StopTracing();
  EXPECT_EQ(world_.num_kernels(), 1);
  EXPECT_TRUE(world_.Traced("tandem.Fused(tf.Mul, tf.AddV2, tf.Neg)")) << "TR-2";
  const std::span<const float> values = DenseData<float>(y.tensor());
  EXPECT_EQ(values[0], -(1.0f / 64 + 1));
  EXPECT_EQ(values[7], -2);
  EXPECT_EQ(world_.host().num_pending_ops(), 0);
}

TEST_F(PendingGroupTest, PR6_OffByAnOption) {
  auto x = alone_.MakePending();
  const TensorHandle y = CallThree(alone_, x.handle);
  alone_.host().StartTracing();
  x.Resolve(alone_.Make({kGroupSize}, alone_.Ramp(kGroupSize)));
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(alone_.num_kernels(), 3);
  EXPECT_FALSE(alone_.Traced("Fused"));
}

TEST_F(PendingGroupTest, PR6_WhatIsQueuedTakesWhatWaitsForItAlong) {
  GroupWorld world({.num_workers = 0, .inline_cost_limit = -1});
  const TensorHandle x = world.RampHandle();
  world.host().StartTracing();
  const TensorHandle y = CallThree(world, x);
  EXPECT_FALSE(y.IsAvailable());
  ASSERT_TRUE(world.host().Await(y).ok());
  EXPECT_EQ(world.num_kernels(), 1);
  EXPECT_EQ(world.BitsOf(y), alone_.BitsOf(CallThree(alone_, alone_.RampHandle())));
}

// A queue of which it is somebody else who knows whether it is being called.
class CalledQueue final : public ForwardingQueue {
 public:
  explicit CalledQueue(std::function<bool()> is_being_called) : is_being_called_(std::move(is_being_called)) {}
  bool IsBeingCalled() const override { return is_being_called_(); }

 private:
  const std::function<bool()> is_being_called_;
};

// A head that takes 50 us or more, and calls that are issued after a worker has taken it.
TEST_F(PendingGroupTest, PR6_WhatIsLargeAwaitsCallsThatAreJustBeingIssued) {
  constexpr int64_t kLarge = 1 << 18;
  std::function<void()> issue;
  const auto is_being_called = [&] {
    if (issue) std::thread(std::exchange(issue, nullptr)).join();
    return true;
  };
  GroupWorld world(
      {.num_workers = 0, .inline_cost_limit = -1, .work_queue = std::make_unique<CalledQueue>(is_being_called)});
  TensorHandle y = world.Call("tf.AddV2", world.RampHandle(kLarge), world.Dense({}, {1}));
  issue = [&] {
    y = world.Call("tf.Neg", std::move(y));
    y = world.Call("tf.Abs", std::move(y));
  };
  world.host().StartTracing();
  world.host().Quiesce();
  EXPECT_EQ(world.num_kernels(), 1);
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(DenseData<float>(y.tensor())[7], 2);
}

// Who awaits something issues no calls meanwhile, whatever he has just issued.
TEST_F(PendingGroupTest, PR6_WhatIsLargeBeginsWhenItsCallerAwaitsSomething) {
  std::function<void()> issue;
  int num_asked = 0;
  const auto is_being_called = [&] {
    if (issue) std::thread(std::exchange(issue, nullptr)).join();
    ++num_asked;
    return false;
  };
  GroupWorld world(
      {.num_workers = 0, .inline_cost_limit = -1, .work_queue = std::make_unique<CalledQueue>(is_being_called)});
  TensorHandle y = world.Call("tf.AddV2", world.RampHandle(1 << 18), world.Dense({}, {1}));
  issue = [&] { y = world.Call("tf.Neg", std::move(y)); };
  world.host().StartTracing();
  world.host().Quiesce();
  EXPECT_EQ(num_asked, 1);
  EXPECT_EQ(world.num_kernels(), 1);
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(DenseData<float>(y.tensor())[7], -2);
}

TEST_F(PendingGroupTest, PR6_WhatIsLargeAwaitsNobodyForLong) {
  // As if a caller were about to issue a call all the time.
  GroupWorld world(
      {.num_workers = 0, .inline_cost_limit = -1, .work_queue = std::make_unique<CalledQueue>([] { return true; })});
  const TensorHandle y = world.Call("tf.Neg", world.RampHandle(1 << 18));
  world.host().Quiesce();
  EXPECT_TRUE(y.IsConcrete());
  // And as if he issued them.
  std::atomic<bool> is_over = false;
  std::thread caller([&] {
    while (!is_over) world.host().Await(world.Call("tf.Neg", world.RampHandle(1))).ok();
  });
  const TensorHandle z = world.Call("tf.Neg", world.RampHandle(1 << 18));
  EXPECT_TRUE(world.host().Await(z).ok());
  is_over = true;
  caller.join();
}

TEST_F(PendingGroupTest, PR6_WhoHoldsAnIntermediateTensorGetsIt) {
  std::vector<std::string> bits[2];
  for (GroupWorld* world : {&world_, &alone_}) {
    auto x = world->MakePending();
    const TensorHandle square = world->Call("tf.Square", x.handle.CopyRef());
    TensorHandle dropped = world->Call("tf.Exp", square.CopyRef());
    const TensorHandle sum = world->Call("tf.AddV2", std::move(dropped), square.CopyRef());
    const TensorHandle last = world->Call("tf.Neg", sum.CopyRef());
    x.Resolve(world->Make({kGroupSize}, world->Ramp(kGroupSize)));
    for (const TensorHandle* handle : {&square, &sum, &last}) bits[world == &alone_].push_back(world->BitsOf(*handle));
  }
  EXPECT_EQ(bits[0], bits[1]);
}

// Who waits for a tensor without holding it, as a continuation may, is told when it is there.
TEST_F(PendingGroupTest, PR6_WhoWaitsForAnIntermediateTensorIsTold) {
  auto x = world_.MakePending();
  TensorHandle square = world_.Call("tf.Square", x.handle.CopyRef());
  bool is_told = false;
  ASSERT_TRUE(square.value().AndThen([&] { is_told = true; }));
  const TensorHandle last = world_.Call("tf.Neg", std::move(square));
  x.Resolve(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
  EXPECT_TRUE(is_told);
  EXPECT_TRUE(last.IsConcrete());
}

TEST_F(PendingGroupTest, PR6_WhatNobodyHoldsTakesNoMemory) {
  std::vector<uint64_t> allocations;
  for (GroupWorld* world : {&world_, &alone_}) {
    auto x = world->MakePending();
    const TensorHandle held = x.handle.CopyRef();
    TensorHandle negative = world->Call("tf.Neg", x.handle.CopyRef());
    TensorHandle square = world->Call("tf.Square", x.handle.CopyRef());
    const TensorHandle last = world->Call("tf.Mul", std::move(negative), std::move(square));
    Tensor tensor = world->Make({kGroupSize}, world->Ramp(kGroupSize));
    const uint64_t before = world->host().allocator().stats().num_allocations;
    x.Resolve(std::move(tensor));
    ASSERT_TRUE(last.IsConcrete());
    allocations.push_back(world->host().allocator().stats().num_allocations - before);
  }
  EXPECT_EQ(allocations, (std::vector<uint64_t>{1, 2}));
}

TEST_F(PendingGroupTest, TH5_TheResultTakesOverWhatNobodyElseHas) {
  auto x = world_.MakePending();
  TensorHandle y = world_.Call("tf.Square", x.handle.CopyRef());
  y = world_.Call("tf.Neg", std::move(y));
  Tensor tensor = world_.Make({kGroupSize}, world_.Ramp(kGroupSize));
  const void* const memory = tensor.data();
  x.Resolve(std::move(tensor));
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(y.tensor().data(), memory);
}

// What the value's other waiters do joins in, too, and so does what needs two of them.
TEST_F(PendingGroupTest, PR6_AllThatWaitsForOneValue) {
  auto x = world_.MakePending();
  TensorHandle gate = world_.Call("tf.Sigmoid", x.handle.CopyRef());
  TensorHandle value = world_.Call("tf.Tanh", x.handle.CopyRef());
  TensorHandle y = world_.Call("tf.Mul", x.handle.CopyRef(), std::move(gate));
  y = world_.Call("tf.Sub", std::move(value), std::move(y));
  world_.host().StartTracing();
  x.Resolve(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(world_.num_kernels(), 1);
  const TensorHandle same = alone_.RampHandle();
  gate = alone_.Call("tf.Mul", same.CopyRef(), alone_.Call("tf.Sigmoid", same.CopyRef()));
  EXPECT_EQ(world_.BitsOf(y),
            alone_.BitsOf(alone_.Call("tf.Sub", alone_.Call("tf.Tanh", same.CopyRef()), std::move(gate))));
}

TEST_F(PendingGroupTest, PR6_OtherShapesAndOtherOpsAreKernelsOfTheirOwn) {
  std::string bits[2];
  for (GroupWorld* world : {&world_, &alone_}) {
    auto x = world->MakePending({DType::kF32, {1, kGroupSize}});
    TensorHandle y = world->Call("tf.Square", x.handle.CopyRef());
    y = world->Call("tf.AddV2", std::move(y), world->Dense({2, 1}, {1, 2}));  // [2, n]
    y = world->Call("tf.Neg", std::move(y));
    y = world->Call("tf.MatMul", world->Dense({1, 2}, {1, 1}), std::move(y));
    y = world->Call("tf.Exp", world->Call("tf.Neg", std::move(y)));
    world->host().StartTracing();
    x.Resolve(world->Make({1, kGroupSize}, world->Ramp(kGroupSize)));
    bits[world == &alone_] = world->BitsOf(y);
  }
  EXPECT_EQ(bits[0], bits[1]);
  EXPECT_EQ(world_.num_kernels(), 4) << "square; add and negate; product; the rest";
}

TEST_F(PendingGroupTest, PR6_RepresentationsThatKernelsDoNotReadAreLeftToTheOps) {
  InBoth([](GroupWorld& world) {
    auto x = world.MakePending();
    const TensorHandle spread = TensorHandle::MakeAvailable(
        *MakeScalar({DType::kF32, {kGroupSize}}, std::vector<float>{2}.data(), world.host().device()));
    StatusOr<Tensor> sparse = MakeSparseCoo({DType::kF32, {kGroupSize}}, world.Make<int64_t>({1, 1}, {3}),
                                            world.Make<float>({1}, {5}), world.host().device());
    ASSERT_TRUE(sparse.ok()) << sparse.status().ToString();
    TensorHandle y = world.Call("tf.Mul", x.handle.CopyRef(), spread.CopyRef());
    const TensorHandle good = world.Call("tf.Neg", y.CopyRef());
    const TensorHandle bad = world.Call("tf.AddV2", std::move(y), TensorHandle::MakeAvailable(*std::move(sparse)));
    x.Resolve(world.Make({kGroupSize}, world.Ramp(kGroupSize)));
    ASSERT_TRUE(good.IsConcrete());
    EXPECT_EQ(DenseData<float>(good.tensor())[7], -2);
    EXPECT_NE(world.TextOfError(bad).find("[tf.AddV2] argument 1"), std::string::npos) << world.TextOfError(bad);
  });
}

// They take less time alone.
TEST_F(PendingGroupTest, PR6_SmallTensorsAreLeftToTheOps) {
  auto x = world_.MakePending(1000);
  const TensorHandle y = CallThree(world_, x.handle);
  world_.host().StartTracing();
  x.Resolve(world_.Make({1000}, world_.Ramp(1000)));
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(world_.num_kernels(), 3);
  EXPECT_EQ(DenseData<float>(y.tensor())[7], -2);
}

// Forms are kept and found again, or forgotten and made anew.
TEST_F(PendingGroupTest, PR6_AnyNumberOfForms) {
  for (int round = 0; round < 2; ++round) {
    for (int form = 0; form < 128; ++form) {
      auto x = world_.MakePending();
      TensorHandle y = x.handle.CopyRef();
      for (int bit = 0; bit < 7; ++bit) y = world_.Call((form >> bit & 1) != 0 ? "tf.Neg" : "tf.Abs", std::move(y));
      x.Resolve(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
      ASSERT_TRUE(y.IsConcrete());
      // The sign is decided by the Neg calls after the last Abs.
      const int num_last = std::countl_one(static_cast<uint8_t>(form << 1));
      EXPECT_EQ(DenseData<float>(y.tensor())[7], num_last % 2 == 0 ? 1 : -1) << form;
    }
  }
}

TEST_F(PendingGroupTest, PR6_OpsThatDifferInAttributesAreNotTakenForEachOther) {
  for (const float alpha : {0.5f, 0.25f, 0.5f, -0.0f, 0.0f}) {
    OpAttrs attrs;
    attrs.Set("alpha", alpha);
    auto x = world_.MakePending();
    TensorHandle y = world_.CallWith(ExecutionContext(world_.host(), Location()), "tf.LeakyRelu", attrs,
                                     world_.Call("tf.Neg", x.handle.CopyRef()));
    y = world_.Call("tf.AddV2", std::move(y), world_.Dense({}, {0}));
    std::vector<float> eights(kGroupSize, 8);
    x.Resolve(world_.Make({kGroupSize}, eights));
    ASSERT_TRUE(y.IsConcrete());
    EXPECT_EQ(DenseData<float>(y.tensor())[5], -8 * alpha);
  }
}

TEST_F(PendingGroupTest, PR6_AKernelThatReplacesOneIsTheOneThatRuns) {
  world_.cpu().RemoveKernels("tf.Neg", {DType::kF32});
  const Status added = world_.cpu().AddKernel("tf.Neg", {DType::kF32}, MakeKernel([](DenseArg x, KernelFrame& frame) {
                                                float* const out = frame.AllocateResult<float>(0);
                                                for (int64_t i = 0; i < x.size(); ++i) out[i] = 42;
                                                return Status();
                                              }));
  ASSERT_TRUE(added.ok()) << added.ToString();
  auto x = world_.MakePending();
  TensorHandle y = world_.Call("tf.Neg", world_.Call("tf.Square", x.handle.CopyRef()));
  y = world_.Call("tf.Exp", world_.Call("tf.Relu", world_.Call("tf.AddV2", std::move(y), world_.Dense({}, {-42}))));
  x.Resolve(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(DenseData<float>(y.tensor())[0], 1);
}

TEST_F(PendingGroupTest, CH2_ACallWaitsForItsChain) {
  auto x = world_.MakePending();
  auto before = Producer<Chain>::Make();
  AsyncValueRef<Chain> chain = before.ref();
  TensorHandle args[] = {world_.Call("tf.Square", x.handle.CopyRef())};
  TensorHandle chained;
  world_.runtime().Execute("tf.Neg", &world_.cpu(), Location(), args, OpAttrsRef(), {&chained, 1}, &chain);
  const TensorHandle last = world_.Call("tf.Exp", chained.CopyRef());
  x.Resolve(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
  EXPECT_FALSE(chained.IsAvailable());
  EXPECT_FALSE(last.IsAvailable());
  before.Emplace();
  EXPECT_TRUE(chained.IsConcrete());
  EXPECT_TRUE(last.IsConcrete());
}

// Metadata that comes late is published before there is data (MD-4), whoever computes that.
TEST_F(PendingGroupTest, MD4_CallsWhoseMetadataCameLateJoin) {
  auto metadata = Producer<TensorMetadata>::Make();
  auto value = Producer<Tensor>::Make();
  TensorHandle y(metadata.ref(), value.ref(), &world_.host().device());
  for (const char* op : {"tf.Square", "tf.Neg", "tf.Exp"}) y = world_.Call(op, std::move(y));
  const TensorMetadata known(DType::kF32, {kGroupSize});
  value.Construct(known, &world_.host().device());
  metadata.Emplace(known);
  EXPECT_TRUE(y.IsMetadataAvailable());
  EXPECT_FALSE(y.IsAvailable());
  world_.host().StartTracing();
  value.value().TakePayload(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
  value.SetConcrete();
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(world_.num_kernels(), 1);
}

TEST_F(PendingGroupTest, EX12_ALongChainIsManyGroups) {
  constexpr int64_t kSize = 4096;
  constexpr int kCalls = 32'000;
  auto x = world_.MakePending(kSize);
  const TensorHandle one = world_.Dense({}, {1});
  TensorHandle y = x.handle.CopyRef();
  for (int i = 0; i < kCalls; ++i) y = world_.Call("tf.AddV2", std::move(y), one.CopyRef());
  world_.host().StartTracing();
  x.Resolve(world_.Make({kSize}, world_.Ramp(kSize)));
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(world_.num_kernels(), kCalls / 32);
  EXPECT_EQ(DenseData<float>(y.tensor())[7], kCalls + 1);
  EXPECT_EQ(world_.host().num_pending_ops(), 0);
}

TEST_F(PendingGroupTest, EX11_CallsCountAsPendingOneByOne) {
  GroupWorld world({.num_workers = 0, .max_pending_ops = 4});
  auto x = world.MakePending();
  TensorHandle y = x.handle.CopyRef();
  for (int i = 0; i < 4; ++i) y = world.Call("tf.Neg", std::move(y));
  EXPECT_EQ(world.host().num_pending_ops(), 4);
  const TensorHandle fifth = world.Call("tf.Neg", y.CopyRef());
  EXPECT_NE(world.TextOfError(fifth).find("expected at most 4 pending ops"), std::string::npos);
  x.Resolve(world.Make({kGroupSize}, world.Ramp(kGroupSize)));
  EXPECT_TRUE(y.IsConcrete());
  EXPECT_EQ(world.host().num_pending_ops(), 0);
}

// A queue that asks before an op begins is asked for all that a group would take (EX-11).
TEST_F(PendingGroupTest, PR6_WithoutRoomForAllTheFirstGoesAlone) {
  std::vector<int64_t> asked;
  GroupWorld world({.num_workers = 0, .inline_cost_limit = -1, .may_begin = [&](int64_t bytes) {
                      asked.push_back(bytes);
                      return bytes <= 4 * kGroupSize;
                    }});
  const TensorHandle x = world.RampHandle();
  world.host().StartTracing();
  const TensorHandle a = world.Call("tf.Square", x.CopyRef());
  const TensorHandle b = world.Call("tf.Neg", a.CopyRef());
  ASSERT_TRUE(world.host().Await(b).ok());
  EXPECT_EQ(asked, (std::vector<int64_t>{4 * kGroupSize, 8 * kGroupSize, 4 * kGroupSize}));
  EXPECT_EQ(world.num_kernels(), 2);
}

}  // namespace
}  // namespace tandem
