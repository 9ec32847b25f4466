// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RefCounted and RcRef: who owns what, and when it goes.

#include "tandem/ref_counted.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "failing_heap.h"

namespace tandem {
namespace {

class Base : public RefCounted<Base> {
 public:
  explicit Base(std::atomic<int>& deaths) : deaths_(deaths) {}
  virtual ~Base() { ++deaths_; }

 private:
  std::atomic<int>& deaths_;
};
class Derived final : public Base {
 public:
  using Base::Base;
};

// Not allocated by plain `new`.
class Pooled : public RefCounted<Pooled> {
 public:
  int times_given_back = 0;

 private:
  friend class RefCounted<Pooled>;
  void Destroy() { ++times_given_back; }
};

class RefCountedTest : public testing::Test {
 protected:
  std::atomic<int> deaths_{0};
};

TEST_F(RefCountedTest, LastReferenceDestroys) {
  RcRef<Base> first = MakeRef<Base>(deaths_);
  EXPECT_TRUE(first->IsUnique());
  RcRef<Base> second = first;
  EXPECT_EQ(second, first);
  EXPECT_FALSE(first->IsUnique());
  first.reset();
  EXPECT_EQ(deaths_, 0);
  EXPECT_TRUE(second->IsUnique());
  second.reset();
  EXPECT_EQ(deaths_, 1);
}

TEST_F(RefCountedTest, NullReferencesAreHarmless) {
  RcRef<Base> null;
  RcRef<Base> also_null = nullptr;
  EXPECT_FALSE(null);
  EXPECT_EQ(null.get(), nullptr);
  EXPECT_EQ(null, also_null);
  null.reset();
  null = also_null;
  null = std::move(also_null);
  EXPECT_EQ(null.release(), nullptr);
  EXPECT_FALSE(RcRef<Base>::Share(nullptr));
  EXPECT_FALSE(RcRef<Base>::Take(nullptr));
}

TEST_F(RefCountedTest, MovingTransfersTheReference) {
  RcRef<Base> first = MakeRef<Base>(deaths_);
  RcRef<Base> second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(second->IsUnique());
}

TEST_F(RefCountedTest, AssignmentDropsWhatWasThere) {
  RcRef<Base> ref = MakeRef<Base>(deaths_);
  ref = MakeRef<Base>(deaths_);
  EXPECT_EQ(deaths_, 1);
  ref = nullptr;
  EXPECT_EQ(deaths_, 2);
}

TEST_F(RefCountedTest, SurvivesAssignmentToItself) {
  RcRef<Base> ref = MakeRef<Base>(deaths_);
  RcRef<Base>& alias = ref;
  ref = alias;
  EXPECT_TRUE(ref->IsUnique());
  ref = std::move(alias);
  ASSERT_TRUE(ref);
  EXPECT_TRUE(ref->IsUnique());
  EXPECT_EQ(deaths_, 0);
}

TEST_F(RefCountedTest, ReleaseAndTakeMoveTheReferenceByHand) {
  RcRef<Base> ref = MakeRef<Base>(deaths_);
  Base* raw = ref.release();
  EXPECT_FALSE(ref);
  EXPECT_EQ(deaths_, 0);
  const RcRef<Base> again = RcRef<Base>::Take(raw);
  EXPECT_TRUE(again->IsUnique());
}

TEST_F(RefCountedTest, ShareAddsAReference) {
  const RcRef<Base> owner = MakeRef<Base>(deaths_);
  {
    const RcRef<Base> shared = RcRef<Base>::Share(owner.get());
    EXPECT_FALSE(owner->IsUnique());
  }
  EXPECT_TRUE(owner->IsUnique());
  EXPECT_EQ(deaths_, 0);
}

TEST_F(RefCountedTest, ConvertsToBaseAndConst) {
  RcRef<Derived> derived;
  static_assert(std::is_convertible_v<RcRef<Derived>, RcRef<Base>>);
  static_assert(std::is_convertible_v<RcRef<Base>, RcRef<const Base>>);
  static_assert(!std::is_convertible_v<RcRef<const Base>, RcRef<Base>>);
  static_assert(!std::is_convertible_v<RcRef<Base>, RcRef<Derived>>);
  RcRef<Base> base = RcRef<Derived>::Take(new Derived(deaths_));
  EXPECT_TRUE(base->IsUnique());
  RcRef<const Base> constant = base;
  EXPECT_FALSE(base->IsUnique());
  base.reset();
  constant.reset();
  EXPECT_EQ(deaths_, 1);
}

TEST_F(RefCountedTest, DestroyMayBeReplaced) {
  Pooled object;
  RcRef<Pooled> ref = RcRef<Pooled>::Take(&object);
  RcRef<Pooled> copy = ref;
  ref.reset();
  EXPECT_EQ(object.times_given_back, 0);
  copy.reset();
  EXPECT_EQ(object.times_given_back, 1);
}

// ER-5
TEST_F(RefCountedTest, MakeRefWithoutMemoryIsNull) {
  EXPECT_FALSE(WithoutMemory([&] { return MakeRef<Base>(deaths_); }));
  EXPECT_EQ(deaths_, 0);
}

TEST_F(RefCountedTest, ManyThreadsDestroyOnce) {
  for (int round = 0; round < 200; ++round) {
    RcRef<Base> ref = MakeRef<Base>(deaths_);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([mine = ref]() mutable {
        for (int n = 0; n < 50; ++n) RcRef<Base> copy = mine;
        mine.reset();
      });
    }
    ref.reset();
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(deaths_, round + 1);
  }
}

}  // namespace
}  // namespace tandem
