// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What definitions say about the kinds of ops is what the ops do: of element-wise ops, each element of the result
// depends on its place alone; ops of layout only move elements.

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/element_expressions.h"

namespace tandem {
namespace {

class OpKindsTest : public OpTest {
 protected:
  std::set<std::string> NamesOf(OpKind kind) {
    std::set<std::string> names;
    for (const OpDef* def : runtime().registry().List()) {
      if (def->kind == kind) names.emplace(def->name);
    }
    return names;
  }
  // 1, 2, 3, ...: every element is another.
  TensorHandle Numbered(const TensorShape& shape, float first = 1) {
    std::vector<float> values(static_cast<size_t>(shape.num_elements()));
    std::iota(values.begin(), values.end(), first);
    return Dense<float>(shape, values);
  }
  TensorHandle Indices(std::initializer_list<int32_t> values) {
    return Dense<int32_t>({static_cast<int64_t>(values.size())}, values);
  }

  // A call of each op of layout, whose arguments of f32 have different elements.
  struct Call {
    std::vector<TensorHandle> args;
    OpAttrsRef attrs;
    int num_results = 1;
  };
  std::map<std::string, Call> LayoutCalls() {
    std::map<std::string, Call> calls;
    const auto add = [&calls](const char* op, OpAttrsRef attrs, int num_results, auto... args) {
      Call& call = calls[op];
      (call.args.push_back(std::move(args)), ...);
      call.attrs = std::move(attrs);
      call.num_results = num_results;
    };
    const TensorShape matrix = {4, 6};
    add("tf.Reshape", {}, 1, Numbered(matrix), Indices({8, 3}));
    add("tf.ExpandDims", {}, 1, Numbered(matrix), Scalar<int32_t>(1));
    add("tf.Squeeze", {}, 1, Numbered({4, 1, 6}));
    add("tf.Identity", {}, 1, Numbered(matrix));
    add("tf.Transpose", {}, 1, Numbered(matrix), Indices({1, 0}));
    add("tf.Tile", {}, 1, Numbered(matrix), Indices({2, 3}));
    add("tf.BroadcastTo", {}, 1, Numbered({4, 1}), Indices({2, 4, 3}));
    add("tf.SpaceToDepth", Attrs("block_size", 2), 1, Numbered({1, 4, 4, 3}));
    add("tf.DepthToSpace", Attrs("block_size", 2), 1, Numbered({1, 2, 2, 8}));
    add("tf.MirrorPad", Attrs("mode", "REFLECT"), 1, Numbered(matrix), Dense<int32_t>({2, 2}, {1, 1, 2, 0}));
    add("tf.ConcatV2", {}, 1, Numbered({2, 3}), Numbered({4, 3}, 100), Scalar<int32_t>(0));
    add("tf.Split", Attrs("num_split", 3), 3, Scalar<int32_t>(1), Numbered(matrix));
    add("tf.SplitV", Attrs("num_split", 2), 2, Numbered(matrix), Indices({1, 5}), Scalar<int32_t>(1));
    add("tf.Pack", {}, 1, Numbered(matrix), Numbered(matrix, 100));
    add("tf.Unpack", Attrs("num", 4), 4, Numbered(matrix));
    add("tf.Slice", {}, 1, Numbered(matrix), Indices({1, 2}), Indices({2, 3}));
    add("tf.StridedSlice", {}, 1, Numbered(matrix), Indices({3, 0}), Indices({0, 6}), Indices({-1, 2}));
    add("tf.ReverseV2", {}, 1, Numbered(matrix), Indices({1}));
    add("tf.MatrixDiagPart", {}, 1, Numbered(matrix));
    return calls;
  }
};

TEST_F(OpKindsTest, LayoutMovesElementsAndAliasesKeepTheirOrder) {
  std::map<std::string, Call> calls = LayoutCalls();
  std::set<std::string> called;
  for (auto& [op, call] : calls) {
    called.insert(op);
    std::set<float> given;
    std::vector<std::vector<float>> inputs;
    for (const TensorHandle& arg : call.args) {
      if (arg.metadata().dtype != DType::kF32) continue;
      inputs.push_back(Values<float>(arg));
      given.insert(inputs.back().begin(), inputs.back().end());
    }
    const std::vector<TensorHandle> results = RunN(op, std::move(call.args), call.num_results, call.attrs);
    for (const TensorHandle& result : results) {
      const std::vector<float> values = Values<float>(result);
      EXPECT_FALSE(values.empty()) << op;
      for (const float value : values) EXPECT_TRUE(given.contains(value)) << op << " gave " << value;
    }
    const OpDef& def = *runtime().registry().Find(op);
    EXPECT_EQ(def.kind, OpKind::kLayout) << op;
    const bool keeps_order = results.size() == 1 && inputs.size() == 1 && Values<float>(results[0]) == inputs[0];
    EXPECT_EQ(def.aliased_input, keeps_order ? 0 : -1) << op;
  }
  EXPECT_EQ(NamesOf(OpKind::kLayout), called);
}

TEST_F(OpKindsTest, ReductionsAreThoseOfTheFamily) {
  EXPECT_EQ(NamesOf(OpKind::kReduction), (std::set<std::string>{"tf.All", "tf.Any", "tf.ArgMax", "tf.ArgMin", "tf.Max",
                                                                "tf.Mean", "tf.Min", "tf.Prod", "tf.Sum"}));
}

// Another element at one place changes the result there, at most.
TEST_F(OpKindsTest, ElementwiseResultsDependOnTheirPlace) {
  int num_called = 0;
  for (const OpDef* def : runtime().registry().List()) {
    if (def->kind != OpKind::kElementwise) continue;
    EXPECT_EQ(def->outputs.size(), 1u) << def->name;
    // Of f32 where the op has it, else of i32; without a type attribute of bool.
    const DTypeSet allowed = def->kernel_type_attr < 0 ? DTypeSet() : def->attrs[def->kernel_type_attr].allowed_dtypes;
    OpAttrsRef attrs = def->FindAttr("DstT") >= 0 ? Attrs("DstT", DType::kI32) : OpAttrsRef();
    const auto run = [&](int changed) {
      std::vector<TensorHandle> args;
      for (const ArgDef& input : def->inputs) {
        const bool is_bool = input.dtype == DType::kBool || def->kernel_type_attr < 0;
        std::vector<float> values = {0.25f, 0.5f, 0.75f, 1.25f, 1.5f, 2.75f};
        if (changed >= 0) values[static_cast<size_t>(changed)] = 0.125f;
        if (is_bool) {
          bool bits[6];
          for (size_t i = 0; i < 6; ++i) bits[i] = values[i] > 0.3f;
          args.push_back(Dense<bool>({2, 3}, std::span<const bool>(bits)));
        } else if (allowed.Contains(DType::kF32)) {
          args.push_back(Dense<float>({2, 3}, values));
        } else {
          std::vector<int32_t> numbers;
          for (const float value : values) numbers.push_back(static_cast<int32_t>(value * 8));
          args.push_back(Dense<int32_t>({2, 3}, numbers));
        }
      }
      return Run(def->name, std::move(args), attrs);
    };
    const TensorHandle before = run(-1);
    EXPECT_EQ(TextOf(before.metadata().shape), "[2,3]") << def->name;
    const std::vector<double> values = Doubles(before);
    for (int place = 0; place < 6; ++place) {
      const std::vector<double> after = Doubles(run(place));
      ASSERT_EQ(after.size(), 6u) << def->name;
      for (size_t i = 0; i < 6; ++i) {
        if (static_cast<int>(i) == place) continue;
        EXPECT_TRUE(after[i] == values[i] || (after[i] != after[i] && values[i] != values[i])) << def->name;
      }
    }
    ++num_called;
  }
  EXPECT_GE(num_called, 70);
}

TEST_F(OpKindsTest, ExpressionsAreThoseOfTheDefinitions) {
  size_t num_expressions = 0;
  for (const OpDef* def : runtime().registry().List()) {
    DTypeSet seen;
    for (const ElementExpression& expression : def->expressions) {
      EXPECT_EQ(def->kind, OpKind::kElementwise) << def->name;
      EXPECT_EQ(expression.op, def->name);
      EXPECT_EQ(expression.num_operands, def->inputs.size()) << def->name;
      EXPECT_TRUE((seen & expression.dtypes).IsEmpty()) << def->name << " has two for a dtype";
      seen = seen | expression.dtypes;
      if (def->kernel_type_attr >= 0) {
        const DTypeSet allowed = def->attrs[def->kernel_type_attr].allowed_dtypes;
        EXPECT_FALSE((allowed & expression.dtypes).IsEmpty()) << def->name;
      } else {
        EXPECT_EQ(expression.dtypes, DTypeSet{DType::kBool}) << def->name;
      }
      if (expression.alpha != nullptr) {
        EXPECT_EQ(def->attrs[def->FindAttr(expression.alpha)].kind, AttrKind::kFloat);
      }
      if (expression.flag != nullptr) {
        EXPECT_EQ(def->attrs[def->FindAttr(expression.flag)].kind, AttrKind::kBool);
      }
      EXPECT_EQ(expression.flag == nullptr, expression.text_if_flag == nullptr) << def->name;
    }
    num_expressions += def->expressions.size();
  }
  // None is of an op that does not exist, or apart from the others of its op.
  EXPECT_EQ(num_expressions, ElementExpressions().size());
}

}  // namespace
}  // namespace tandem
