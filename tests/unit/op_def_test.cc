// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Op definitions: the grammar, what it stands for, and the errors of faulty definitions (OR-1).

#include "tandem/op_def.h"

#include <gtest/gtest.h>

#include <array>
#include <clocale>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace tandem {
namespace {

OpDef Built(const OpDefBuilder& builder) {
  StatusOr<OpDef> def = builder.Build();
  EXPECT_TRUE(def.ok()) << def.status().ToString();
  return def.ok() ? *def : OpDef();
}

// The definition of an op with this one attribute.
OpDef WithAttr(std::string_view spec) { return Built(OpDefBuilder("test.op").Attr(spec)); }

// What is wrong with the definition; empty if nothing is.
std::string Faults(const OpDefBuilder& builder) {
  const StatusOr<OpDef> def = builder.Build();
  if (def.ok()) return "";
  EXPECT_EQ(def.status().code(), StatusCode::kInvalidArgument);
  return std::string(def.status().message());
}

// The reason given for a faulty attribute, after checking that op and spec are named.
std::string AttrFault(std::string_view spec) {
  const std::string faults = Faults(OpDefBuilder("test.op").Attr(spec));
  const std::string start = "[test.op] attribute \"" + std::string(spec) + "\": ";
  if (faults.substr(0, start.size()) != start) return "does not name op and spec: " + faults;
  return faults.substr(start.size());
}

std::string InputFault(OpDefBuilder builder, std::string_view spec) {
  const std::string faults = Faults(builder.Input(spec));
  const std::string start = "[test.op] input \"" + std::string(spec) + "\": ";
  if (faults.substr(0, start.size()) != start) return "does not name op and spec: " + faults;
  return faults.substr(start.size());
}

template <typename T>
T Default(const OpDef& def, std::string_view name) {
  T value{};
  EXPECT_TRUE(def.defaults && internal::GetAttr(def.defaults->Find(name), &value)) << name;
  return value;
}

template <typename T>
std::vector<T> DefaultList(const OpDef& def, std::string_view name) {
  std::span<const T> values;
  EXPECT_TRUE(def.defaults && internal::GetAttrArray(def.defaults->Find(name), &values)) << name;
  return {values.begin(), values.end()};
}

OpDefBuilder MatMul() {
  return OpDefBuilder("tf.MatMul")
      .Input("a: T")
      .Input("b: T")
      .Output("product: T")
      .Attr("T: {half, float, double, int32} ")
      .Attr("transpose_a: bool = false")
      .Doc("  Multiplies two matrices.\n\n  The inner dimensions must agree.\n");
}

TEST(OpDefTest, OR1_ReadsTheArgumentsAndAttributesOfAnOp) {
  const OpDef def = Built(MatMul());
  EXPECT_EQ(def.name, "tf.MatMul");
  ASSERT_EQ(def.inputs.size(), 2u);
  EXPECT_EQ(def.inputs[0].name, "a");
  EXPECT_EQ(def.inputs[1].name, "b");
  EXPECT_EQ(def.inputs[1].type_attr, 0);
  ASSERT_EQ(def.outputs.size(), 1u);
  EXPECT_EQ(def.outputs[0].name, "product");
  EXPECT_EQ(def.outputs[0].type_attr, 0);
  ASSERT_EQ(def.attrs.size(), 2u);
  EXPECT_EQ(def.attrs[0].name, "T");
  EXPECT_EQ(def.attrs[0].kind, AttrKind::kType);
  EXPECT_EQ(def.attrs[0].allowed_dtypes, (DTypeSet{DType::kF16, DType::kF32, DType::kF64, DType::kI32}));
  EXPECT_EQ(def.attrs[1].kind, AttrKind::kBool);
  EXPECT_FALSE(Default<bool>(def, "transpose_a"));
}

TEST(OpDefTest, OR1_DocIsTrimmed) {
  EXPECT_EQ(Built(MatMul()).doc, "Multiplies two matrices.\n\n  The inner dimensions must agree.");
  EXPECT_EQ(Built(OpDefBuilder("test.op").Doc(" \n ")).doc, "");
}

TEST(OpDefTest, CH1_SideEffectsAreAPropertyOfTheDefinition) {
  EXPECT_FALSE(Built(MatMul()).has_side_effects);
  EXPECT_TRUE(Built(MatMul().SideEffects()).has_side_effects);
}

TEST(OpDefTest, OR1_FixedDTypesHaveTensorFlowsNamesOrOurs) {
  struct Case {
    std::string_view name;
    DType dtype;
  };
  const Case cases[] = {
      {"half", DType::kF16},  {"bfloat16", DType::kBF16}, {"float", DType::kF32},     {"double", DType::kF64},
      {"int8", DType::kI8},   {"int16", DType::kI16},     {"int32", DType::kI32},     {"int64", DType::kI64},
      {"uint8", DType::kU8},  {"uint16", DType::kU16},    {"uint32", DType::kU32},    {"uint64", DType::kU64},
      {"bool", DType::kBool}, {"string", DType::kString}, {"complex64", DType::kC64}, {"f16", DType::kF16},
      {"bf16", DType::kBF16}, {"f32", DType::kF32},       {"i64", DType::kI64},       {"u8", DType::kU8},
  };
  for (const Case& c : cases) {
    const OpDef def = Built(OpDefBuilder("test.op").Input("x: " + std::string(c.name)));
    ASSERT_EQ(def.inputs.size(), 1u) << c.name;
    EXPECT_EQ(def.inputs[0].dtype, c.dtype) << c.name;
    EXPECT_EQ(def.inputs[0].type_attr, -1) << c.name;
  }
}

TEST(OpDefTest, OR1_NumberAttributeRepeatsAnArgument) {
  const OpDef def = Built(OpDefBuilder("tf.ConcatV2")
                              .Input("values: N * T")
                              .HostInput("axis: Tidx")
                              .Output("output: T")
                              .Attr("N: int >= 2")
                              .Attr("T: type")
                              .Attr("Tidx: {int32, int64} = DT_INT32"));
  ASSERT_EQ(def.inputs.size(), 2u);
  EXPECT_EQ(def.inputs[0].number_attr, 0);
  EXPECT_EQ(def.inputs[0].type_attr, 1);
  EXPECT_TRUE(def.inputs[0].IsVariadic());
  EXPECT_FALSE(def.inputs[0].host_input);
  EXPECT_FALSE(def.inputs[1].IsVariadic());
  EXPECT_TRUE(def.inputs[1].host_input);
  EXPECT_TRUE(def.has_host_inputs);
  EXPECT_TRUE(def.HasVariadicInputs());
  EXPECT_FALSE(def.HasVariadicOutputs());
  EXPECT_TRUE(def.attrs[0].has_minimum);
  EXPECT_EQ(def.attrs[0].minimum, 2);
}

TEST(OpDefTest, OR1_NumberAttributeRepeatsAFixedDType) {
  const OpDef def = Built(OpDefBuilder("test.op").Input("xs:N*int64").Attr("N:int>=0"));
  ASSERT_EQ(def.inputs.size(), 1u);
  EXPECT_EQ(def.inputs[0].number_attr, 0);
  EXPECT_EQ(def.inputs[0].dtype, DType::kI64);
}

TEST(OpDefTest, OR1_TypeListAttributeMakesAnArgumentVariadic) {
  const OpDef def = Built(OpDefBuilder("test.op")
                              .Input("xs: Tin")
                              .Output("ys: Tout")
                              .Attr("Tin: list(type) >= 1")
                              .Attr("Tout: list({float, numbertype})"));
  ASSERT_EQ(def.inputs.size(), 1u);
  ASSERT_EQ(def.outputs.size(), 1u);
  EXPECT_EQ(def.inputs[0].type_list_attr, 0);
  EXPECT_EQ(def.outputs[0].type_list_attr, 1);
  EXPECT_TRUE(def.HasVariadicInputs());
  EXPECT_TRUE(def.HasVariadicOutputs());
  EXPECT_TRUE(def.attrs[1].is_list);
  EXPECT_EQ(def.attrs[1].allowed_dtypes, kNumericDTypes);
}

TEST(OpDefTest, OR1_OutputMayBeOfAnyDType) {
  const OpDef def = Built(OpDefBuilder("test.op").Output("y: any"));
  ASSERT_EQ(def.outputs.size(), 1u);
  EXPECT_TRUE(def.outputs[0].any_dtype);
  EXPECT_EQ(def.outputs[0].dtype, DType::kInvalid);
}

TEST(OpDefTest, OR1_AttributesThatFollowFromTheInputsAreInferred) {
  const OpDef def = Built(OpDefBuilder("test.op")
                              .Input("x: T")
                              .Input("xs: N * U")
                              .Output("y: V")
                              .Attr("T: type")
                              .Attr("N: int >= 1")
                              .Attr("U: type")
                              .Attr("V: type")
                              .Attr("axis: int"));
  ASSERT_EQ(def.attrs.size(), 5u);
  EXPECT_TRUE(def.attrs[0].inferred);
  EXPECT_TRUE(def.attrs[1].inferred);
  EXPECT_TRUE(def.attrs[2].inferred);
  EXPECT_FALSE(def.attrs[3].inferred);
  EXPECT_FALSE(def.attrs[4].inferred);
  EXPECT_TRUE(Built(OpDefBuilder("test.op").Input("xs: L").Attr("L: list(type)")).attrs[0].inferred);
}

TEST(OpDefTest, KernelsAreLookedUpByTElseByTheFirstTypeAttribute) {
  const auto kernel_type_attr = [](std::vector<std::string_view> specs) {
    OpDefBuilder builder("test.op");
    for (std::string_view spec : specs) builder.Attr(spec);
    return Built(builder).kernel_type_attr;
  };
  EXPECT_EQ(kernel_type_attr({"SrcT: type", "axis: int", "T: type"}), 2);
  EXPECT_EQ(kernel_type_attr({"axis: int", "SrcT: type", "DstT: type"}), 1);
  EXPECT_EQ(kernel_type_attr({"T: list(type)", "U: type"}), 1);
  EXPECT_EQ(kernel_type_attr({"T: int"}), -1);
  EXPECT_EQ(kernel_type_attr({}), -1);
}

TEST(OpDefTest, FindAttrGivesTheIndexOrMinusOne) {
  const OpDef def = Built(MatMul());
  EXPECT_EQ(def.FindAttr("transpose_a"), 1);
  EXPECT_EQ(def.FindAttr("transpose"), -1);
}

TEST(OpDefTest, OR1_KindsOfAttributes) {
  struct Case {
    std::string_view kind;
    AttrKind expected;
  };
  const Case cases[] = {
      {"type", AttrKind::kType},     {"int", AttrKind::kInt},     {"float", AttrKind::kFloat},
      {"bool", AttrKind::kBool},     {"shape", AttrKind::kShape}, {"string", AttrKind::kString},
      {"tensor", AttrKind::kTensor}, {"any", AttrKind::kAny},     {"func", AttrKind::kFunction},
  };
  for (const Case& c : cases) {
    const OpDef scalar = WithAttr("a: " + std::string(c.kind));
    EXPECT_EQ(scalar.attrs.at(0).kind, c.expected) << c.kind;
    EXPECT_FALSE(scalar.attrs.at(0).is_list) << c.kind;
    EXPECT_FALSE(scalar.attrs.at(0).has_default) << c.kind;
    EXPECT_FALSE(scalar.attrs.at(0).has_minimum) << c.kind;
    if (c.expected == AttrKind::kAny) continue;
    const OpDef list = WithAttr("a: list ( " + std::string(c.kind) + " )");
    EXPECT_EQ(list.attrs.at(0).kind, c.expected) << c.kind;
    EXPECT_TRUE(list.attrs.at(0).is_list) << c.kind;
  }
}

TEST(OpDefTest, OR1_NamedSetsOfDTypes) {
  EXPECT_EQ(WithAttr("T: type").attrs[0].allowed_dtypes, DTypeSet::All());
  EXPECT_EQ(WithAttr("T: numbertype").attrs[0].allowed_dtypes, kNumericDTypes);
  EXPECT_EQ(WithAttr("T: realnumbertype").attrs[0].allowed_dtypes, kRealDTypes);
  EXPECT_EQ(WithAttr("T: {realnumbertype, bool}").attrs[0].allowed_dtypes, kRealDTypes | DTypeSet{DType::kBool});
}

TEST(OpDefTest, OR1_SetsOfStringsTakeBothQuotes) {
  const OpDef def = WithAttr("padding: {'SAME', \"VALID\"}");
  EXPECT_EQ(def.attrs[0].kind, AttrKind::kString);
  EXPECT_EQ(def.attrs[0].allowed_strings, (std::vector<std::string>{"SAME", "VALID"}));
}

TEST(OpDefTest, OR1_AttributeNamedLikeAKindIsFine) {
  EXPECT_EQ(WithAttr("list: list(int)").attrs[0].name, "list");
  EXPECT_EQ(WithAttr("shape: shape").attrs[0].kind, AttrKind::kShape);
}

TEST(OpDefTest, OR1_SpecIsKeptAsWritten) { EXPECT_EQ(WithAttr(" k :int>=1=2 ").attrs[0].spec, " k :int>=1=2 "); }

TEST(OpDefTest, AT6_DefaultsHaveTheAttributeTypesOfTheirKinds) {
  EXPECT_EQ(Default<bool>(WithAttr("a: bool = true"), "a"), true);
  EXPECT_EQ(Default<int64_t>(WithAttr("a: int = -9223372036854775808"), "a"), INT64_MIN);
  EXPECT_EQ(Default<float>(WithAttr("a: float = 1e-5"), "a"), 1e-5f);
  EXPECT_EQ(Default<DType>(WithAttr("a: type = DT_FLOAT"), "a"), DType::kF32);
  EXPECT_EQ(Default<DType>(WithAttr("a: type = DT_BFLOAT16"), "a"), DType::kBF16);
  EXPECT_EQ(Default<DType>(WithAttr("a: type = int32"), "a"), DType::kI32);
  EXPECT_EQ(Default<DType>(WithAttr("a: {f32, i32} = i32"), "a"), DType::kI32);
  EXPECT_EQ(Default<TensorShape>(WithAttr("a: shape = [2, -1]"), "a"), (TensorShape{2, -1}));
  EXPECT_EQ(Default<TensorShape>(WithAttr("a: shape = []"), "a"), TensorShape());
  EXPECT_EQ(Default<TensorShape>(WithAttr("a: shape = { }"), "a"), TensorShape());
  EXPECT_EQ(Default<TensorShape>(WithAttr("a: shape = {dim {size: 3} dim{size:-1}}"), "a"), (TensorShape{3, -1}));
  EXPECT_EQ(Default<FunctionAttr>(WithAttr("a: func = 'body'"), "a").name, "body");
}

TEST(OpDefTest, AT6_StringDefaults) {
  const OpDef nhwc = WithAttr("a: {'NHWC', 'NCHW'} = 'NHWC'");
  EXPECT_EQ(Default<std::string_view>(nhwc, "a"), "NHWC");
  const OpDef empty = WithAttr("a: string = \"\"");
  EXPECT_EQ(Default<std::string_view>(empty, "a"), "");
  const OpDef escaped = WithAttr(R"(a: string = 'it\'s "\\"\n\t')");
  EXPECT_EQ(Default<std::string_view>(escaped, "a"), "it's \"\\\"\n\t");
  const OpDef utf8 = WithAttr("a: string = '\xC3\xA9'");
  EXPECT_EQ(Default<std::string_view>(utf8, "a"), "\xC3\xA9");
}

TEST(OpDefTest, AT6_FloatDefaults) {
  const auto value = [](std::string_view text) {
    return Default<float>(WithAttr("a: float = " + std::string(text)), "a");
  };
  EXPECT_EQ(value("0.2"), 0.2f);
  EXPECT_EQ(value("-1"), -1.0f);
  EXPECT_EQ(value("1."), 1.0f);
  EXPECT_EQ(value(".5"), 0.5f);
  EXPECT_EQ(value("1.5E+3"), 1500.0f);
  EXPECT_EQ(value("2.5e-1"), 0.25f);
  EXPECT_EQ(value("0.0001220703125"), 0.0001220703125f);
  EXPECT_EQ(value("3.4028235e38"), 3.4028235e38f);
  EXPECT_EQ(value("1e-45"), 1e-45f);
  EXPECT_TRUE(std::signbit(value("-0.0")));
  EXPECT_EQ(value("inf"), INFINITY);
  EXPECT_EQ(value("-inf"), -INFINITY);
  EXPECT_TRUE(std::isnan(value("nan")));
}

TEST(OpDefTest, FloatDefaultsDoNotDependOnTheLocale) {
  const char* locale = nullptr;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"}) {
    if ((locale = std::setlocale(LC_NUMERIC, name)) != nullptr) break;
  }
  if (locale == nullptr) GTEST_SKIP() << "no locale with a decimal comma is installed";
  const OpDef def = WithAttr("a: float = 0.25");
  std::setlocale(LC_NUMERIC, "C");
  EXPECT_EQ(Default<float>(def, "a"), 0.25f);
}

