// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tables of substitutions as JSON: what they may say, and what is said of wrong ones (OH-4a). Nothing of a wrong table
// is there afterwards.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "op_layer_test_fixture.h"
#include "tandem/substitution_op_handler.h"

namespace tandem {
namespace {

class SubstitutionTableTest : public OpLayerTest {
 protected:
  SubstitutionTableTest() {
    const auto kinds = [](const char* name) {
      return OpDefBuilder(name)
          .Input("x: float")
          .Output("y: float")
          .Attr("flag: bool = false")
          .Attr("count: int = 0")
          .Attr("scale: float = 1")
          .Attr("type: type = DT_FLOAT")
          .Attr("mode: {'a', 'b'} = 'a'")
          .Attr("size: shape = [1]")
          .Attr("flags: list(bool) = []")
          .Attr("texts: list(string) = []")
          .Metadata<&UnchangedMetadata>();
    };
    const Status defined = runtime().registry().RegisterAll(
        {kinds("table.A"), kinds("table.B"),
         OpDefBuilder("table.Needs").Input("x: float").Output("y: float").Attr("must: int"),
         OpDefBuilder("table.Tensor").Input("x: float").Output("y: float").Attr("value: tensor")});
    EXPECT_TRUE(defined.ok()) << defined.ToString();
    AddKernel(*cpu(), "table.A", MakeKernel<&layer_test::FailKernel>(), {DType::kI32, DType::kF32});
    AddKernel(*cpu(), "table.B", MakeKernel<&layer_test::IncrementKernel>(), {DType::kI32, DType::kF32});
  }

  // The error of reading or adding a table.
  std::string ErrorOfTable(std::string_view text) {
    StatusOr<std::vector<Substitution>> rules = ParseSubstitutions(runtime(), text, "t.json");
    if (!rules.ok()) return std::string(rules.status().message());
    const StatusOr<uint64_t> added = rules_->Add(std::move(*rules));
    return std::string(added.status().message());
  }
  static std::string Rule(std::string_view rule) { return "{\"substitutions\": [{" + std::string(rule) + "}]}"; }
  std::string ErrorOfRule(std::string_view rule) { return ErrorOfTable(Rule(rule)); }
  bool IsSubstituted(const OpAttrsRef& attrs) {
    const std::unique_ptr<OpHandler> layer = CreateSubstitutionOpHandler("layer", runtime(), *cpu(), rules_);
    const std::string error = ErrorOf(RunOn(layer.get(), "table.A", {Scalar<float>(1)}, attrs));
    EXPECT_TRUE(error.empty() || error == "[table.A] never works") << error;
    return error.empty();
  }

