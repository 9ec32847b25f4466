// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes: storage limits, types, freezing, defaults, and what happens without memory (AT-1 to AT-6,
// EX-10, ER-5).

#include "tandem/op_attrs.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "failing_heap.h"

namespace tandem {
namespace {

using std::string_view_literals::operator""sv;

template <typename T>
std::optional<T> Got(const OpAttrsRef& attrs, std::string_view name) {
  T value{};
  if (!attrs.Get(name, &value)) return std::nullopt;
  return value;
}

std::string Print(const OpAttrsRef& attrs) {
  MessageBuilder text;
  text.Append(attrs);
  return std::string(text.view());
}

std::vector<std::string_view> Names(const OpAttrsRef& attrs) {
  std::vector<std::string_view> names;
  for (const AttrEntry& entry : attrs.entries()) names.push_back(entry.name);
  return names;
}

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

// One value and a three-element array of each attribute type.
constexpr float kTensorData[4] = {1.0f, 2.0f, 3.0f, 4.0f};
constexpr std::string_view kTensorStrings[2] = {"one", ""};
const TensorAttr kTensor = {TensorMetadata(DType::kF32, {2, 2}), kTensorData, {}};
const TensorAttr kStringTensor = {TensorMetadata(DType::kString, {2}), nullptr, kTensorStrings};

template <typename T>
struct Samples;
template <>
struct Samples<bool> {
  static std::array<bool, 3> Make() { return {true, false, true}; }
};
template <>
struct Samples<int32_t> {
  static std::array<int32_t, 3> Make() { return {-1, 0, INT32_MAX}; }
};
template <>
struct Samples<int64_t> {
  static std::array<int64_t, 3> Make() { return {INT64_MIN, 7, INT64_MAX}; }
};
template <>
struct Samples<float> {
  static std::array<float, 3> Make() { return {0.1f, -2.5f, 1e30f}; }
};
template <>
struct Samples<double> {
  static std::array<double, 3> Make() { return {0.1, -2.5, 1e300}; }
};
template <>
struct Samples<DType> {
  static std::array<DType, 3> Make() { return {DType::kF32, DType::kString, DType::kBool}; }
};
template <>
struct Samples<std::string_view> {
  static std::array<std::string_view, 3> Make() { return {"some text", "", "with\0nul"sv}; }
};
template <>
struct Samples<TensorShape> {
  static std::array<TensorShape, 3> Make() { return {TensorShape({2, 3}), TensorShape(), TensorShape({-1, 5})}; }
};
template <>
struct Samples<TensorAttr> {
  static std::array<TensorAttr, 3> Make() { return {kStringTensor, kTensor, TensorAttr()}; }
};
template <>
struct Samples<FunctionAttr> {
  static std::array<FunctionAttr, 3> Make() { return {FunctionAttr{"body"}, FunctionAttr{""}, FunctionAttr{"cond"}}; }
};
template <>
struct Samples<OpAttrsRef> {
  static std::array<OpAttrsRef, 3> Make() {
    OpAttrs attrs;
    attrs.Set("inner", int64_t{5});
    return {attrs.Freeze(), OpAttrsRef(), attrs.Freeze()};
  }
};

template <typename T>
bool Same(const T& a, const T& b) {
  return a == b;
}
bool Same(const FunctionAttr& a, const FunctionAttr& b) { return a.name == b.name; }
bool Same(const OpAttrsRef& a, const OpAttrsRef& b) { return Print(a) == Print(b); }
bool Same(const TensorAttr& a, const TensorAttr& b) {
  if (!(a.metadata == b.metadata) || (a.data == nullptr) != (b.data == nullptr)) return false;
  if (a.data != nullptr && std::memcmp(a.data, b.data, a.metadata.byte_size()) != 0) return false;
  if (a.strings.size() != b.strings.size()) return false;
  for (size_t i = 0; i < a.strings.size(); ++i) {
    if (a.strings[i] != b.strings[i]) return false;
  }
  return true;
}

template <typename T>
class OpAttrsTypes : public testing::Test {};
struct TypeNames {
  template <typename T>
  static std::string GetName(int) {
    return std::string(AttrTypeName(AttrTypeOf<T>::value));
  }
};
using AllAttrTypes = testing::Types<bool, int32_t, int64_t, float, double, DType, std::string_view, TensorShape,
                                    TensorAttr, FunctionAttr, OpAttrsRef>;
TYPED_TEST_SUITE(OpAttrsTypes, AllAttrTypes, TypeNames);

// Checks `attrs`, which must hold the samples as scalars "s0" to "s2" and as array "array".
template <typename T>
void ExpectSamples(const OpAttrsRef& attrs) {
  const auto samples = Samples<T>::Make();
  for (int i = 0; i < 3; ++i) {
    const std::string name = "s" + std::to_string(i);
    T value{};
    ASSERT_TRUE(attrs.Get(name, &value)) << name;
    EXPECT_TRUE(Same(value, samples[i])) << name;
  }
  std::span<const T> array;
  ASSERT_TRUE(attrs.GetArray("array", &array));
  ASSERT_EQ(array.size(), samples.size());
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_TRUE(Same(array[i], samples[i])) << i;
  ASSERT_TRUE(attrs.GetArray("empty", &array));
  EXPECT_TRUE(array.empty());
}

template <typename T>
void SetSamples(OpAttrs& attrs) {
  const auto samples = Samples<T>::Make();
  ASSERT_TRUE(attrs.Set("s0", samples[0]));
  ASSERT_TRUE(attrs.Set("s1", samples[1]));
  ASSERT_TRUE(attrs.Set("s2", samples[2]));
  ASSERT_TRUE(attrs.template SetArray<T>("array", samples));
  ASSERT_TRUE(attrs.template SetArray<T>("empty", {}));
}

// AT-2
TYPED_TEST(OpAttrsTypes, AT2_ScalarsAndArraysAreStored) {
  OpAttrs attrs;
  SetSamples<TypeParam>(attrs);
  ExpectSamples<TypeParam>(attrs);
}

// AT-1
TYPED_TEST(OpAttrsTypes, AT1_EveryEntryStaysReadableOnTheHeap) {
  OpAttrs attrs;
  SetSamples<TypeParam>(attrs);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(attrs.Set("more" + std::to_string(i), int64_t{i}));
  EXPECT_FALSE(attrs.is_inline());
  ExpectSamples<TypeParam>(attrs);
}

// AT-4
TYPED_TEST(OpAttrsTypes, AT4_FrozenCopyOutlivesTheOriginal) {
  auto attrs = std::make_unique<OpAttrs>();
  SetSamples<TypeParam>(*attrs);
  const OpAttrsRef frozen = attrs->Freeze();
  attrs.reset();
  ExpectSamples<TypeParam>(frozen);
}

// AT-2: a copy does not look at the caller's memory again.
TYPED_TEST(OpAttrsTypes, AT2_ValuesAreCopied) {
  OpAttrs attrs;
  {
    std::string name = "s0";
    auto samples = std::make_unique<std::array<TypeParam, 3>>(Samples<TypeParam>::Make());
    ASSERT_TRUE(attrs.Set(name, (*samples)[0]));
    name = "xx";
  }
  TypeParam value{};
  ASSERT_TRUE(attrs.Get("s0", &value));
  EXPECT_TRUE(Same(value, Samples<TypeParam>::Make()[0]));
}

// AT-2
TYPED_TEST(OpAttrsTypes, AT2_GetOfAnotherKindLeavesTheOutputAlone) {
  OpAttrs attrs;
  SetSamples<TypeParam>(attrs);
  const auto check = [](const OpAttrsRef& ref) {
    const TypeParam untouched = Samples<TypeParam>::Make()[2];
    TypeParam value = untouched;
    EXPECT_FALSE(ref.Get("missing", &value));
    EXPECT_FALSE(ref.Get("array", &value));
    EXPECT_TRUE(Same(value, untouched));
    const TypeParam* const marker = &untouched;
    std::span<const TypeParam> array(marker, 1);
    EXPECT_FALSE(ref.GetArray("missing", &array));
    EXPECT_FALSE(ref.GetArray("s0", &array));
    EXPECT_EQ(array.data(), marker);
    EXPECT_EQ(array.size(), 1u);
  };
  check(attrs);
  check(attrs.Freeze());
}

// AT-2
TYPED_TEST(OpAttrsTypes, AT2_GetOfAnotherTypeLeavesTheOutputAlone) {
  using Other = std::conditional_t<std::is_same_v<TypeParam, int32_t>, int64_t, int32_t>;
  OpAttrs attrs;
  SetSamples<TypeParam>(attrs);
  Other value = 42;
  EXPECT_FALSE(attrs.Get("s0", &value));
  EXPECT_FALSE(attrs.Freeze().Get("s0", &value));
  EXPECT_EQ(value, 42);
  std::span<const Other> array(&value, 1);
  EXPECT_FALSE(attrs.GetArray("array", &array));
  EXPECT_FALSE(attrs.Freeze().GetArray("array", &array));
  EXPECT_EQ(array.data(), &value);
}

bool IsAligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 8 == 0; }

void ExpectAligned(const OpAttrsRef& attrs) {
  for (const AttrEntry& entry : attrs.entries()) {
    EXPECT_TRUE(IsAligned(entry.data)) << entry.name;
    if (entry.type != AttrType::kTensor) continue;
    for (const TensorAttr& tensor : std::span(static_cast<const TensorAttr*>(entry.data), entry.size)) {
      EXPECT_TRUE(IsAligned(tensor.data)) << entry.name;
    }
  }
}

// AT-2: names and texts of odd lengths come between the values.
TYPED_TEST(OpAttrsTypes, AT2_ValuesAreAligned) {
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("odd", true));
  SetSamples<TypeParam>(attrs);
  ASSERT_TRUE(attrs.Set("text", "x"));
  ASSERT_TRUE(attrs.Set("after", Samples<TypeParam>::Make()[0]));
  ExpectAligned(attrs);
  ExpectAligned(attrs.Freeze());
}

