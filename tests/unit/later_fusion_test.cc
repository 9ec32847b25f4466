// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A fuser that comes when it would first be of use (PR-6): it is asked for once, nobody waits for it, and calls are
// computed as one from then on.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "pending_group_test_fixture.h"
#include "tandem/work_queue.h"

namespace tandem {
namespace {

class LaterFusionTest : public testing::Test {
 protected:
  void SetUp() override {
    for (GroupWorld* world : {&world_, &alone_}) {
      world->cpu().PostponeFuser([this] { ++num_wanted_; });
    }
  }
  // -(x * x + 1), of a value that comes when the calls are there.
  TensorHandle CallThree(GroupWorld& world, int64_t size = kGroupSize) {
    auto x = world.MakePending(size);
    TensorHandle y = world.Call("tf.Mul", x.handle.CopyRef(), x.handle.CopyRef());
    y = world.Call("tf.AddV2", std::move(y), world.Dense({}, {1}));
    y = world.Call("tf.Neg", std::move(y));
    x.Resolve(world.Make({size}, world.Ramp(size)));
    return y;
  }
  void ExpectThree(const TensorHandle& y, GroupWorld& world) {
    ASSERT_TRUE(world.host().Await(y).ok());
    const std::span<const float> values = DenseData<float>(y.tensor());
    for (size_t i = 0; i < values.size(); i += 1000) EXPECT_EQ(values[i], -(1.0f / 64 + 1)) << i;
  }

  std::atomic<int> num_wanted_{0};
  GroupWorld world_;
  GroupWorld alone_{{.fuse = false}};
};

TEST_F(LaterFusionTest, PR6_IsWantedOnceByCallsThatWouldBeOne) {
  EXPECT_FALSE(world_.has_fuser());
  for (int i = 0; i < 3; ++i) {
    world_.host().StartTracing();
    ExpectThree(CallThree(world_), world_);
    EXPECT_EQ(world_.num_kernels(), 3);
    EXPECT_FALSE(world_.Traced("Fused"));
    world_.host().StopTracing();
    world_.host().tracer().Clear();
    EXPECT_EQ(num_wanted_, 1);
  }
}

TEST_F(LaterFusionTest, PR6_IsNotWantedWhereItWouldBeOfNoUse) {
  ExpectThree(CallThree(world_, kGroupSize - 1), world_);  // too small
  ExpectThree(CallThree(alone_), alone_);                  // off
  // Nobody waits for a result, and who waits is of another kind or shape.
  auto x = world_.MakePending();
  const TensorHandle y = world_.Call("tf.Neg", x.handle.CopyRef());
  const TensorHandle z = world_.Call("tf.Abs", x.handle.CopyRef());
  const TensorHandle sum = world_.Call("tf.Sum", z.CopyRef(), world_.Dense<int32_t>({1}, {0}));
  x.Resolve(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
  ASSERT_TRUE(world_.host().Await(sum).ok());
  auto row = world_.MakePending();
  const TensorHandle negated = world_.Call("tf.Neg", row.handle.CopyRef());
  const TensorHandle wide = world_.Call("tf.AddV2", negated.CopyRef(), world_.Dense({2, 1}, {1, 2}));
  row.Resolve(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
  ASSERT_TRUE(world_.host().Await(wide).ok());
  EXPECT_EQ(num_wanted_, 0);
}

TEST_F(LaterFusionTest, PR6_CallsAreOneFromThenOn) {
  // Of calls that were issued before, and by an op that was made before, too.
  StatusOr<Op> negate = world_.cpu().MakeOp("tf.Neg");
  ASSERT_TRUE(negate.ok());
  auto x = world_.MakePending();
  TensorHandle y = world_.Call("tf.Mul", x.handle.CopyRef(), x.handle.CopyRef());
  y = world_.Call("tf.AddV2", std::move(y), world_.Dense({}, {1}));
  EnableCallFusion(world_.cpu());
  EnableCallFusion(world_.cpu());
  EXPECT_TRUE(world_.has_fuser());
  std::vector<TensorHandle> results(1);
  std::vector<TensorHandle> args;
  args.push_back(std::move(y));
  negate->impl()->Invoke({ExecutionContext(world_.host(), Location()), args, OpAttrsRef(), results, nullptr});
  world_.host().StartTracing();
  x.Resolve(world_.Make({kGroupSize}, world_.Ramp(kGroupSize)));
  ExpectThree(results[0], world_);
  EXPECT_EQ(world_.num_kernels(), 1);
  ExpectThree(CallThree(world_), world_);
  EXPECT_EQ(world_.num_kernels(), 2);
  EXPECT_TRUE(world_.Traced("tandem.Fused(tf.Mul, tf.AddV2, tf.Neg)"));
  EXPECT_EQ(num_wanted_, 0);
}

TEST_F(LaterFusionTest, PR6_OpsThatTheFuserLacksRunAlone) {
  // Remainders look at their operands before they compute, so that they are no steps.
  auto x = world_.MakePending({DType::kI32, {kGroupSize}});
  const std::vector<int32_t> values(kGroupSize, 7);
  TensorHandle y = world_.Call("tf.FloorMod", x.handle.CopyRef(), world_.Dense<int32_t>({}, {4}));
  y = world_.Call("tf.AddV2", std::move(y), world_.Dense<int32_t>({}, {1}));
  EnableCallFusion(world_.cpu());
  x.Resolve(world_.Make<int32_t>({kGroupSize}, values));
  ASSERT_TRUE(world_.host().Await(y).ok());
  EXPECT_EQ(DenseData<int32_t>(y.tensor())[5], 4);
}

TEST_F(LaterFusionTest, PR6_MayComeWhileOtherThreadsCall) {
  if (!kHasThreads) GTEST_SKIP() << "this build has no threads";
  constexpr int kThreads = 3;
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  std::vector<int> num_calls(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      do {
        ExpectThree(CallThree(world_), world_);
        ++num_calls[static_cast<size_t>(t)];
      } while (!is_over.load() || num_calls[static_cast<size_t>(t)] < 20);
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EnableCallFusion(world_.cpu());
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(num_wanted_, 1);
  world_.host().StartTracing();
  ExpectThree(CallThree(world_), world_);
  EXPECT_EQ(world_.num_kernels(), 1);
}

}  // namespace
}  // namespace tandem
