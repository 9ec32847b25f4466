// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes: where they are stored, and what happens without memory (AT-1, EX-10, ER-5).

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "failing_heap.h"
#include "op_attrs_values.h"
#include "tandem/op_attrs.h"

namespace tandem {
namespace {

// Counts how often `fn` allocates, then runs it once for each allocation with that one failing.
template <typename F>
void ForEachFailingAllocation(F&& fn) {
  const int64_t allocations = CountAllocations(fn);
  ASSERT_GT(allocations, 0);
  thread_heap.fails_once = true;
  for (int64_t i = 0; i < allocations; ++i) {
    const int64_t live = num_live_blocks;
    const int64_t failures = thread_heap.num_failures;
    const bool out_of_memory = WithMemoryFor(i, fn);
    EXPECT_EQ(thread_heap.num_failures, failures + 1) << "allocation " << i;
    EXPECT_TRUE(out_of_memory) << "allocation " << i;
    EXPECT_EQ(num_live_blocks, live) << "allocation " << i;
  }
  thread_heap.fails_once = false;
}

// AT-1
TEST(OpAttrsTest, AT1_SixEntriesAreInlineAndTheSeventhMovesToTheHeap) {
  OpAttrs attrs;
  EXPECT_EQ(CountAllocations([&] {
              for (const char* name : {"a", "b", "c", "d", "e", "f"}) attrs.Set(name, int64_t{name[0]});
            }),
            0);
  EXPECT_EQ(attrs.size(), 6u);
  EXPECT_TRUE(attrs.is_inline());
  EXPECT_EQ(CountAllocations([&] { attrs.Set("g", int64_t{'g'}); }), 1);
  EXPECT_EQ(attrs.size(), 7u);
  EXPECT_FALSE(attrs.is_inline());
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) EXPECT_EQ(Got<int64_t>(attrs, name), name[0]);
}

// AT-1: as above, for an entry that is not a plain number.
TEST(OpAttrsTest, AT1_SeventhEntryMovesToTheHeapWhateverItsType) {
  OpAttrs attrs;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) ASSERT_TRUE(attrs.Set(name, name));
  EXPECT_TRUE(attrs.is_inline());
  ASSERT_TRUE(attrs.Set("g", "g"));
  EXPECT_FALSE(attrs.is_inline());
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) EXPECT_EQ(Got<std::string_view>(attrs, name), name);
}

// AT-1: a scalar string counts its characters, a name as well.
TEST(OpAttrsTest, AT1_Byte128IsInlineAndByte129MovesToTheHeap) {
  const std::string text(127, 'x');
  OpAttrs fits;
  EXPECT_EQ(CountAllocations([&] { fits.Set("n", text.c_str()); }), 0);
  EXPECT_TRUE(fits.is_inline());
  EXPECT_EQ(Got<std::string_view>(fits, "n"), text);

  OpAttrs too_long;
  EXPECT_EQ(CountAllocations([&] { too_long.Set("nn", text.c_str()); }), 1);
  EXPECT_FALSE(too_long.is_inline());
  EXPECT_EQ(Got<std::string_view>(too_long, "nn"), text);
}

// AT-1
TEST(OpAttrsTest, AT1_Byte129OfALaterEntryMovesToTheHeap) {
  for (const bool one_more : {false, true}) {
    OpAttrs attrs;
    ASSERT_TRUE(attrs.Set("first", int64_t{1}));                               // 13
    ASSERT_TRUE(attrs.Set("second", std::string_view("abcdefghi")));           // 15
    ASSERT_TRUE(attrs.Set(std::string(one_more ? 97 : 96, 'n'), int32_t{3}));  // 100 or 101
    EXPECT_EQ(attrs.is_inline(), !one_more);
    EXPECT_EQ(Got<int64_t>(attrs, "first"), 1);
    EXPECT_EQ(Got<std::string_view>(attrs, "second"), "abcdefghi");
    EXPECT_EQ(Got<int32_t>(attrs, std::string(one_more ? 97 : 96, 'n')), 3);
  }
}

// AT-1: the same limit for a scalar of fixed size alone, whose name does all of it.
TEST(OpAttrsTest, AT1_NameLengthsUpToTheLimit) {
  for (size_t length = 110; length <= 200; ++length) {
    OpAttrs attrs;
    ASSERT_TRUE(attrs.Set(std::string(length, 'n'), int64_t{9}));
    EXPECT_EQ(attrs.is_inline(), length + 8 <= 128) << length;
    EXPECT_EQ(Got<int64_t>(attrs, std::string(length, 'n')), 9);
  }
}

