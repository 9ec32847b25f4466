// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Chains: which ops need one, when an op with one starts, and what becomes of it (CH-1 to CH-4).

#include "tandem/chain.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "test_runtime.h"

namespace tandem {
namespace {

using Chained = ConcreteAsyncValue<Chain>;

AsyncValueRef<Chain> RefTo(const RcRef<Chained>& chain) { return AsyncValueRef<Chain>(RcRef<AsyncValue>(chain)); }

class ChainTest : public testing::Test {
 protected:
  // Notes `value` after `chain`, which becomes what follows.
  void Note(float value, AsyncValueRef<Chain>& chain) { rt_.CallN("t.Note", {rt_.F32({value})}, 0, {}, &chain); }
  TestRuntime rt_;
};

TEST_F(ChainTest, CH1_SideEffectsAreAPropertyOfTheDefinition) {
  // The same kernel, on the same handler, for two definitions.
  const auto nothing = [](KernelFrame&) { return Status(); };
  rt_.Define(OpDefBuilder("t.Effect").Input("x: float").SideEffects(), MakeKernel(nothing));
  rt_.Define(OpDefBuilder("t.Pure").Input("x: float"), MakeKernel(nothing));
  AsyncValueRef<Chain> chain;
  rt_.CallN("t.Pure", {rt_.F32({1})}, 0, {}, &chain);
  EXPECT_FALSE(chain.IsValid()) << "left alone";
  rt_.CallN("t.Effect", {rt_.F32({1})}, 0, {}, &chain);
  EXPECT_TRUE(chain.IsValid());
}

TEST_F(ChainTest, CH2_SideEffectsNeedAChain) {
  rt_.Define(OpDefBuilder("t.Both").Input("x: float").Output("y: float").SideEffects(),
             MakeKernel([](const Tensor& x) -> StatusOr<Tensor> { return x; }));
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Both", {rt_.F32({1})})),
            "[t.Both] an op with side effects must be given a chain, got none");
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Both", {rt_.MakePromise().Handle()})),
            "[t.Both] an op with side effects must be given a chain, got none");
}

TEST_F(ChainTest, CH2_PureOpsMayHaveOne) {
  AsyncValueRef<Chain> chain = MakeReadyChain();
  const TensorHandle sum = rt_.Call("t.Add", {rt_.F32({1}), rt_.F32({2})}, {}, &chain);
  EXPECT_EQ(rt_.Values(sum), std::vector<float>{3});
}

TEST_F(ChainTest, CH2_ANullChainIsReady) {
  AsyncValueRef<Chain> chain;
  Note(1, chain);
  ASSERT_TRUE(chain.IsValid());
  EXPECT_TRUE(chain.IsConcrete());
  EXPECT_EQ(rt_.notes(), std::vector<float>{1});
}

TEST_F(ChainTest, CH2_AnOpStartsOnlyWhenChainAndArgumentsAreReady) {
  for (const bool chain_first : {false, true}) {
    TestRuntime rt;
    RcRef<Chained> before = MakeUnconstructed<Chain>();
    Promise promise = rt.MakePromise({DType::kF32, {1}});
    AsyncValueRef<Chain> effect = RefTo(before);
    AsyncValueRef<Chain> pure = RefTo(before);
    rt.CallN("t.Note", {promise.Handle()}, 0, {}, &effect);
    const TensorHandle sum = rt.Call("t.Add", {promise.Handle(), rt.F32({1})}, {}, &pure);
    chain_first ? before->Emplace() : promise.Resolve(rt.Filled(1, 5));
    EXPECT_FALSE(effect.IsAvailable());
    EXPECT_FALSE(sum.IsAvailable());
    EXPECT_TRUE(rt.notes().empty());
    chain_first ? promise.Resolve(rt.Filled(1, 5)) : before->Emplace();
    EXPECT_TRUE(effect.IsConcrete());
    EXPECT_EQ(rt.notes(), std::vector<float>{5});
    EXPECT_EQ(rt.Values(sum), std::vector<float>{6});
  }
}

