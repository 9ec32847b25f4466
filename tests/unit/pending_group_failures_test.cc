// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Errors, cancellation and threads where waiting calls are computed as one: what each call would have given alone
// (PR-6, ER, CA).

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "pending_group_test_fixture.h"
#include "tandem/nan_guard_op_handler.h"
#include "tandem/profile_op_handler.h"
#include "tandem/request_context.h"

namespace tandem {
namespace {

class PendingGroupFailuresTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!GroupWorld().has_fuser()) GTEST_SKIP() << "this build has no fuser";
  }
};

TEST_F(PendingGroupFailuresTest, ER3a_AnErrorGoesItsWayThroughTheOps) {
  std::vector<std::string> texts[2];
  for (const bool fuse : {true, false}) {
    GroupWorld world({.fuse = fuse});
    auto x = world.MakePending();
    auto z = world.MakePending();
    const TensorHandle a = world.Call("tf.Square", x.handle.CopyRef());
    const TensorHandle b = world.Call("tf.Mul", a.CopyRef(), z.handle.CopyRef());
    const TensorHandle c = world.Call("tf.Neg", b.CopyRef());
    const TensorHandle d = world.Call("tf.Exp", a.CopyRef());
    z.Fail(MakeError(StatusCode::kInternal, "broken"));
    EXPECT_FALSE(d.IsAvailable());
    x.Resolve(world.Make({kGroupSize}, world.Ramp(kGroupSize)));
    EXPECT_TRUE(a.IsConcrete());
    EXPECT_TRUE(d.IsConcrete()) << "ER-1: it does not depend on what failed";
    for (const TensorHandle* handle : {&b, &c}) texts[fuse].push_back(world.TextOfError(*handle));
    for (std::string& text : world.told()) texts[fuse].push_back(std::move(text));
  }
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_NE(texts[1][1].find("through tf.Neg"), std::string::npos) << texts[1][1];
}

TEST_F(PendingGroupFailuresTest, ER5_EachOpHasItsOwnErrorWhenMemoryRunsOut) {
  std::vector<std::string> texts[2];
  for (const bool fuse : {true, false}) {
    // Room for the argument, which is kept, and for one result.
    GroupWorld world({.fuse = fuse, .memory_limit = 11 * kGroupSize});
    auto x = world.MakePending();
    const TensorHandle kept = x.handle.CopyRef();
    const TensorHandle a = world.Call("tf.Square", x.handle.CopyRef());
    const TensorHandle b = world.Call("tf.Neg", a.CopyRef());
    const TensorHandle c = world.Call("tf.Exp", b.CopyRef());
    x.Resolve(world.Make({kGroupSize}, world.Ramp(kGroupSize)));
    EXPECT_TRUE(a.IsConcrete());
    for (const TensorHandle* handle : {&b, &c}) {
      EXPECT_EQ(world.host().Await(*handle).code(), StatusCode::kResourceExhausted);
      texts[fuse].push_back(world.TextOfError(*handle));
    }
    for (std::string& text : world.told()) texts[fuse].push_back(std::move(text));
    EXPECT_EQ(world.host().num_pending_ops(), 0);
  }
  EXPECT_EQ(texts[1], texts[0]);
}

// A failure of each allocation that may fail: values, or errors that say why.
TEST_F(PendingGroupFailuresTest, ER5_EveryAllocationMayFail) {
  GroupWorld world({.num_workers = 0});
  const std::vector<float> ramp = world.Ramp(kGroupSize);
  FailEachAllocation([&] {
    const int64_t allowed = std::exchange(thread_heap.allowed, -1);
    auto x = world.MakePending();
    TensorHandle held = world.Call("tf.Square", x.handle.CopyRef());
    TensorHandle y = world.Call("tf.Exp", world.Call("tf.Neg", held.CopyRef()));
    Tensor tensor = world.Make({kGroupSize}, ramp);
    thread_heap.allowed = allowed;
    x.Resolve(std::move(tensor));
    thread_heap.allowed = -1;
    for (const TensorHandle* handle : {&held, &y}) {
      ASSERT_TRUE(handle->IsAvailable());
      if (handle->IsError()) {
        EXPECT_EQ(handle->GetError().code(), StatusCode::kResourceExhausted);
      }
    }
    if (held.IsConcrete()) {
      EXPECT_EQ(DenseData<float>(held.tensor())[7], 1);
    }
    EXPECT_EQ(world.host().num_pending_ops(), 0);
  });
}