// AT-1: neither padding nor the views of scalar strings count.
TEST(OpAttrsTest, AT1_SixStringsOf128BytesInAllAreInline) {
  OpAttrs attrs;
  const std::array<int, 6> lengths = {21, 21, 21, 21, 21, 17};  // and six names of one byte
  EXPECT_EQ(CountAllocations([&] {
              for (int i = 0; i < 6; ++i) {
                const char name = static_cast<char>('a' + i);
                std::array<char, 21> text;
                text.fill(name);
                attrs.Set(std::string_view(&name, 1), std::string_view(text.data(), lengths[i]));
              }
            }),
            0);
  EXPECT_TRUE(attrs.is_inline());
  for (int i = 0; i < 6; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    EXPECT_EQ(Got<std::string_view>(attrs, name), std::string(lengths[i], name[0]));
  }
}

// AT-1: the views of an array of strings count.
TEST(OpAttrsTest, AT1_StringArraysCountViewsAndCharacters) {
  const size_t views = 2 * sizeof(std::string_view);
  for (const bool one_more : {false, true}) {
    const std::string text(128 - views - 1 + (one_more ? 1 : 0), 'x');
    const std::array<std::string_view, 2> strings = {text, ""};
    OpAttrs attrs;
    ASSERT_TRUE(attrs.SetArray<std::string_view>("n", strings));
    EXPECT_EQ(attrs.is_inline(), !one_more);
  }
}

// AT-1
TEST(OpAttrsTest, AT1_SmallTensorIsInline) {
  const size_t room = 128 - sizeof(TensorAttr);
  const std::vector<uint8_t> bytes(room, 7);
  for (const bool one_more : {false, true}) {
    const int64_t size = static_cast<int64_t>(room) - (one_more ? 0 : 1);
    OpAttrs attrs;
    ASSERT_TRUE(attrs.Set("n", TensorAttr{TensorMetadata(DType::kU8, {size}), bytes.data(), {}}));
    EXPECT_EQ(attrs.is_inline(), !one_more);
  }
}

// AT-1
TEST(OpAttrsTest, AT1_GrowthOnTheHeapIsAmortised) {
  OpAttrs attrs;
  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i) names.push_back("name" + std::to_string(i));
  const int64_t allocations = CountAllocations([&] {
    for (int i = 0; i < 2000; ++i) attrs.Set(names[i], int64_t{i});
  });
  EXPECT_LE(allocations, 20);
  ASSERT_EQ(attrs.size(), 2000u);
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(Got<int64_t>(attrs, names[i]), i);
  const OpAttrsRef frozen = attrs.Freeze();
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(Got<int64_t>(frozen, names[i]), i);
}

// AT-1: name and value may come from the set itself, also when setting them moves the set.
TEST(OpAttrsTest, AT1_NameAndValueMayPointIntoTheSet) {
  const std::string text = "a text that names attributes";
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("text", text.c_str()));
  for (size_t length = 5; length < text.size(); ++length) {
    std::string_view stored;
    ASSERT_TRUE(attrs.Get("text", &stored));
    ASSERT_TRUE(attrs.Set(stored.substr(0, length), stored));
  }
  EXPECT_FALSE(attrs.is_inline());
  for (size_t length = 5; length < text.size(); ++length) {
    EXPECT_EQ(Got<std::string_view>(attrs, text.substr(0, length)), text);
  }
}

// EX-10
TEST(OpAttrsTest, EX10_InlineSetsAndReferencesDoNotAllocate) {
  int64_t axis = 0;
  EXPECT_EQ(CountAllocations([&] {
              OpAttrs attrs;
              attrs.Set("axis", int64_t{1});
              attrs.Set("keep_dims", true);
              attrs.Set("T", DType::kF32);
              attrs.SetArray<int64_t>("dims", std::array<int64_t, 3>{1, 2, 3});
              attrs.Set("padding", "SAME");
              const OpAttrsRef ref(attrs);
              const OpAttrsRef copy = ref.WithDefaults(nullptr);
              axis = copy.GetOr("axis", int64_t{0});
            }),
            0);
  EXPECT_EQ(axis, 1);
}