TEST_F(ChainTest, CH2_AnAvailableCallWaitsForAPendingChain) {
  RcRef<Chained> before = MakeUnconstructed<Chain>();
  AsyncValueRef<Chain> chain = RefTo(before);
  const TensorHandle sum = rt_.Call("t.Add", {rt_.F32({1}), rt_.F32({2})}, {}, &chain);
  const TensorHandle some = rt_.Call("t.NonZero", {rt_.F32({1, 0})}, {}, &chain);
  EXPECT_EQ(TextOf(sum), "pending f32[1] on cpu");
  EXPECT_EQ(TextOf(some), "pending, metadata pending on cpu");
  before->Emplace();
  EXPECT_EQ(rt_.Values(sum), std::vector<float>{3});
  EXPECT_EQ(rt_.Values(some), std::vector<float>{1});
}

TEST_F(ChainTest, CH3_PureOpsLeaveTheChainAlone) {
  RcRef<Chained> before = MakeUnconstructed<Chain>();
  AsyncValueRef<Chain> chain = RefTo(before);
  const TensorHandle pending = rt_.Call("t.Add", {rt_.F32({1}), rt_.F32({2})}, {}, &chain);
  EXPECT_EQ(chain.value(), before.get());
  before->Emplace();
  EXPECT_TRUE(pending.IsConcrete());
  const TensorHandle now = rt_.Call("t.Add", {rt_.F32({1}), rt_.F32({2})}, {}, &chain);
  EXPECT_EQ(chain.value(), before.get());
  // A kernel that fails later is not a failed call.
  const TensorHandle failed = rt_.Call("t.Fail", {rt_.F32({1})}, {}, &chain);
  EXPECT_TRUE(failed.IsError());
  EXPECT_EQ(chain.value(), before.get());
  EXPECT_TRUE(now.IsConcrete());
}

TEST_F(ChainTest, CH3_TheChainResolvesWhenTheEffectIsDone) {
  Promise promise = rt_.MakePromise({DType::kF32, {1}});
  AsyncValueRef<Chain> chain = MakeReadyChain();
  rt_.CallN("t.Note", {promise.Handle()}, 0, {}, &chain);
  ASSERT_TRUE(chain.IsValid());
  EXPECT_FALSE(chain.IsAvailable()) << "replaced before Execute returns";
  promise.Resolve(rt_.Filled(1, 3));
  EXPECT_TRUE(chain.IsConcrete());
  EXPECT_EQ(rt_.notes(), std::vector<float>{3});
}

TEST_F(ChainTest, CH3_EffectsHappenInOrder) {
  // The first ones are held up in all sorts of ways.
  Promise unknown = rt_.MakePromise();
  Promise known = rt_.MakePromise({DType::kF32, {1}});
  AsyncValueRef<Chain> chain = MakeReadyChain();
  rt_.CallN("t.Note", {unknown.Handle()}, 0, {}, &chain);
  Note(1, chain);
  rt_.CallN("t.Note", {known.Handle()}, 0, {}, &chain);
  rt_.CallN("t.Note", {rt_.Call("t.LongAdd", {rt_.F32({1}), rt_.F32({2})})}, 0, {}, &chain);
  Note(4, chain);
  known.Resolve(rt_.Filled(1, 2));
  EXPECT_TRUE(rt_.notes().empty());
  unknown.Resolve(rt_.Filled(1, 0));
  EXPECT_TRUE(rt_.AwaitChain(chain).ok());
  EXPECT_EQ(rt_.notes(), (std::vector<float>{0, 1, 2, 3, 4}));
}

TEST_F(ChainTest, CH3_LongEffectsHappenInOrder) {
  std::vector<float> order;  // written by one kernel at a time, as this test is to show
  rt_.Define(OpDefBuilder("t.LongNote").Input("x: float").SideEffects(), MakeKernel([&order](DenseArg x) {
                                                                           order.push_back(*x.data<float>());
                                                                           return Status();
                                                                         }).WithCost(1e9f));
  AsyncValueRef<Chain> chain;
  std::vector<float> expected;
  for (int i = 0; i < 200; ++i) {
    rt_.CallN("t.LongNote", {rt_.F32({float(i)})}, 0, {}, &chain);
    expected.push_back(float(i));
  }
  EXPECT_TRUE(rt_.AwaitChain(chain).ok());
  EXPECT_EQ(order, expected);
}