TEST(OpDefTest, AT6_ListDefaults) {
  EXPECT_EQ(DefaultList<int64_t>(WithAttr("a: list(int) = [1, -2]"), "a"), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(DefaultList<int64_t>(WithAttr("a: list(int) = []"), "a"), (std::vector<int64_t>{}));
  EXPECT_EQ(DefaultList<float>(WithAttr("a: list(float)=[0.5,1]"), "a"), (std::vector<float>{0.5f, 1.0f}));
  EXPECT_EQ(DefaultList<bool>(WithAttr("a: list(bool) = [true, false, true]"), "a"),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(DefaultList<DType>(WithAttr("a: list(type) = [DT_HALF, f64]"), "a"),
            (std::vector<DType>{DType::kF16, DType::kF64}));
  EXPECT_EQ(DefaultList<TensorShape>(WithAttr("a: list(shape) = [[2], {}, []]"), "a"),
            (std::vector<TensorShape>{{2}, {}, {}}));
  const OpDef strings = WithAttr("a: list({'x', 'y'}) = ['y', 'x', 'y']");
  EXPECT_EQ(DefaultList<std::string_view>(strings, "a"), (std::vector<std::string_view>{"y", "x", "y"}));
}

TEST(OpDefTest, AT6_DefaultsAreSharedByCopiesOfTheDefinition) {
  const OpDef def = WithAttr("a: int = 3");
  const OpDef copy = def;
  EXPECT_EQ(def.defaults.get(), copy.defaults.get());
  EXPECT_EQ(Default<int64_t>(copy, "a"), 3);
}

TEST(OpDefTest, AT6_NoDefaultsNoSet) { EXPECT_FALSE(WithAttr("a: int").defaults); }

TEST(OpDefTest, AT6_ManyDefaultsAreAllReadable) {
  OpDefBuilder builder("test.op");
  for (int i = 0; i < OpDef::kMaxAttrs; ++i) builder.Attr("attr_" + std::to_string(i) + ": int = " + std::to_string(i));
  const OpDef def = Built(builder);
  for (int i = 0; i < OpDef::kMaxAttrs; ++i) EXPECT_EQ(Default<int64_t>(def, "attr_" + std::to_string(i)), i);
}

TEST(OpDefTest, OR1_MinimumAppliesToValueOrLength) {
  EXPECT_EQ(WithAttr("n: int >= -3 = -3").attrs[0].minimum, -3);
  const OpDef list = WithAttr("a: list(float) >= 2 = [1, 2]");
  EXPECT_TRUE(list.attrs[0].has_minimum);
  EXPECT_EQ(list.attrs[0].minimum, 2);
}

// The errors. Each names the op and the spec, which AttrFault and InputFault check.

TEST(OpDefErrorTest, OR1_OpNames) {
  for (std::string_view name : {"tf.MatMul", "tf._FusedMatMul", "test.add.denseonly", "tandem.Gelu", "a1_.b2"}) {
    EXPECT_EQ(Faults(OpDefBuilder(name)), "") << name;
  }
  for (std::string_view name : {"MatMul", "tf.", ".MatMul", "tf..MatMul", "tf.Mat-Mul", "tf.2D", "tf.Mat Mul", "."}) {
    const std::string quoted(name);
    EXPECT_EQ(Faults(OpDefBuilder(name)),
              "[" + quoted + "] name \"" + quoted + "\": expected prefix.Name of letters, digits and underscores");
  }
  EXPECT_EQ(Faults(OpDefBuilder("")), "name \"\": expected prefix.Name of letters, digits and underscores");
}

TEST(OpDefErrorTest, OR1_SyntaxOfAttributes) {
  EXPECT_EQ(AttrFault(""), "expected a name of letters, digits and underscores, got the end");
  EXPECT_EQ(AttrFault("1a: int"), "expected a name of letters, digits and underscores, got '1a: int'");
  EXPECT_EQ(AttrFault("_a: int"), "expected a name of letters, digits and underscores, got '_a: int'");
  EXPECT_EQ(AttrFault("a"), "expected ':', got the end");
  EXPECT_EQ(AttrFault("a int"), "expected ':', got 'int'");
  EXPECT_EQ(AttrFault("a: list(int"), "expected ')', got the end");
  EXPECT_EQ(AttrFault("a: int = 3 4"), "expected the end, got '4'");
  EXPECT_EQ(AttrFault("a: int > 3"), "expected the end, got '> 3'");
  EXPECT_EQ(AttrFault("a: list(int) = [1, 2"), "expected ']', got the end");
  EXPECT_EQ(AttrFault("a: list(int) = [1, ]"), "expected an integer, got ']'");
  EXPECT_EQ(AttrFault("a: list(int) = 3"), "expected a list in brackets, got '3'");
  EXPECT_EQ(AttrFault("a: int ="), "expected an integer, got the end");
}

TEST(OpDefErrorTest, OR1_UnknownKinds) {
  constexpr std::string_view kKinds =
      "expected a kind (type, int, float, bool, string, shape, tensor, func, any, list(...) or a set), got ";
  EXPECT_EQ(AttrFault("a: integer = 1"), std::string(kKinds) + "'integer = 1'");
  EXPECT_EQ(AttrFault("a:"), std::string(kKinds) + "the end");
  EXPECT_EQ(AttrFault("a: list(list(int))"), std::string(kKinds) + "'list(int))'");
  EXPECT_EQ(AttrFault("a: list(any)"), "expected lists of one kind, got list(any)");
}

TEST(OpDefErrorTest, OR1_Sets) {
  EXPECT_EQ(AttrFault("T: {}"), "expected dtypes or strings in the set, got none");
  EXPECT_EQ(AttrFault("T: {float, quint8}"), "unknown dtype quint8");
  EXPECT_EQ(AttrFault("T: {float, f32}"), "dtype f32 is in the set twice");
  EXPECT_EQ(AttrFault("T: {float, 'SAME'}"), "expected a dtype, got ''SAME'}'");
  EXPECT_EQ(AttrFault("T: {float"), "expected '}', got the end");
  EXPECT_EQ(AttrFault("p: {'SAME', 'SAME'}"), "'SAME' is in the set twice");
  EXPECT_EQ(AttrFault("p: {'SAME', VALID}"), "expected a quoted string, got 'VALID}'");
}

TEST(OpDefErrorTest, OR1_DefaultsOfTheWrongKind) {
  EXPECT_EQ(AttrFault("a: bool = 1"), "expected true or false, got '1'");
  EXPECT_EQ(AttrFault("a: int = 1.5"), "expected an integer, got '1.5'");
  EXPECT_EQ(AttrFault("a: int = 'one'"), "expected an integer, got ''one''");
  EXPECT_EQ(AttrFault("a: int = 9223372036854775808"), "an integer 9223372036854775808 does not fit in 64 bits");
  EXPECT_EQ(AttrFault("a: float = 1.5f"), "expected a number, got '1.5f'");
  EXPECT_EQ(AttrFault("a: float = ."), "expected a number, got '.'");
  EXPECT_EQ(AttrFault("a: float = 0x10"), "expected a number, got '0x10'");
  EXPECT_EQ(AttrFault("a: float = 1e"), "expected a number, got '1e'");
  EXPECT_EQ(AttrFault("a: float = 1e39"), "number 1e39 does not fit in f32");
  EXPECT_EQ(AttrFault("a: string = NHWC"), "expected a quoted string, got 'NHWC'");
  EXPECT_EQ(AttrFault("a: string = 'NHWC"), "expected a closing quote of 'NHWC");
  EXPECT_EQ(AttrFault("a: string = 'NHWC\\"), "expected a closing quote of 'NHWC\\");
  EXPECT_EQ(AttrFault("a: string = '\\x'"), "unknown escape '\\x' in a string");
  EXPECT_EQ(AttrFault("a: type = DT_float"), "unknown dtype DT_float");
  EXPECT_EQ(AttrFault("a: type = 3.5"), "unknown dtype 3");
  EXPECT_EQ(AttrFault("a: type = 'float'"), "expected a dtype, got ''float''");
  EXPECT_EQ(AttrFault("a: tensor = 1"), "a tensor attribute cannot have a default");
  EXPECT_EQ(AttrFault("a: any = 1"), "an attribute of any kind cannot have a default");
}

TEST(OpDefErrorTest, OR1_ShapeDefaults) {
  EXPECT_EQ(AttrFault("a: shape = 3"), "expected a shape such as [2, -1], got '3'");
  EXPECT_EQ(AttrFault("a: shape = [-2]"), "expected a dimension of at least 0, or -1 for an unknown one, got -2");
  EXPECT_EQ(AttrFault("a: shape = [1,1,1,1,1,1,1,1,1]"), "expected a shape of at most 8 dimensions");
  EXPECT_EQ(AttrFault("a: shape = [2"), "expected ']', got the end");
  EXPECT_EQ(AttrFault("a: shape = {unknown_rank: true}"),
            "a shape of unknown rank has no value, leave the default out");
  EXPECT_EQ(AttrFault("a: shape = {size: 3}"), "expected 'dim' or '}', got 'size: 3}'");
  EXPECT_EQ(AttrFault("a: shape = {dim {3}}"), "expected 'size', got '3}}'");
}

TEST(OpDefErrorTest, OR1_DefaultsOutsideWhatIsAllowed) {
  EXPECT_EQ(AttrFault("T: {half, float} = DT_INT32"), "default i32 is not one of {f16, f32}");
  EXPECT_EQ(AttrFault("p: {'SAME', 'VALID'} = 'FULL'"), "default 'FULL' is not one of the allowed strings");
  EXPECT_EQ(AttrFault("L: list({half, float}) = [half, int8]"), "default i8 is not one of {f16, f32}");
  EXPECT_EQ(AttrFault("n: int >= 2 = 1"), "default 1 is below the minimum 2");
  EXPECT_EQ(AttrFault("a: list(int) >= 2 = [7]"), "default has length 1, below the minimum 2");
}

TEST(OpDefErrorTest, OR1_Minima) {
  EXPECT_EQ(AttrFault("a: float >= 0"), "only int and list attributes have a minimum");
  EXPECT_EQ(AttrFault("T: {half, float} >= 1"), "only int and list attributes have a minimum");
  EXPECT_EQ(AttrFault("a: int >= x"), "expected the minimum as an integer, got 'x'");
  EXPECT_EQ(AttrFault("a: list(int) >= -1"), "expected a minimum length of at least 0, got -1");
}

TEST(OpDefErrorTest, OR1_AttributeNamesThatAreDTypes) {
  EXPECT_EQ(AttrFault("float: type"), "the name float is taken: in arguments it is a dtype");
  EXPECT_EQ(AttrFault("i32: int"), "the name i32 is taken: in arguments it is a dtype");
  EXPECT_EQ(AttrFault("any: type"), "the name any is taken: in arguments it is a dtype");
}

TEST(OpDefErrorTest, OR1_SyntaxOfArguments) {
  const OpDefBuilder op("test.op");
  EXPECT_EQ(InputFault(op, ""), "expected a name of lower case letters, digits and underscores, got the end");
  EXPECT_EQ(InputFault(op, "X: float"),
            "expected a name of lower case letters, digits and underscores, got 'X: float'");
  EXPECT_EQ(InputFault(op, "x"), "expected ':', got the end");
  EXPECT_EQ(InputFault(op, "x:"), "expected a dtype or an attribute's name, got the end");
  EXPECT_EQ(InputFault(op, "x: N *"), "expected a dtype or an attribute's name, got the end");
  EXPECT_EQ(InputFault(op, "x: float y"), "expected the end, got 'y'");
  EXPECT_EQ(InputFault(op, "x: Ref(T)"), "expected the end, got '(T)'");
}

TEST(OpDefErrorTest, OR1_WordsInArgumentsThatMeanNothing) {
  const OpDefBuilder op = OpDefBuilder("test.op").Attr("axis: int >= 0").Attr("L: list(type)").Attr("n: int");
  EXPECT_EQ(InputFault(op, "x: float33"), "float33 is neither a dtype nor an attribute of the op");
  EXPECT_EQ(InputFault(op, "x: axis"), "expected a type attribute, got axis, which is \"axis: int >= 0\"");
  EXPECT_EQ(InputFault(op, "x: N * float"), "N is not an attribute of the op");
  EXPECT_EQ(InputFault(op, "x: n * float"), "expected an attribute such as \"n: int >= 1\" before '*', got \"n: int\"");
  EXPECT_EQ(InputFault(op, "x: L * float"),
            "expected an attribute such as \"L: int >= 1\" before '*', got \"L: list(type)\"");
  EXPECT_EQ(InputFault(op, "x: axis * L"), "expected a dtype or a type attribute after '*', got the list L");
  EXPECT_EQ(InputFault(op, "x: any"), "only an output can be of any dtype, use a type attribute");
}

TEST(OpDefErrorTest, OR1_NumberAttributeWithNegativeMinimum) {
  EXPECT_EQ(InputFault(OpDefBuilder("test.op").Attr("N: int >= -1"), "x: N * float"),
            "expected an attribute such as \"N: int >= 1\" before '*', got \"N: int >= -1\"");
}

TEST(OpDefErrorTest, OR1_RepeatedAnyOutputs) {
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Output("y: N * any").Attr("N: int >= 1")),
            "[test.op] output \"y: N * any\": outputs of any dtype cannot be repeated, use a list(type)");
}