// ER-5: every allocation of building, nesting and freezing, one after the other.
TEST(OpAttrsTest, ER5_FailedAllocationsAreReportedAndLeakNothing) {
  ForEachFailingAllocation([] {
    OpAttrs inner;
    inner.Set("x", int64_t{1});
    OpAttrs attrs;
    attrs.Set("inner", OpAttrsRef(inner));
    OpAttrs other;
    other.Set("y", "text");
    const std::array<OpAttrsRef, 2> list = {OpAttrsRef(inner), OpAttrsRef(other)};
    attrs.SetArray<OpAttrsRef>("list", list);
    char name[2] = {'n', 0};
    for (int i = 0; i < 60; ++i) {
      name[1] = static_cast<char>('0' + i);
      attrs.Set(std::string_view(name, 2), "some longer text, to fill the bytes of the block");
    }
    return attrs.Freeze().out_of_memory();
  });
}

// ER-5
TEST(OpAttrsTest, ER5_FailedSetChangesNothingButTheFlag) {
  OpAttrs attrs;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) ASSERT_TRUE(attrs.Set(name, int64_t{name[0]}));
  const std::string before = Print(attrs);
  const bool set = WithoutMemory([&] { return attrs.Set("g", int64_t{1}); });
  EXPECT_FALSE(set);
  EXPECT_TRUE(attrs.out_of_memory());
  EXPECT_TRUE(OpAttrsRef(attrs).out_of_memory());
  EXPECT_TRUE(attrs.is_inline());
  EXPECT_EQ(Print(attrs), before);
  // The flag stays, so that nobody executes with attributes missing.
  EXPECT_TRUE(attrs.Set("h", int64_t{2}));
  EXPECT_TRUE(attrs.out_of_memory());
  EXPECT_TRUE(attrs.Freeze().out_of_memory());
}

// ER-5
TEST(OpAttrsTest, ER5_FailedFreezeCanBeRepeated) {
  OpAttrs attrs;
  attrs.Set("a", int64_t{1});
  const OpAttrsRef failed = WithoutMemory([&] { return attrs.Freeze(); });
  EXPECT_TRUE(failed.out_of_memory());
  EXPECT_TRUE(failed.Freeze().out_of_memory());
  EXPECT_FALSE(attrs.out_of_memory());
  EXPECT_EQ(Got<int64_t>(attrs.Freeze(), "a"), 1);
}

// ER-5
TEST(OpAttrsTest, ER5_IncompleteNestedListIsNotStored) {
  OpAttrs inner;
  inner.Set("a", int64_t{1});
  const OpAttrsRef failed = WithoutMemory([&] { return inner.Freeze(); });
  OpAttrs outer;
  EXPECT_FALSE(outer.Set("inner", failed));
  EXPECT_TRUE(outer.out_of_memory());
  EXPECT_TRUE(outer.empty());
}

template <typename T>
void ExpectTooMany(size_t count) {
  const T value{};
  OpAttrs attrs;
  EXPECT_EQ(CountAllocations([&] { EXPECT_FALSE(attrs.SetArray<T>("a", std::span<const T>(&value, count))); }), 0);
  EXPECT_TRUE(attrs.out_of_memory());
  EXPECT_TRUE(attrs.empty());
}

// ER-5: sizes that wrap around in 32 or 64 bits. Nothing of the array is read.
TEST(OpAttrsTest, ER5_CountsThatOverflowAreRefused) {
  ExpectTooMany<int64_t>(SIZE_MAX);
  ExpectTooMany<int64_t>(SIZE_MAX / 8 + 2);
  ExpectTooMany<bool>(SIZE_MAX);
  ExpectTooMany<std::string_view>(SIZE_MAX / sizeof(std::string_view) + 2);
  ExpectTooMany<TensorAttr>(SIZE_MAX / sizeof(TensorAttr) + 2);
  ExpectTooMany<OpAttrsRef>(SIZE_MAX / sizeof(OpAttrsRef) + 2);
  if (sizeof(size_t) > 4) ExpectTooMany<bool>(static_cast<size_t>((uint64_t{1} << 32) + 1));
}

// ER-5
TEST(OpAttrsTest, ER5_StringsThatOverflowInSumAreRefused) {
  const std::string_view half("x", SIZE_MAX / 2 + 1);
  const std::array<std::string_view, 2> strings = {half, half};
  OpAttrs attrs;
  EXPECT_FALSE(attrs.SetArray<std::string_view>("a", strings));
  EXPECT_FALSE(attrs.Set("b", half));
  EXPECT_TRUE(attrs.out_of_memory());
  EXPECT_TRUE(attrs.empty());
}

}  // namespace
}  // namespace tandem