TEST_F(ChainTest, CH3_AKernelMayEndItsEffectLater) {
  RcRef<Chained> done = MakeUnconstructed<Chain>();
  rt_.Define(OpDefBuilder("t.Later").Input("x: float").SideEffects(), MakeKernel([&done](KernelFrame& frame) {
               frame.SetChain(RefTo(done));
               return Status();
             }));
  Promise promise = rt_.MakePromise({DType::kF32, {1}});
  AsyncValueRef<Chain> now;
  AsyncValueRef<Chain> late;
  rt_.CallN("t.Later", {rt_.F32({1})}, 0, {}, &now);
  rt_.CallN("t.Later", {promise.Handle()}, 0, {}, &late);
  promise.Resolve(rt_.Filled(1, 1));
  Note(1, now);
  EXPECT_FALSE(now.IsAvailable());
  EXPECT_FALSE(late.IsAvailable());
  EXPECT_TRUE(rt_.notes().empty());
  done->Emplace();
  EXPECT_TRUE(now.IsConcrete());
  EXPECT_TRUE(late.IsConcrete());
  EXPECT_EQ(rt_.notes(), std::vector<float>{1});
}

TEST_F(ChainTest, CH3_AnEffectThatFailsLaterIsLocatedAndTold) {
  RcRef<Chained> done = MakeUnconstructed<Chain>();
  rt_.Define(OpDefBuilder("t.Later").Input("x: float").SideEffects(), MakeKernel([&done](KernelFrame& frame) {
               frame.SetChain(RefTo(done));
               return Status();
             }));
  const std::source_location site = std::source_location::current();
  AsyncValueRef<Chain> chain;
  rt_.CallN("t.Later", {rt_.F32({1})}, 0, {}, &chain, site);
  done->SetError(Internal("disk full"));
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().message(), "[t.Later] disk full");
  EXPECT_EQ(chain.GetError().location().line, site.line());
  EXPECT_EQ(rt_.told(), std::vector<std::string>{"[t.Later] disk full"});
}

TEST_F(ChainTest, CH4_AnErrorInTheChainSkipsTheOp) {
  AsyncValueRef<Chain> chain = AsyncValueRef<Chain>::MakeError(Internal("before"));
  Note(1, chain);
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().message(), "before");
  const TensorHandle sum = rt_.Call("t.Add", {rt_.F32({1}), rt_.F32({2})}, {}, &chain);
  EXPECT_EQ(rt_.ErrorOf(sum), "before");
  EXPECT_TRUE(rt_.notes().empty());
  EXPECT_TRUE(rt_.told().empty()) << "it did not arise here";
}

TEST_F(ChainTest, CH4_ALateErrorInTheChainSkipsTheOp) {
  RcRef<Chained> before = MakeUnconstructed<Chain>();
  AsyncValueRef<Chain> chain = RefTo(before);
  const TensorHandle sum = rt_.Call("t.Add", {rt_.F32({1}), rt_.F32({2})}, {}, &chain);
  Note(1, chain);
  before->SetError(Internal("before"));
  EXPECT_EQ(rt_.ErrorOf(sum), "before");
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().message(), "before");
  EXPECT_TRUE(rt_.notes().empty());
}

TEST_F(ChainTest, CH4_AFailedEffectStopsThoseBehindIt) {
  rt_.Define(OpDefBuilder("t.Refuse").Input("x: float").SideEffects(), MakeKernel<&test_ops::Refuse>());
  AsyncValueRef<Chain> chain;
  Note(1, chain);
  rt_.CallN("t.Refuse", {rt_.F32({1})}, 0, {}, &chain);
  Note(2, chain);
  EXPECT_EQ(rt_.AwaitChain(chain).message(), "[t.Refuse] refused");
  EXPECT_EQ(rt_.notes(), std::vector<float>{1});
  EXPECT_EQ(rt_.told().size(), 1u);
}

}  // namespace
}  // namespace tandem