// AT-2
TEST(OpAttrsTest, AT2_InlineValuesAreAligned) {
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("b", true));
  ASSERT_TRUE(attrs.Set("wide", int64_t{1}));
  ASSERT_TRUE(attrs.Set("text", "x"));
  ASSERT_TRUE(attrs.Set("f", 1.0));
  ASSERT_TRUE(attrs.Set("t", DType::kF32));
  ASSERT_TRUE(attrs.Set("i", int32_t{1}));
  ASSERT_TRUE(attrs.is_inline());
  ExpectAligned(attrs);
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

// AT-2
TEST(OpAttrsTest, AT2_SetOfANameAlreadySetChangesNothing) {
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("axis", int64_t{1}));
  EXPECT_FALSE(attrs.Set("axis", int64_t{2}));
  EXPECT_FALSE(attrs.Set("axis", "other type"));
  EXPECT_FALSE(attrs.SetArray<int64_t>("axis", std::array<int64_t, 2>{1, 2}));
  EXPECT_EQ(attrs.size(), 1u);
  EXPECT_EQ(Got<int64_t>(attrs, "axis"), 1);
  EXPECT_FALSE(attrs.out_of_memory());
}

// AT-2
TEST(OpAttrsTest, AT2_SetOfANameAlreadySetChangesNothingOnTheHeap) {
  OpAttrs attrs;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(attrs.Set("a" + std::to_string(i), int64_t{i}));
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(attrs.Set("a" + std::to_string(i), int64_t{-1}));
  EXPECT_EQ(attrs.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Got<int64_t>(attrs, "a" + std::to_string(i)), i);
}