TEST(OpDefErrorTest, OR1_DuplicateNames) {
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Attr("a: int").Attr("a: float")),
            "[test.op] attribute \"a: float\": the name a is already that of an attribute");
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Input("x: f32").Input("x: i32")),
            "[test.op] input \"x: i32\": the name x is already that of an input");
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Input("x: f32").Output("x: i32")),
            "[test.op] output \"x: i32\": the name x is already that of an input");
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Output("y: f32").Output("y: f32")),
            "[test.op] output \"y: f32\": the name y is already that of an output");
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Attr("x: int").Input("x: f32")),
            "[test.op] input \"x: f32\": the name x is already that of an attribute");
}

TEST(OpDefErrorTest, OR1_TooManyAttributes) {
  OpDefBuilder builder("test.op");
  for (int i = 0; i <= OpDef::kMaxAttrs; ++i) builder.Attr("attr_" + std::to_string(i) + ": int");
  EXPECT_EQ(Faults(builder), "[test.op] expected at most 32 attributes, got 33");
}

TEST(OpDefErrorTest, OR1_InputsThatCannotBeToldApart) {
  EXPECT_EQ(
      Faults(OpDefBuilder("test.op").Input("xs: N * f32").Input("ys: M * f32").Attr("N: int >= 1").Attr("M: int >= 1")),
      "[test.op] inputs xs and ys: both vary in number, by different attributes, so that arguments cannot be "
      "told apart");
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Input("xs: N * f32").Input("ys: N * i32").Attr("N: int >= 1")), "");
}