  const RcRef<Substitutions> rules_ = MakeRef<Substitutions>(runtime());
};

TEST_F(SubstitutionTableTest, OH4a_ConditionsOfEachKind) {
  ASSERT_EQ(ErrorOfRule(R"("op": "table.A", "inputs": ["f32[]"],
      "attrs": {"flag": true, "count": -3, "scale": 1.5e-1, "type": "i32", "mode": "b", "size": [2, 3],
                "flags": [true, false], "texts": ["x", "\u00e9\n"]},
      "use": {"op": "table.B"})"),
            "");
  const auto attrs = [](bool flag, int64_t count, float scale, std::string_view last) {
    OpAttrs attrs;
    attrs.Set("flag", flag);
    attrs.Set("count", count);
    attrs.Set("scale", scale);
    attrs.Set("type", DType::kI32);
    attrs.Set("mode", "b");
    attrs.Set("size", TensorShape{2, 3});
    const bool flags[] = {true, false};
    attrs.SetArray("flags", std::span<const bool>(flags));
    const std::string_view texts[] = {"x", last};
    attrs.SetArray("texts", std::span<const std::string_view>(texts));
    return attrs.Freeze();
  };
  EXPECT_TRUE(IsSubstituted(attrs(true, -3, 0.15f, "\u00e9\n")));
  EXPECT_FALSE(IsSubstituted(attrs(false, -3, 0.15f, "\u00e9\n")));
  EXPECT_FALSE(IsSubstituted(attrs(true, 3, 0.15f, "\u00e9\n")));
  EXPECT_FALSE(IsSubstituted(attrs(true, -3, 0.25f, "\u00e9\n")));
  EXPECT_FALSE(IsSubstituted(attrs(true, -3, 0.15f, "\u00e9")));
  EXPECT_FALSE(IsSubstituted({}));
}

TEST_F(SubstitutionTableTest, OH4a_PatternsOfTensors) {
  for (const std::string_view text : {"f32[2,?]", "f32[]", "f32", "*[?,?]", "*", "bool[0]", "*[1,2,3,4,5,6,7,8]"}) {
    const StatusOr<TensorPattern> pattern = TensorPattern::Parse(text);
    ASSERT_TRUE(pattern.ok()) << text;
    EXPECT_EQ(TextOf(*pattern), text);
  }
  for (const std::string_view text : {"", "f33", "f32[", "f32]", "f32[,]", "f32[2,]", "f32[,2]", "f32[2 ,3]", "f32[-1]",
                                      "f32[2]x", "f32[99999999999999999999]", "*[1,2,3,4,5,6,7,8,9]", "?[1]", "[1]"}) {
    EXPECT_EQ(TensorPattern::Parse(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST_F(SubstitutionTableTest, OH4a_WrongTextsTellTheirPlace) {
  const struct {
    std::string_view text;
    std::string_view error;
  } kCases[] = {
      {"", "t.json:1:1: expected an object, got the end of the text"},
      {"{\n  \"substitutions\" []}", "t.json:2:19: expected ':', got an array"},
      {"{}", "t.json:1:1: expected the key \"substitutions\""},
      {"{\"substitution\": []}", "t.json:1:2: key \"substitution\" is not known, did you mean \"substitutions\""},
      {"{\"substitutions\": []} x", "t.json:1:23: expected the end of the text, got x"},
      {"{\"substitutions\": [\n{\"op\": \"tf.Neg\",\n \"use\": {\"op\": \"tf.Abs\"}\n",
       "t.json:4:1: expected ',' or '}', got the end of the text"},
      {"{\"substitutions\": [{\"op\": \"tf\\u000a.Neg\",\n\"use\": 3}]}", "t.json:1:27: op tf\n.Neg is not defined"},
  };
  for (const auto& [text, error] : kCases) {
    const std::string given = ErrorOfTable(text);
    EXPECT_EQ(given.substr(0, error.size()), error) << text;
  }
}

TEST_F(SubstitutionTableTest, OH4a_WrongRulesTellTheirPlaceAndWhy) {
  const struct {
    std::string_view rule;
    std::string_view error;
  } kCases[] = {
      {R"("op": "tf.Neh", "use": {"op": "tf.Abs"})", "t.json:1:27: op tf.Neh is not defined, did you mean tf.Neg"},
      {R"("op": "tf.Neg", "use": {"op": "tf.Abz"})", "t.json:1:51: op tf.Abz is not defined, did you mean tf.Abs"},
      {R"("op": "tf.Neg", "us": {})", "t.json:1:37: key \"us\" is not known, did you mean \"use\""},
      {R"("op": "tf.Neg", "op": "tf.Neg")", "t.json:1:37: key \"op\" is there twice"},
      {R"("use": {"op": "tf.Abs"})", "t.json:1:20: expected \"op\" as the first key of a rule"},
      {R"("op": "tf.Neg")", "t.json:1:20: expected the key \"use\" in a rule"},
      {R"("op": "tf.Neg", "use": {})",
       "t.json:1:44: expected either \"op\", or \"library\" and \"function\", in what is used"},
      {R"("op": "tf.Neg", "use": {"library": "x.so"})",
       "t.json:1:44: expected either \"op\", or \"library\" and \"function\", in what is used"},
      {R"("op": "tf.Neg", "use": {"library": "x.so", "function": "f"})",
       "t.json:1:44: functions of libraries cannot be loaded here"},
      {R"("op": "tf.Neg", "inputs": ["f32[2"], "use": {"op": "tf.Abs"})",
       "t.json:1:48: expected a dtype or *, and the sizes of dimensions or ? in brackets, such as f32[2,?], got "
       "\"f32[2\""},
      {R"("op": "table.A", "attrs": {"flga": true}, "use": {"op": "table.B"})",
       "t.json:1:48: key \"flga\" is not known, did you mean \"flag\""},
      {R"("op": "table.A", "attrs": {"flag": 1}, "use": {"op": "table.B"})",
       "t.json:1:56: expected true or false, got the number 1"},
      {R"("op": "table.A", "attrs": {"count": 1.5}, "use": {"op": "table.B"})",
       "t.json:1:57: expected an integer, got 1.5"},
      {R"("op": "table.A", "attrs": {"scale": 1e99}, "use": {"op": "table.B"})",
       "t.json:1:57: expected a number that f32 can hold, got 1e99"},
      {R"("op": "table.A", "attrs": {"type": "f99"}, "use": {"op": "table.B"})",
       "t.json:1:56: expected the name of a dtype, got f99"},
      {R"("op": "table.A", "attrs": {"flag": true, "flag": true}, "use": {"op": "table.B"})",
       "t.json:1:62: key \"flag\" is there twice"},
      {R"("op": "tf.Neg", "use": {"op": "table.Tensor", "attrs": {"value": 1}})",
       "t.json:1:86: expected no attribute of this kind in a table, got the number 1"},
      // What no call can meet.
      {R"("op": "tf.Neg", "inputs": ["f32", "f32"], "use": {"op": "tf.Abs"})",
       "t.json:1:20: expected conditions of at most 1 inputs of tf.Neg, got 2"},
      {R"("op": "tf.Neg", "inputs": ["string"], "use": {"op": "tf.Abs"})",
       "t.json:1:20: the condition of input 0 (x) of tf.Neg can never hold: expected"},
      {R"("op": "tf.MatMul", "inputs": ["f32", "f64"], "use": {"op": "tf.AddV2"})",
       "t.json:1:20: the condition of input 1 (b) of tf.MatMul can never hold: expected {f32}, got f64"},
      {R"("op": "tf.MatMul", "inputs": ["f32[2,3]", "f32[4,5]"], "use": {"op": "tf.AddV2"})",
       "t.json:1:20: the condition of the inputs can never hold: inner dimensions must agree"},
      {R"("op": "table.A", "attrs": {"mode": "c"}, "use": {"op": "table.B"})",
       "t.json:1:20: the condition of an attribute can never hold: attribute mode must be one of 'a', 'b', got 'c'"},
      {R"("op": "tf.Neg", "attrs": {"T": "f32"}, "use": {"op": "tf.Abs"})",
       "t.json:1:20: attribute T of tf.Neg follows from the inputs, expected a condition of these"},
      // What replaces it.
      {R"("op": "tf.Neg", "use": {"op": "tf.AddV2"})",
       "t.json:1:20: expected an op of 1 inputs in place of tf.Neg, got tf.AddV2, which has 2"},
      {R"("op": "layer.Increment", "use": {"op": "layer.Mixed"})",
       "t.json:1:20: expected an op of 1 outputs in place of layer.Increment, got layer.Mixed, which has 2"},
      {R"("op": "tf.Neg", "use": {"op": "layer.Effect"})",
       "t.json:1:20: expected an op without side effects in place of tf.Neg, got layer.Effect"},
      {R"("op": "layer.Increment", "use": {"op": "table.Needs"})",
       "t.json:1:20: attribute must of table.Needs, which has no default, must be given"},
      {R"("op": "table.Needs", "use": {"op": "layer.Increment"})",
       "t.json:1:20: attribute must of table.Needs has no default, expected a condition of it, or that the "
       "replacement gets it"},
      {R"("op": "table.A", "use": {"op": "table.B", "attrs": {"flag": {"from": "count"}}})",
       "t.json:1:20: attribute flag of table.B (flag: bool = false) cannot be count of table.A (count: int = 0)"},
      {R"("op": "table.A", "use": {"op": "table.B", "attrs": {"flag": {"from": "flog"}}})",
       "t.json:1:20: expected an attribute of table.A that does not follow from its inputs, got flog"},
      {R"("op": "tf.Neg", "use": {"op": "tf.Neg"})",
       "t.json:1:20: expected ops that do not replace each other, got tf.Neg by tf.Neg"},
  };
  for (const auto& [rule, error] : kCases) {
    const std::string given = ErrorOfRule(rule);
    EXPECT_EQ(given.substr(0, error.size()), error) << rule << "\n" << given;
  }
  EXPECT_FALSE(IsSubstituted({}));
}

TEST_F(SubstitutionTableTest, OH4a_RulesOfOneTableAreCheckedTogether) {
  EXPECT_EQ(ErrorOfTable("{\"substitutions\": [\n"
                         "{\"op\": \"tf.Neg\", \"use\": {\"op\": \"tf.Abs\"}},\n"
                         "{\"op\": \"tf.Abs\", \"use\": {\"op\": \"tf.Sqrt\"}},\n"
                         "{\"op\": \"tf.Sqrt\", \"use\": {\"op\": \"tf.Neg\"}}]}"),
            "t.json:2:1: expected ops that do not replace each other, got tf.Neg by tf.Abs by tf.Sqrt by tf.Neg");
  EXPECT_EQ(ErrorOfTable("{\"substitutions\": [\n"
                         "{\"op\": \"tf.Neg\", \"inputs\": [\"f32[?]\"], \"use\": {\"op\": \"tf.Abs\"}},\n"
                         "{\"op\": \"tf.Neg\", \"inputs\": [\"f32[2]\"], \"use\": {\"op\": \"tf.Square\"}}]}"),
            "t.json:3:1: this rule of tf.Neg can never hold: an earlier one is for all of its calls, t.json:2:1");
  // Nothing of these is there.
  EXPECT_EQ(ErrorOfRule(R"("op": "tf.Abs", "use": {"op": "tf.Neg"})"), "");
  EXPECT_EQ(ErrorOfRule(R"("op": "tf.Neg", "use": {"op": "tf.Square"})"), "");
  EXPECT_EQ(ErrorOfRule(R"("op": "tf.Square", "use": {"op": "tf.Abs"})"),
            "t.json:1:20: expected ops that do not replace each other, got tf.Square by tf.Abs by tf.Neg by tf.Square");
}

TEST_F(SubstitutionTableTest, OH4a_EveryCutOfATableIsAnError) {
  const std::string text = Rule(
      R"("op": "table.A", "inputs": ["*[?]"], "attrs": {"count": 12, "flags": [true], "size": [1]},
         "use": {"op": "table.B", "attrs": {"mode": "b", "flag": {"from": "flag"}}})");
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(ErrorOfTable(text.substr(0, size)).substr(0, 7), "t.json:") << size;
  }
  EXPECT_EQ(ErrorOfTable(text), "");
}

TEST_F(SubstitutionTableTest, OH4a_FunctionsOfLibrariesComeByTheLoader) {
  const SubstituteLoader load = [this](std::string_view library,
                                       std::string_view function) -> StatusOr<SubstituteKernel> {
    if (library != "lib.so") return MakeError(StatusCode::kNotFound, "expected lib.so, got ", library);
    return SubstituteKernel{MakeKernel<&layer_test::IncrementKernel>(), cpu(), std::string(function) + " of lib.so"};
  };
  const std::string wrong = Rule(R"("op": "table.A", "use": {"library": "no.so", "function": "f"})");
  EXPECT_EQ(ParseSubstitutions(runtime(), wrong, "t.json", load).status().message(),
            "t.json:1:45: expected lib.so, got no.so");
  const std::string right = Rule(R"("op": "table.A", "use": {"library": "lib.so", "function": "f"})");
  ASSERT_TRUE(rules_->Add(std::move(ParseSubstitutions(runtime(), right, "t.json", load)).value()).ok());
  EXPECT_TRUE(IsSubstituted({}));
}

}  // namespace
}  // namespace tandem