// AT-2
TEST(OpAttrsTest, AT2_EntriesAreInOrderOfSetting) {
  OpAttrs attrs;
  for (const char* name : {"c", "a", "b"}) attrs.Set(name, true);
  EXPECT_EQ(Names(attrs), (std::vector<std::string_view>{"c", "a", "b"}));
}

// AT-2
TEST(OpAttrsTest, AT2_GetOrGivesTheFallback) {
  OpAttrs attrs;
  attrs.Set("axis", int64_t{1});
  const OpAttrsRef ref(attrs);
  EXPECT_EQ(ref.GetOr("axis", int64_t{9}), 1);
  EXPECT_EQ(ref.GetOr("missing", int64_t{9}), 9);
  EXPECT_EQ(ref.GetOr("axis", int32_t{9}), 9);
}

// AT-2
TEST(OpAttrsTest, AT2_TensorDataIsCopied) {
  std::vector<int64_t> data = {1, 2, 3};
  std::string text = "abc";
  std::vector<std::string_view> strings = {text};
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("numbers", TensorAttr{TensorMetadata(DType::kI64, {3}), data.data(), {}}));
  ASSERT_TRUE(attrs.Set("strings", TensorAttr{TensorMetadata(DType::kString, {1}), nullptr, strings}));
  data = {0, 0, 0};
  text = "xyz";
  strings = {"other"};
  const TensorAttr numbers = Got<TensorAttr>(attrs, "numbers").value();
  EXPECT_EQ(static_cast<const int64_t*>(numbers.data)[0], 1);
  EXPECT_EQ(static_cast<const int64_t*>(numbers.data)[2], 3);
  EXPECT_EQ(Got<TensorAttr>(attrs, "strings").value().strings[0], "abc");
}