TEST(OpDefErrorTest, OR1_AllFaultsOfADefinitionAreReportedTogether) {
  EXPECT_EQ(Faults(OpDefBuilder("MatMul")
                       .Attr("T: {half, flaot}")
                       .Attr("transpose_a: bool = no")
                       .Input("a: U")
                       .Output("product: f32 f32")),
            "[MatMul] name \"MatMul\": expected prefix.Name of letters, digits and underscores; "
            "attribute \"T: {half, flaot}\": unknown dtype flaot; "
            "attribute \"transpose_a: bool = no\": expected true or false, got 'no'; "
            "input \"a: U\": U is neither a dtype nor an attribute of the op; "
            "output \"product: f32 f32\": expected the end, got 'f32'");
}

TEST(OpDefErrorTest, OR1_FaultyAttributeIsNotReportedAgainWhereItIsUsed) {
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Input("xs: N * T").Attr("T: {flaot}").Attr("N: int >= one")),
            "[test.op] attribute \"T: {flaot}\": unknown dtype flaot; "
            "attribute \"N: int >= one\": expected the minimum as an integer, got 'one'");
}

TEST(OpDefErrorTest, OR1_MoreFaultsThanOneMessageBufferHolds) {
  OpDefBuilder builder("test.op");
  for (int i = 0; i < 100; ++i) builder.Input("x" + std::to_string(i) + ": nothing");
  const std::string faults = Faults(builder);
  EXPECT_NE(faults.find("input \"x99: nothing\": nothing is neither a dtype nor an attribute of the op"), faults.npos);
}

