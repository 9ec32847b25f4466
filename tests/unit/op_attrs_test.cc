// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes: values of every type, stored and frozen, entries, nested lists, names (AT-1 to AT-5).

#include "tandem/op_attrs.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "failing_heap.h"
#include "op_attrs_values.h"

namespace tandem {
namespace {

using std::string_view_literals::operator""sv;

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

}  // namespace
}  // namespace tandem