TEST_F(PendingGroupFailuresTest, CA1_CancelledBeforeItsValueCame) {
  GroupWorld world;
  auto x = world.MakePending();
  const TensorHandle a = world.Call("tf.Square", x.handle.CopyRef());
  const TensorHandle b = world.Call("tf.Neg", a.CopyRef());
  world.host().CancelExecution("stop");
  for (const TensorHandle* handle : {&a, &b}) {
    EXPECT_EQ(world.TextOfError(*handle).find("Cancelled: "), 0u);
    EXPECT_NE(world.TextOfError(*handle).find("stop"), std::string::npos);
  }
  x.Resolve(world.Make({kGroupSize}, world.Ramp(kGroupSize)));
  EXPECT_TRUE(b.IsError());
}

// By a continuation of the value, between calls that wait for it.
TEST_F(PendingGroupFailuresTest, CA3_CancelledAmongTheWaiters) {
  GroupWorld world;
  StatusOr<RcRef<RequestContext>> request = RequestContext::Create(world.host(), {});
  ASSERT_TRUE(request.ok());
  const ExecutionContext exec(world.host(), Location(), *request);
  auto x = world.MakePending();
  const TensorHandle first = world.CallWith(exec, "tf.Square", {}, x.handle.CopyRef());
  ASSERT_TRUE(first.value().AndThen([&] { (*request)->Cancel("enough"); }));
  const TensorHandle second = world.CallWith(exec, "tf.Neg", {}, first.CopyRef());
  ASSERT_TRUE(x.handle.value().AndThen([&] { (*request)->Cancel("enough"); }));
  const TensorHandle other = world.Call("tf.Exp", x.handle.CopyRef());
  const TensorHandle last = world.CallWith(exec, "tf.Exp", {}, x.handle.CopyRef());
  x.Resolve(world.Make({kGroupSize}, world.Ramp(kGroupSize)));
  EXPECT_TRUE(other.IsConcrete()) << "of no request";
  for (const TensorHandle* handle : {&first, &second, &last}) EXPECT_TRUE(handle->IsAvailable());
  EXPECT_EQ(world.host().num_pending_ops(), 0);
}

TEST_F(PendingGroupFailuresTest, PR6_OnlyCallsOfOneRequestJoin) {
  GroupWorld world;
  std::array<RcRef<RequestContext>, 2> requests;
  for (auto& request : requests) request = *RequestContext::Create(world.host(), {});
  auto x = world.MakePending();
  TensorHandle y = x.handle.CopyRef();
  for (int i = 0; i < 6; ++i) {
    y = world.CallWith(ExecutionContext(world.host(), Location(), requests[i / 3]), "tf.Neg", {}, std::move(y));
  }
  world.host().StartTracing();
  x.Resolve(world.Make({kGroupSize}, world.Ramp(kGroupSize)));
  ASSERT_TRUE(y.IsConcrete());
  EXPECT_EQ(world.num_kernels(), 2);
}

// Stopped in the middle of the kernel (CA-4).
TEST_F(PendingGroupFailuresTest, CA4_AStoppedKernelStopsAllItsCalls) {
  std::vector<std::string> texts[2];
  for (const bool fuse : {true, false}) {
    std::atomic<bool> may_go_on{true};
    GroupWorld world({.fuse = fuse, .num_workers = 0, .may_go_on = [&] { return may_go_on.load(); }});
    constexpr int64_t kSize = 1 << 22;
    auto x = world.MakePending(kSize);
    const TensorHandle a = world.Call("tf.Exp", x.handle.CopyRef());
    TensorHandle dropped = world.Call("tf.Neg", a.CopyRef());
    const TensorHandle c = world.Call("tf.Exp", std::move(dropped));
    Tensor tensor = world.Make({kSize}, world.Ramp(kSize));
    may_go_on = false;
    x.Resolve(std::move(tensor));
    EXPECT_EQ(world.host().Await(c).code(), StatusCode::kCancelled);
    texts[fuse].push_back(world.TextOfError(a));
    EXPECT_EQ(world.host().num_pending_ops(), 0);
  }
  EXPECT_EQ(texts[1], texts[0]);
}

TEST_F(PendingGroupFailuresTest, CA1_TheHostMayGoWhileCallsWait) {
  TensorHandle a;
  TensorHandle b;
  {
    GroupWorld world;
    auto x = world.MakePending();
    a = world.Call("tf.Square", x.handle.CopyRef());
    b = world.Call("tf.Neg", a.CopyRef());
  }
  EXPECT_TRUE(a.IsError());
  EXPECT_TRUE(b.IsError());
}