// The definition against what its metadata function relies on.

TensorMetadata OneArgument(const TensorMetadata& x) { return x; }
TensorMetadata TwoArguments(const TensorMetadata& x, const TensorMetadata&) { return x; }
TensorMetadata HostSecond(const TensorMetadata& x, HostInput) { return x; }
TensorMetadata FirstAndRest(const TensorMetadata& x, VariadicMetadata) { return x; }
Status NoResult(const TensorMetadata&) { return Status(); }
Status AnyResults(const TensorMetadata&, std::span<TensorMetadata>) { return Status(); }
Status WholeFrame(const MetadataFrame&) { return Status(); }
StatusOr<std::array<TensorMetadata, 2>> TwoResults(const TensorMetadata& x) {
  return std::array<TensorMetadata, 2>{x, x};
}

TEST(OpDefMetadataTest, MD5_FunctionIsKept) {
  EXPECT_NE(Built(OpDefBuilder("test.op").Input("x: f32").Output("y: f32").Metadata<&OneArgument>()).metadata, nullptr);
  EXPECT_EQ(Built(OpDefBuilder("test.op").Output("y: f32")).metadata, nullptr);
}

TEST(OpDefMetadataTest, MD5_FunctionMayIgnoreTrailingArguments) {
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Input("x: f32").Input("z: f32").Output("y: f32").Metadata<&OneArgument>()),
            "");
}