// AT-2: the shape says that there are more bytes than any memory has.
TEST(OpAttrsTest, AT2_TensorOfInvalidMetadataHasNoData) {
  const int64_t value = 1;
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("t", TensorAttr{TensorMetadata(DType::kI64, {INT64_MAX}), &value, {}}));
  ASSERT_TRUE(attrs.Set("u", TensorAttr{TensorMetadata(DType::kI64, {-2}), &value, {}}));
  EXPECT_EQ(Got<TensorAttr>(attrs, "t").value().data, nullptr);
  EXPECT_EQ(Got<TensorAttr>(attrs, "u").value().data, nullptr);
}

// AT-2, AT-4
TEST(OpAttrsTest, AT2_NestedListIsAFrozenCopy) {
  OpAttrs outer;
  {
    OpAttrs inner;
    inner.Set("x", int64_t{1});
    ASSERT_TRUE(outer.Set("inner", OpAttrsRef(inner)));
    inner.Set("y", int64_t{2});
  }
  const OpAttrsRef nested = Got<OpAttrsRef>(outer, "inner").value();
  EXPECT_TRUE(nested.IsFrozen());
  EXPECT_EQ(Got<int64_t>(nested, "x"), 1);
  EXPECT_EQ(nested.Find("y"), nullptr);
}

// AT-2
// Each level takes stack where it is destroyed and printed.
TEST(OpAttrsTest, AT2_ListsAreNestedToALimit) {
  OpAttrs innermost;
  innermost.Set<int64_t>("x", 1);
  OpAttrsRef list = innermost;
  for (uint32_t depth = 2; depth <= kMaxAttrDepth; ++depth) {
    OpAttrs outer;
    ASSERT_TRUE(outer.Set("list", list)) << depth;
    list = outer.Freeze();
    EXPECT_EQ(list.frozen_depth(), depth);
  }
  OpAttrs too_deep;
  EXPECT_FALSE(too_deep.Set("list", list));
  EXPECT_TRUE(too_deep.too_deep());
  EXPECT_FALSE(too_deep.out_of_memory());
  EXPECT_FALSE(too_deep.is_untouched()) << "a call must not take it for one without attributes";
  EXPECT_TRUE(OpAttrsRef(too_deep).too_deep());
  EXPECT_TRUE(too_deep.Freeze().too_deep());
  const OpAttrsRef lists[] = {OpAttrsRef(innermost), list};
  OpAttrs array;
  EXPECT_FALSE(array.SetArray<OpAttrsRef>("lists", lists));
  EXPECT_TRUE(array.too_deep());
  OpAttrs holder;
  EXPECT_FALSE(holder.Set("list", too_deep.Freeze())) << "nor may an incomplete list be stored";
}

TEST(OpAttrsTest, AT2_NestedListsAreDestroyedWithTheSet) {
  const int64_t live = num_live_blocks;
  {
    OpAttrs inner;
    inner.Set("x", int64_t{1});
    OpAttrs inline_set;
    ASSERT_TRUE(inline_set.Set("inner", OpAttrsRef(inner)));
    ASSERT_TRUE(inline_set.is_inline());
    OpAttrs heap_set;
    ASSERT_TRUE(heap_set.Set("inner", OpAttrsRef(inline_set)));
    ASSERT_TRUE(heap_set.SetArray<OpAttrsRef>("list", std::array<OpAttrsRef, 2>{OpAttrsRef(inner), OpAttrsRef()}));
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(heap_set.Set(std::string(i, 'n'), OpAttrsRef(inner)));
    const OpAttrsRef frozen = heap_set.Freeze();
    EXPECT_EQ(Got<int64_t>(*Got<OpAttrsRef>(*Got<OpAttrsRef>(frozen, "inner"), "inner"), "x"), 1);
  }
  EXPECT_EQ(num_live_blocks, live);
}

// AT-2
TEST(OpAttrsTest, AT2_NestedListHasNoDefaults) {
  OpAttrs defaults;
  defaults.Set("y", int64_t{2});
  const RcRef<const FrozenOpAttrs> frozen_defaults = FrozenOpAttrs::Create(defaults.entries());
  OpAttrs inner;
  inner.Set("x", int64_t{1});
  OpAttrs outer;
  ASSERT_TRUE(outer.Set("inner", OpAttrsRef(inner).WithDefaults(frozen_defaults.get())));
  EXPECT_EQ(Got<OpAttrsRef>(outer, "inner").value().Find("y"), nullptr);
}