// Handlers over others see each call, and its result.
TEST_F(PendingGroupFailuresTest, OH4_LayersSeeEachCall) {
  for (const bool fuse : {true, false}) {
    GroupWorld world({.fuse = fuse});
    RcRef<Profile> profile = MakeRef<Profile>();
    OpHandler* const layer =
        world.runtime().AddHandler(CreateProfileOpHandler("profile", world.runtime(), world.cpu(), profile));
    world.UseLayer(layer);
    auto x = world.MakePending();
    TensorHandle y = x.handle.CopyRef();
    for (const char* op : {"tf.Neg", "tf.Exp", "tf.Neg"}) y = world.Call(op, std::move(y));
    x.Resolve(world.Make({kGroupSize}, world.Ramp(kGroupSize)));
    ASSERT_TRUE(y.IsConcrete());
    int64_t calls = 0;
    for (const OpProfile& entry : profile->Entries()) {
      calls += entry.calls;
      EXPECT_EQ(entry.results.count, entry.calls) << entry.op << ": all of them ended";
    }
    EXPECT_EQ(calls, 3);
  }
}

TEST_F(PendingGroupFailuresTest, OH4_TheNanGuardFindsTheFirstOp) {
  std::string texts[2];
  for (const bool fuse : {true, false}) {
    GroupWorld world({.fuse = fuse});
    world.UseLayer(
        world.runtime().AddHandler(CreateNanGuardOpHandler("guard", world.runtime(), world.cpu(), NanGuardOptions())));
    auto x = world.MakePending();
    TensorHandle y = x.handle.CopyRef();
    for (const char* op : {"tf.Neg", "tf.Log", "tf.Neg"}) y = world.Call(op, std::move(y));
    x.Resolve(world.Make({kGroupSize}, world.Ramp(kGroupSize)));
    texts[fuse] = world.TextOfError(y);
  }
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_NE(texts[1].find("tf.Log"), std::string::npos) << texts[1];
}

// Random graphs of calls, of which some results are held: the same bits as without groups.
class RandomGroups {
 public:
  RandomGroups(GroupWorld& world, uint32_t seed) : world_(world), random_(seed) {}

  // The bits of what was held.
  std::vector<std::string> Run() {
    constexpr std::array<int64_t, 4> kSizes = {3, 700, kGroupSize, 5 * kGroupSize + 1};
    const int64_t size = kSizes[random_() % kSizes.size()];
    const bool is_pending = random_() % 2 == 0;
    auto x = world_.MakePending(size);
    std::vector<TensorHandle> values;
    values.push_back(is_pending ? x.handle.CopyRef() : world_.RampHandle(size));
    values.push_back(world_.RampHandle(size));
    values.push_back(world_.Dense({1}, {3}));
    const size_t num_calls = 1 + random_() % 60;
    for (size_t i = 0; i < num_calls; ++i) {
      values.push_back(Call(values));
      // What is forgotten is an operand no more.
      if (random_() % 2 == 0 && values.size() > 6) values.erase(values.begin() + 3 + random_() % (values.size() - 4));
    }
    if (is_pending) {
      Tensor tensor = world_.Make({size}, world_.Ramp(size));
      values[0].reset();
      x.Resolve(std::move(tensor));
    }
    std::vector<std::string> bits;
    for (size_t i = 3; i < values.size(); ++i) bits.push_back(world_.BitsOf(values[i]));
    return bits;
  }

 private:
  TensorHandle Call(const std::vector<TensorHandle>& values) {
    constexpr std::array<const char*, 7> kUnary = {"tf.Neg",     "tf.Abs",  "tf.Sin",  "tf.Tanh",
                                                   "tf.Sigmoid", "tf.Relu", "tf.Floor"};
    constexpr std::array<const char*, 6> kBinary = {"tf.AddV2",   "tf.Sub",     "tf.Mul",
                                                    "tf.Maximum", "tf.Minimum", "tf.RealDiv"};
    // The latest ones most of all.
    const size_t whole = random_() % 3 == 0 ? random_() % 2 : values.size() - 1;
    const TensorHandle& x = values[whole == 2 ? 0 : whole];
    const TensorHandle& y = values[random_() % values.size()];
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        return world_.Call(kUnary[random_() % kUnary.size()], x.CopyRef());
      case 3: {
        TensorHandle is_less = world_.Call("tf.Less", x.CopyRef(), y.CopyRef());
        return world_.Call("tf.SelectV2", std::move(is_less), y.CopyRef(), x.CopyRef());
      }
      case 4: {
        OpAttrs to_half;
        to_half.Set("DstT", DType::kF16);
        OpAttrs to_float;
        to_float.Set("DstT", DType::kF32);
        const ExecutionContext exec(world_.host(), Location());
        return world_.CallWith(exec, "tf.Cast", to_float, world_.CallWith(exec, "tf.Cast", to_half, x.CopyRef()));
      }
      default:
        return world_.Call(kBinary[random_() % kBinary.size()], y.CopyRef(), x.CopyRef());
    }
  }

  GroupWorld& world_;
  std::mt19937 random_;
};