TEST(OpDefMetadataTest, MD5_FunctionMustNotTakeMoreArgumentsThanThereAre) {
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Input("x: f32").Output("y: f32").Metadata<&TwoArguments>()),
            "[test.op] metadata function: takes 2 arguments, the op has 1");
}

TEST(OpDefMetadataTest, MD5_VariadicArgumentsCountByTheirMinimum) {
  const OpDefBuilder op = OpDefBuilder("test.op").Input("x: f32").Input("xs: N * f32").Output("y: f32");
  EXPECT_EQ(Faults(OpDefBuilder(op).Attr("N: int >= 1").Metadata<&TwoArguments>()), "");
  EXPECT_EQ(Faults(OpDefBuilder(op).Attr("N: int >= 0").Metadata<&FirstAndRest>()), "");
  EXPECT_EQ(Faults(OpDefBuilder(op).Attr("N: int >= 0").Metadata<&TwoArguments>()),
            "[test.op] metadata function: takes 2 arguments, the op has at least 1");
}

TEST(OpDefMetadataTest, MD5_HostInputsMustBeDefinedAsSuch) {
  const OpDefBuilder op = OpDefBuilder("test.op").Input("x: f32").Output("y: f32").Metadata<&HostSecond>();
  EXPECT_EQ(Faults(OpDefBuilder(op).HostInput("axis: i32")), "");
  EXPECT_EQ(Faults(OpDefBuilder(op).Input("axis: i32")),
            "[test.op] metadata function: takes argument 1 as a HostInput, the op does not define it by HostInput");
}

