// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes that are frozen, and the defaults of an op (AT-3, AT-4, AT-6, ER-5).

#include "tandem/frozen_op_attrs.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "op_attrs_values.h"
#include "tandem/op_attrs.h"

namespace tandem {
namespace {

// AT-3
TEST(OpAttrsTest, AT3_FreezeSortsByName) {
  OpAttrs attrs;
  for (const char* name : {"b", "ab", "", "a", "ba", "B"}) attrs.Set(name, true);
  EXPECT_EQ(Names(attrs.Freeze()), (std::vector<std::string_view>{"", "B", "a", "ab", "b", "ba"}));
}

// AT-3
TEST(OpAttrsTest, AT3_FreezeIsCachedUntilTheNextSet) {
  OpAttrs attrs;
  attrs.Set("a", int64_t{1});
  const OpAttrsRef first = attrs.Freeze();
  EXPECT_EQ(CountAllocations([&] {
              const OpAttrsRef again = attrs.Freeze();
              EXPECT_EQ(again.entries().data(), first.entries().data());
              const OpAttrsRef through_ref = OpAttrsRef(attrs).Freeze();
              EXPECT_EQ(through_ref.entries().data(), first.entries().data());
            }),
            0);
  EXPECT_FALSE(attrs.Set("a", int64_t{2}));
  EXPECT_EQ(attrs.Freeze().entries().data(), first.entries().data());
  EXPECT_TRUE(attrs.Set("b", int64_t{2}));
  const OpAttrsRef second = attrs.Freeze();
  EXPECT_NE(second.entries().data(), first.entries().data());
  EXPECT_EQ(second.entries().size(), 2u);
}

// AT-3
TEST(OpAttrsTest, AT3_EverySetEndsTheCache) {
  OpAttrs attrs;
  for (int i = 0; i < 20; ++i) {
    const std::string text = std::to_string(i);
    ASSERT_TRUE(i % 2 == 0 ? attrs.Set(text, int64_t{i}) : attrs.Set(text, text.c_str()));
    EXPECT_EQ(attrs.Freeze().entries().size(), static_cast<size_t>(i + 1));
  }
}

// AT-3
TEST(OpAttrsTest, AT3_FreezeOfAnEmptySetDoesNotAllocate) {
  OpAttrs attrs;
  EXPECT_EQ(CountAllocations([&] {
              const OpAttrsRef frozen = attrs.Freeze();
              EXPECT_TRUE(frozen.empty());
              EXPECT_TRUE(frozen.IsFrozen());
              EXPECT_FALSE(frozen.out_of_memory());
              EXPECT_TRUE(OpAttrsRef().Freeze().empty());
            }),
            0);
}

// AT-3
TEST(OpAttrsTest, AT3_FreezeOfAFrozenSetAddsAReference) {
  auto attrs = std::make_unique<OpAttrs>();
  attrs->Set("a", int64_t{1});
  std::optional<OpAttrsRef> first = attrs->Freeze();
  attrs.reset();
  OpAttrsRef second;
  EXPECT_EQ(CountAllocations([&] { second = first->Freeze(); }), 0);
  EXPECT_EQ(second.entries().data(), first->entries().data());
  first.reset();
  EXPECT_EQ(Got<int64_t>(second, "a"), 1);
}

// AT-4
TEST(OpAttrsTest, AT4_FrozenCopyIsUntouchedByLaterSets) {
  OpAttrs attrs;
  attrs.Set("a", "one");
  const OpAttrsRef frozen = attrs.Freeze();
  for (int i = 0; i < 30; ++i) attrs.Set("b" + std::to_string(i), int64_t{i});
  EXPECT_EQ(Print(frozen), "{a = \"one\"}");
  EXPECT_EQ(frozen.Find("b0"), nullptr);
}

// AT-4
TEST(OpAttrsTest, AT4_ReferenceToAMutableSetSeesLaterSets) {
  OpAttrs attrs;
  const OpAttrsRef ref(attrs);
  EXPECT_TRUE(ref.empty());
  EXPECT_FALSE(ref.IsFrozen());
  attrs.Set("a", int64_t{1});
  EXPECT_EQ(Got<int64_t>(ref, "a"), 1);
}

// AT-4
TEST(OpAttrsTest, AT4_FrozenReferencesAreUsedFromManyThreads) {
  OpAttrs attrs;
  attrs.Set("a", int64_t{1});
  const OpAttrsRef frozen = attrs.Freeze();
  std::array<std::thread, 4> threads;
  std::array<int64_t, 4> sums = {};
  for (size_t t = 0; t < threads.size(); ++t) {
    threads[t] = std::thread([&frozen, &sum = sums[t]] {
      for (int i = 0; i < 1000; ++i) {
        const OpAttrsRef copy = frozen;
        const OpAttrsRef again = copy.Freeze();
        sum += again.GetOr("a", int64_t{0});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int64_t sum : sums) EXPECT_EQ(sum, 1000);
}

class OpAttrsDefaultsTest : public testing::Test {
 protected:
  OpAttrsDefaultsTest() {
    OpAttrs attrs;
    attrs.Set("keep_dims", false);
    attrs.Set("axis", int64_t{-1});
    defaults_ = FrozenOpAttrs::Create(attrs.entries());
  }
  RcRef<const FrozenOpAttrs> defaults_;
};

// AT-6
TEST_F(OpAttrsDefaultsTest, AT6_DefaultsAreUsedForWhatIsLeftOut) {
  OpAttrs attrs;
  attrs.Set("axis", int64_t{2});
  const OpAttrsRef mutable_ref = OpAttrsRef(attrs).WithDefaults(defaults_.get());
  const OpAttrsRef frozen = mutable_ref.Freeze();
  const OpAttrsRef frozen_first = attrs.Freeze().WithDefaults(defaults_.get());
  for (const OpAttrsRef* ref : {&mutable_ref, &frozen, &frozen_first}) {
    EXPECT_EQ(Got<int64_t>(*ref, "axis"), 2);
    EXPECT_EQ(Got<bool>(*ref, "keep_dims"), false);
    EXPECT_EQ(ref->Find("other"), nullptr);
    EXPECT_EQ(Names(*ref), (std::vector<std::string_view>{"axis"}));
  }
}

// AT-6
TEST_F(OpAttrsDefaultsTest, AT6_EmptySetHasTheDefaults) {
  const OpAttrsRef ref = OpAttrsRef().WithDefaults(defaults_.get());
  EXPECT_TRUE(ref.empty());
  EXPECT_EQ(Got<int64_t>(ref, "axis"), -1);
  EXPECT_EQ(Got<int64_t>(ref.Freeze(), "axis"), -1);
  EXPECT_EQ(ref.WithDefaults(nullptr).Find("axis"), nullptr);
}

// AT-6, AT-2
TEST_F(OpAttrsDefaultsTest, AT6_EntryOfAnotherTypeHidesTheDefault) {
  OpAttrs attrs;
  attrs.Set("axis", "text");
  const OpAttrsRef ref = OpAttrsRef(attrs).WithDefaults(defaults_.get());
  EXPECT_EQ(ref.GetOr("axis", int64_t{7}), 7);
}

// AT-6
TEST_F(OpAttrsDefaultsTest, AT6_CopiesKeepTheDefaults) {
  OpAttrs attrs;
  const OpAttrsRef ref = OpAttrsRef(attrs).WithDefaults(defaults_.get());
  OpAttrsRef copy = ref;
  EXPECT_EQ(Got<int64_t>(copy, "axis"), -1);
  const OpAttrsRef moved = std::move(copy);
  EXPECT_EQ(Got<int64_t>(moved, "axis"), -1);
  OpAttrsRef assigned;
  assigned = moved;
  EXPECT_EQ(Got<int64_t>(assigned, "axis"), -1);
}

// AT-6
TEST(FrozenOpAttrsTest, CreateCopiesEntriesOfAnyOrigin) {
  std::string name = "b";
  int64_t value = 5;
  const std::string_view text = "text";
  const AttrEntry entries[] = {{name, AttrType::kI64, false, 1, &value}, {"a", AttrType::kString, false, 1, &text}};
  RcRef<const FrozenOpAttrs> set;
  EXPECT_EQ(CountAllocations([&] { set = FrozenOpAttrs::Create(entries); }), 1);
  name = "z";
  value = 0;
  ASSERT_TRUE(set);
  ASSERT_EQ(set->size(), 2u);
  EXPECT_EQ(set->entries()[0].name, "a");
  EXPECT_EQ(Got<int64_t>(OpAttrsRef(set), "b"), 5);
  EXPECT_EQ(Got<std::string_view>(OpAttrsRef(set), "a"), "text");
}

// AT-6
TEST(FrozenOpAttrsTest, CreateOfNothingIsAnEmptySet) {
  const RcRef<const FrozenOpAttrs> set = FrozenOpAttrs::Create({});
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->entries().empty());
  EXPECT_EQ(set->Find("a"), nullptr);
}

// ER-5
TEST(FrozenOpAttrsTest, ER5_CreateWithoutMemoryGivesNull) {
  OpAttrs attrs;
  attrs.Set("a", int64_t{1});
  const RcRef<const FrozenOpAttrs> set = WithoutMemory([&] { return FrozenOpAttrs::Create(attrs.entries()); });
  EXPECT_FALSE(set);
}

}  // namespace
}  // namespace tandem