TEST_F(PendingGroupFailuresTest, PR6_RandomGraphsGiveTheSameBits) {
  for (const int64_t inline_cost_limit : {int64_t{-1}, int64_t{20'000}, int64_t{1} << 40}) {
    for (const int num_workers : {0, 2}) {
      GroupWorld fused({.num_workers = num_workers, .inline_cost_limit = inline_cost_limit});
      GroupWorld alone({.fuse = false, .num_workers = num_workers, .inline_cost_limit = inline_cost_limit});
      fused.host().StartTracing();
      for (uint32_t seed = 0; seed < 25; ++seed) {
        // Twice, since the kernels of the first time are used again.
        const auto first = RandomGroups(fused, seed).Run();
        const auto second = RandomGroups(fused, seed).Run();
        const auto expected = RandomGroups(alone, seed).Run();
        ASSERT_EQ(first.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_TRUE(first[i] == expected[i]) << "seed " << seed << ", value " << i;
          EXPECT_TRUE(second[i] == expected[i]) << "seed " << seed << ", value " << i << " the second time";
        }
      }
      EXPECT_TRUE(fused.Traced("tandem.Fused("));
      EXPECT_EQ(fused.host().num_pending_ops(), 0);
    }
  }
}

// Threads that make chains of what others make, copy and drop handles while groups are collected, and cancel requests.
TEST_F(PendingGroupFailuresTest, PR6_AnyThreadMayHoldDropAndCancelAtAnyTime) {
  constexpr int64_t kSize = 8192;
  constexpr int kRounds = 150;
  constexpr int kThreads = 4;
  GroupWorld world({.num_workers = 2, .inline_cost_limit = 20'000});
  const std::vector<float> ramp = world.Ramp(kSize);
  for (int round = 0; round < kRounds; ++round) {
    auto x = world.MakePending(kSize);
    std::array<TensorHandle, kThreads> inputs;
    for (TensorHandle& input : inputs) input = x.handle.CopyRef();
    std::array<TensorHandle, kThreads> held;
    std::array<TensorHandle, kThreads> last;
    const RcRef<RequestContext> request = *RequestContext::Create(world.host(), {});
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const bool is_cancelled = t == 3;
        const ExecutionContext exec(world.host(), Location(), is_cancelled ? request : RcRef<RequestContext>());
        TensorHandle y = std::move(inputs[t]);
        for (int i = 0; i < 12; ++i) {
          TensorHandle copy = y.CopyRef();
          y = world.CallWith(exec, "tf.AddV2", {}, std::move(y), world.Dense({}, {1}));
          if (i == 5) held[t] = y.CopyRef();
          if (i % 3 == t % 3) {
            TensorHandle again = world.CallWith(exec, "tf.Sub", {}, y.CopyRef(), std::move(copy));
            y = world.CallWith(exec, "tf.Mul", {}, std::move(y), std::move(again));
          }
          if (is_cancelled && i == 7 && round % 2 == 0) request->Cancel("enough");
        }
        last[t] = std::move(y);
      });
    }
    threads.emplace_back([&] { x.Resolve(world.Make({kSize}, ramp)); });
    for (std::thread& thread : threads) thread.join();
    for (int t = 0; t < kThreads; ++t) {
      const Status status = world.host().Await(last[t]);
      if (t == 3 && round % 2 == 0) {
        if (!status.ok()) {
          EXPECT_EQ(status.code(), StatusCode::kCancelled);
        }
        continue;
      }
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_TRUE(world.host().Await(held[t]).ok());
      EXPECT_EQ(DenseData<float>(held[t].tensor())[7], 1 + 6);
      EXPECT_EQ(DenseData<float>(last[t].tensor())[7], 1 + 12);
    }
    world.host().Quiesce();
  }
  EXPECT_EQ(world.host().num_pending_ops(), 0);
}

}  // namespace
}  // namespace tandem