TEST(OpDefMetadataTest, MD5_HostInputsBehindVariadicOnesHaveNoFixedPosition) {
  EXPECT_EQ(Faults(OpDefBuilder("test.op")
                       .Input("xs: N * f32")
                       .HostInput("axis: i32")
                       .Output("y: f32")
                       .Attr("N: int >= 1")
                       .Metadata<&HostSecond>()),
            "[test.op] metadata function: takes argument 1 as a HostInput, the op does not define it by HostInput");
}

TEST(OpDefMetadataTest, MD5_NumberOfResultsMustMatch) {
  const OpDefBuilder op = OpDefBuilder("test.op").Input("x: f32");
  EXPECT_EQ(Faults(OpDefBuilder(op).Metadata<&NoResult>()), "");
  EXPECT_EQ(Faults(OpDefBuilder(op).Output("y: f32").Output("z: f32").Metadata<&TwoResults>()), "");
  EXPECT_EQ(Faults(OpDefBuilder(op).Output("y: f32").Metadata<&NoResult>()),
            "[test.op] metadata function: gives 0 results, the op has 1");
  EXPECT_EQ(Faults(OpDefBuilder(op).Output("y: f32").Metadata<&TwoResults>()),
            "[test.op] metadata function: gives 2 results, the op has 1");
  EXPECT_EQ(Faults(OpDefBuilder(op).Metadata<&OneArgument>()),
            "[test.op] metadata function: gives 1 results, the op has 0");
}

TEST(OpDefMetadataTest, MD5_VaryingNumberOfResultsNeedsTheSpan) {
  const OpDefBuilder op = OpDefBuilder("test.op").Input("x: f32").Output("ys: N * f32").Attr("N: int >= 1");
  EXPECT_EQ(Faults(OpDefBuilder(op).Metadata<&AnyResults>()), "");
  EXPECT_EQ(Faults(OpDefBuilder(op).Metadata<&WholeFrame>()), "");
  EXPECT_EQ(Faults(OpDefBuilder(op).Metadata<&OneArgument>()),
            "[test.op] metadata function: gives 1 results, the op has a varying number");
}

TEST(OpDefMetadataTest, MD5_ErasedFunctionIsTakenAsItIs) {
  EXPECT_EQ(Faults(OpDefBuilder("test.op").Metadata<&TwoArguments>().Metadata(EraseMetadataFunction<&OneArgument>())),
            "");
}

}  // namespace
}  // namespace tandem