// AT-2
TEST(OpAttrsTest, AT2_SetCanHoldACopyOfItself) {
  OpAttrs attrs;
  attrs.Set("x", int64_t{1});
  ASSERT_TRUE(attrs.Set("self", OpAttrsRef(attrs)));
  EXPECT_EQ(Print(attrs), "{self = {x = 1}, x = 1}");
  EXPECT_EQ(Print(attrs.Freeze()), "{self = {x = 1}, x = 1}");
}

// AT-3
TEST(OpAttrsTest, AT3_FreezeOfEverythingIsOneAllocation) {
  OpAttrs attrs;
  attrs.Set("f", FunctionAttr{"body"});
  attrs.Set("tensor", kTensor);
  attrs.Set("strings", kStringTensor);
  attrs.SetArray<std::string_view>("names", Samples<std::string_view>::Make());
  attrs.SetArray<TensorAttr>("tensors", Samples<TensorAttr>::Make());
  attrs.SetArray<OpAttrsRef>("nested", Samples<OpAttrsRef>::Make());
  for (int i = 0; i < 50; ++i) attrs.Set("i" + std::to_string(i), int64_t{i});
  OpAttrsRef frozen;
  EXPECT_EQ(CountAllocations([&] { frozen = attrs.Freeze(); }), 1);
  EXPECT_TRUE(frozen.IsFrozen());
  EXPECT_EQ(Print(frozen), Print(attrs));
}

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

// AT-5
TEST(OpAttrsTest, AT5_NamesNeedNoTerminatingNul) {
  const char buffer[] = {'a', 'x', 'i', 's', 'e', 's'};
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set(std::string_view(buffer, 4), int64_t{1}));
  ASSERT_TRUE(attrs.Set(std::string_view(buffer, 6), int64_t{2}));
  for (const OpAttrsRef& ref : {OpAttrsRef(attrs), attrs.Freeze()}) {
    EXPECT_EQ(Got<int64_t>(ref, std::string_view(buffer, 4)), 1);
    EXPECT_EQ(Got<int64_t>(ref, std::string_view(buffer, 6)), 2);
    EXPECT_EQ(ref.Find(std::string_view(buffer, 5)), nullptr);
    EXPECT_EQ(ref.Find(std::string_view(buffer, 0)), nullptr);
    EXPECT_EQ(ref.Find(std::string_view()), nullptr);
  }
}

// AT-5
TEST(OpAttrsTest, AT5_NamesMayContainNul) {
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("a\0b"sv, int64_t{1}));
  ASSERT_TRUE(attrs.Set("a\0c"sv, int64_t{2}));
  ASSERT_TRUE(attrs.Set("", int64_t{3}));
  for (const OpAttrsRef& ref : {OpAttrsRef(attrs), attrs.Freeze()}) {
    EXPECT_EQ(Got<int64_t>(ref, "a\0b"sv), 1);
    EXPECT_EQ(Got<int64_t>(ref, "a\0c"sv), 2);
    EXPECT_EQ(Got<int64_t>(ref, ""), 3);
    EXPECT_EQ(ref.Find("a"), nullptr);
  }
}

// AT-5: from some size on a frozen set searches by bisection.
TEST(OpAttrsTest, AT5_LookUpInFrozenSetsOfEverySize) {
  OpAttrs attrs;
  for (int size = 1; size <= 40; ++size) {
    ASSERT_TRUE(attrs.Set("n" + std::to_string(size), int64_t{size}));
    const OpAttrsRef frozen = attrs.Freeze();
    for (int i = 1; i <= size; ++i) ASSERT_EQ(Got<int64_t>(frozen, "n" + std::to_string(i)), i);
    for (const char* missing : {"", "m", "n", "n0", "n2x", "z"}) ASSERT_EQ(frozen.Find(missing), nullptr);
  }
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

// ER-5
TEST(FrozenOpAttrsTest, ER5_CreateWithoutMemoryGivesNull) {
  OpAttrs attrs;
  attrs.Set("a", int64_t{1});
  const RcRef<const FrozenOpAttrs> set = WithoutMemory([&] { return FrozenOpAttrs::Create(attrs.entries()); });
  EXPECT_FALSE(set);
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
