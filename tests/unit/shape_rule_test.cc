// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shapes and sizes by rules: what they compute, and what is said of wrong ones.

#include "tandem/shape_rule.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "test_runtime.h"

namespace tandem {
namespace {

class ShapeRuleTest : public testing::Test {
 protected:
  ShapeRuleTest() : def_(*builder_.Build()) {
    attrs_.Set("n", int64_t{3});
    attrs_.Set("flag", true);
  }

  RuleFrame Frame() { return {args_, frozen_, {}}; }
  std::string Size(std::string_view text) {
    const auto rule = SizeRule::Parse(text, def_, /*sees_results=*/false);
    if (!rule.ok()) return std::string(rule.status().message());
    const auto value = rule->Evaluate(Frame());
    return value.ok() ? TextOf(*value) : std::string(value.status().message());
  }
  std::string Shape(std::string_view text) {
    const auto rule = ShapeRule::Parse(text, def_);
    if (!rule.ok()) return std::string(rule.status().message());
    const auto value = rule->Evaluate(Frame());
    return value.ok() ? TextOf(*value) : std::string(value.status().message());
  }

  const OpDefBuilder builder_ = OpDefBuilder("t.Op")
                                    .Input("x: float")
                                    .Input("y: float")
                                    .Input("zs: m * float")
                                    .Output("out: float")
                                    .Attr("m: int >= 0")
                                    .Attr("n: int = 1")
                                    .Attr("flag: bool = false");
  const OpDef def_;
  OpAttrs attrs_;
  const OpAttrsRef frozen_ = attrs_;
  const TensorMetadata x_{DType::kF32, {4, 5, 7}};
  const TensorMetadata y_{DType::kF32, {5, 1}};
  const std::array<const TensorMetadata*, 2> args_ = {&x_, &y_};
};

TEST_F(ShapeRuleTest, DL3_SizesAreComputed) {
  EXPECT_EQ(Size("12"), "12");
  EXPECT_EQ(Size("x[0] + x[-1] * 2"), "18");
  EXPECT_EQ(Size("(x[2] - n) / 2 + 1"), "3");
  EXPECT_EQ(Size(" size( x ) - rank(y)*10 "), "120");
  EXPECT_EQ(Size("(1 - x[0]) / 2"), "-2");  // rounds down
  EXPECT_EQ(Size("8 - 3 - 2"), "3");
}

TEST_F(ShapeRuleTest, DL3_ShapesAreComputed) {
  EXPECT_EQ(Shape("x"), "[4,5,7]");
  EXPECT_EQ(Shape("[]"), "[]");
  EXPECT_EQ(Shape("[x[1], 2 * n, 1]"), "[5,6,1]");
  EXPECT_EQ(Shape("broadcast(x, y)"), "[4,5,7]");
}

TEST_F(ShapeRuleTest, DL3_WrongRulesSayWhatIsWrong) {
  EXPECT_EQ(Size(""), "'': expected a number, an attribute or a dimension, got its end");
  EXPECT_EQ(Size("x[0"), "'x[0': expected ], got its end");
  EXPECT_EQ(Size("1 +"), "'1 +': expected a number, an attribute or a dimension, got its end");
  EXPECT_EQ(Size("1 2"), "'1 2': expected an operator, got '2'");
  EXPECT_EQ(Size("q[0]"), "'q[0]': expected the name of an input that is one tensor, got 'q'");
  EXPECT_EQ(Size("zs[0]"), "'zs[0]': expected the name of an input that is one tensor, got 'zs'");
  EXPECT_EQ(Size("flag"), "'flag': expected the name of an int attribute, got 'flag'");
  EXPECT_EQ(Size("x"), "'x': expected the name of an int attribute, got 'x'");
  EXPECT_EQ(Size("99999999999999999999"), "'99999999999999999999': expected a number of 64 bits, got its end");
  EXPECT_EQ(Size(std::string(20, '(')), "'((((((((((((((((((((': expected fewer parentheses, got '(((('");
  EXPECT_EQ(Shape("[1, ]"), "'[1, ]': expected a number, an attribute or a dimension, got ']'");
  EXPECT_EQ(Shape("[1 2]"), "'[1 2]': expected , or ], got '2]'");
  EXPECT_EQ(Shape("q"), "'q': expected the name of an input that is one tensor, [sizes] or broadcast(inputs), got 'q'");
  EXPECT_EQ(Shape("broadcast(x"), "'broadcast(x': expected ), got ''");
  EXPECT_EQ(Shape("[1,1,1,1,1,1,1,1,1]"), "'[1,1,1,1,1,1,1,1,1]': expected at most 8 dimensions, got 9");
}

TEST_F(ShapeRuleTest, DL3_WrongCallsSayWhatIsWrong) {
  EXPECT_EQ(Size("y[2]"), "y must have a dimension 2, got y: f32[5,1]");
  EXPECT_EQ(Size("y[-3]"), "y must have a dimension -3, got y: f32[5,1]");
  EXPECT_EQ(Size("x[0] / (n - 3)"), "'x[0] / (n - 3)' divides 4 by 0");
  EXPECT_EQ(Size("4611686018427387904 * 2"), "'4611686018427387904 * 2' must be a number of 64 bits, got a larger one");
  EXPECT_EQ(Size("(0 - 9223372036854775807 - 1) / (2 - n)"),
            "'(0 - 9223372036854775807 - 1) / (2 - n)' must be a number of 64 bits, got a larger one");
}

// A definition's metadata function.
TEST_F(ShapeRuleTest, DL3_AnOpHasShapesByRules) {
  OpDefBuilder builder("t.Rows");
  builder.Input("x: T").Input("y: T").Output("a: T").Output("b: int32").Attr("T: {float, int32}");
  EXPECT_TRUE(SetShapes(builder, std::vector<std::string>{"broadcast(x, y)", "[x[0]]"}).ok());
  const StatusOr<OpDef> def = builder.Build();
  ASSERT_TRUE(def.ok());
  TensorMetadata results[2];
  results[0].dtype = DType::kF32;
  results[1].dtype = DType::kI32;
  const auto run = [&] { return def->metadata({args_, {}, frozen_, results, def->metadata_closure.get()}).ToString(); };
  EXPECT_EQ(run(), "Ok");
  EXPECT_EQ(TextOf(results[0], results[1]), "f32[4,5,7]i32[4]");
}

TEST_F(ShapeRuleTest, DL3_WrongShapesNameTheOutput) {
  const auto set = [](const char* output, std::vector<std::string> rules) {
    OpDefBuilder builder("t.Rows");
    builder.Input("x: float").Output(output);
    return std::string(SetShapes(builder, rules).message());
  };
  EXPECT_EQ(set("y: float", {}), "op t.Rows: expected a shape for each of 1 outputs, got 0");
  EXPECT_EQ(
      set("y: float", {"z"}),
      "op t.Rows: shape of y: 'z': expected the name of an input that is one tensor, [sizes] or broadcast(inputs), "
      "got 'z'");
  EXPECT_EQ(set("y: any", {"x"}), "op t.Rows: shape of y: expected an output of one dtype that is one tensor");
  EXPECT_NE(set("y: nothing", {"x"}), "");
}

}  // namespace
}  // namespace tandem
