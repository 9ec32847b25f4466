// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Small calls take a short path (EX-7): what it gives, values and errors, is what the general path gives, which calls
// take while they are traced.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/eager.h"
#include "tandem/ops.h"
#include "tandem/work_queue.h"
#include "test_runtime.h"

namespace tandem::eager {
namespace {

struct Call {
  std::string name;
  std::string op;
  std::function<std::vector<Tensor>(Runtime&)> args;
  std::function<void(OpAttrs&)> attrs = [](OpAttrs&) {};
  // The result: its elements as f64, or words of the error.
  std::vector<double> values = {};
  std::string error = "";
};

Tensor F32(Runtime& runtime, std::initializer_list<float> values, const TensorShape& shape) {
  return runtime.FromValues<float>(values, shape);
}
Tensor I32(Runtime& runtime, std::initializer_list<int32_t> values, const TensorShape& shape) {
  return runtime.FromValues<int32_t>(values, shape);
}
std::vector<Tensor> Sequence(Runtime& runtime, int length) {
  std::vector<Tensor> args;
  for (int i = 0; i < length; ++i) args.push_back(F32(runtime, {static_cast<float>(i)}, {1}));
  args.push_back(I32(runtime, {0}, {}));
  return args;
}
std::vector<Tensor> Matrices(Runtime& runtime) {
  return {F32(runtime, {1, 2, 3, 4, 5, 6}, {2, 3}), F32(runtime, {1, 0, 1, 0, 1, 0}, {2, 3})};
}
std::vector<Tensor> MatrixAndAxis(Runtime& runtime, int axis) {
  return {F32(runtime, {1, 2, 3, 4, 5, 6}, {2, 3}), I32(runtime, {axis}, {1})};
}

const Call kCalls[] = {
    {"Transposed", "tf.MatMul", Matrices, [](OpAttrs& attrs) { attrs.Set("transpose_b", true); }, {4, 2, 10, 5}},
    {"NotTransposed", "tf.MatMul", Matrices, [](OpAttrs&) {}, {}, "inner dimensions"},
    {"InferredGivenRight",
     "tf.MatMul",
     Matrices,
     [](OpAttrs& attrs) {
       attrs.Set("transpose_b", true);
       attrs.Set("T", DType::kF32);
     },
     {4, 2, 10, 5}},
    {"InferredGivenWrong",
     "tf.MatMul",
     Matrices,
     [](OpAttrs& attrs) {
       attrs.Set("transpose_b", true);
       attrs.Set("T", DType::kF64);
     },
     {},
     "attribute T must be f32 like the arguments, got f64"},
    {"UnknownAttribute",
     "tf.MatMul",
     Matrices,
     [](OpAttrs& attrs) { attrs.Set("transpose", true); },
     {},
     "attribute transpose is not defined"},
    {"WrongAttribute",
     "tf.MatMul",
     Matrices,
     [](OpAttrs& attrs) { attrs.Set("transpose_b", int64_t{1}); },
     {},
     "attribute transpose_b must be bool, got i64"},
    {"ConvertedAttribute",
     "tf.LeakyRelu",
     [](Runtime& runtime) {
       return std::vector<Tensor>{F32(runtime, {-2, 2}, {2})};
     },
     [](OpAttrs& attrs) { attrs.Set("alpha", int64_t{3}); },
     {-6, 2}},
    {"AxisOfRows", "tf.Sum", [](Runtime& runtime) { return MatrixAndAxis(runtime, 0); }, [](OpAttrs&) {}, {5, 7, 9}},
    {"AxisOfColumns",
     "tf.Sum",
     [](Runtime& runtime) { return MatrixAndAxis(runtime, -1); },
     [](OpAttrs& attrs) { attrs.Set("keep_dims", true); },
     {6, 15}},
    {"AxisTooLarge", "tf.Sum", [](Runtime& runtime) { return MatrixAndAxis(runtime, 2); }, [](OpAttrs&) {}, {}, "2"},
    {"AxisOfFloats",
     "tf.Sum",
     [](Runtime& runtime) {
       return std::vector<Tensor>{F32(runtime, {1, 2}, {2}), F32(runtime, {0}, {1})};
     },
     [](OpAttrs&) {},
     {},
     "argument 1 (reduction_indices) must be one of"},
    {"SequenceOfTwo", "tf.ConcatV2", [](Runtime& runtime) { return Sequence(runtime, 2); }, [](OpAttrs&) {}, {0, 1}},
    {"SequenceOfThree",
     "tf.ConcatV2",
     [](Runtime& runtime) { return Sequence(runtime, 3); },
     [](OpAttrs&) {},
     {0, 1, 2}},
    {"SequenceOfSix",
     "tf.ConcatV2",
     [](Runtime& runtime) { return Sequence(runtime, 6); },
     [](OpAttrs&) {},
     {0, 1, 2, 3, 4, 5}},
    {"SequenceTooShort",
     "tf.ConcatV2",
     [](Runtime& runtime) { return Sequence(runtime, 1); },
     [](OpAttrs&) {},
     {},
     "expected at least 2 arguments for values, got 1"},
    {"NoSequence",
     "tf.ConcatV2",
     [](Runtime& runtime) { return Sequence(runtime, 0); },
     [](OpAttrs&) {},
     {},
     "expected at least 2 arguments for values, got 0"},
    {"SequenceOfGivenLength",
     "tf.ConcatV2",
     [](Runtime& runtime) { return Sequence(runtime, 2); },
     [](OpAttrs& attrs) { attrs.Set("N", int64_t{2}); },
     {0, 1}},
    {"SequenceOfOtherLength",
     "tf.ConcatV2",
     [](Runtime& runtime) { return Sequence(runtime, 2); },
     [](OpAttrs& attrs) { attrs.Set("N", int64_t{3}); },
     {},
     "expected 3 arguments for values as attribute N says, got 2"},
    {"SequenceOfTwoTypes",
     "tf.ConcatV2",
     [](Runtime& runtime) {
       return std::vector<Tensor>{F32(runtime, {1}, {1}), I32(runtime, {1}, {1}), I32(runtime, {0}, {})};
     },
     [](OpAttrs&) {},
     {},
     "argument 1 (values) must be f32 like argument 0 (values)"},
    {"SequenceAlone",
     "tf.Pack",
     [](Runtime& runtime) { return std::vector<Tensor>{F32(runtime, {1}, {1})}; },
     [](OpAttrs& attrs) { attrs.Set("axis", int64_t{1}); },
     {1}},
    {"TypeByAttribute",
     "tf.Cast",
     [](Runtime& runtime) {
       return std::vector<Tensor>{F32(runtime, {1.75f, -2.5f}, {2})};
     },
     [](OpAttrs& attrs) { attrs.Set("DstT", DType::kI32); },
     {1, -2}},
    {"TypeMissing",
     "tf.Cast",
     [](Runtime& runtime) { return std::vector<Tensor>{F32(runtime, {1.75f}, {1})}; },
     [](OpAttrs&) {},
     {},
     "attribute DstT is required"},
};

// The elements as f64, or the message.
struct Outcome {
  std::vector<double> values;
  std::string shape;
  std::string error;
  bool operator==(const Outcome&) const = default;
};

class ShortPathTest : public testing::TestWithParam<Call> {
 protected:
  Outcome Run(bool is_traced, bool is_frozen) {
    const Call& call = GetParam();
    std::vector<Operand> operands;
    for (Tensor& arg : call.args(*runtime_)) operands.emplace_back(std::move(arg));
    std::vector<Operand*> pointers;
    for (Operand& operand : operands) pointers.push_back(&operand);
    OpAttrs attrs;
    call.attrs(attrs);
    if (is_traced) runtime_->host().StartTracing();
    Tensor result;
    runtime_->Execute(call.op, pointers, is_frozen ? attrs.Freeze() : OpAttrsRef(attrs), {&result, 1}, nullptr);
    if (is_traced) runtime_->host().StopTracing();
    Outcome outcome;
    const Status status = result.Await();
    if (!status.ok()) {
      outcome.error = status.message();
      return outcome;
    }
    outcome.shape = TextOf(result.handle().metadata());
    const Tensor wide = cast(result, DType::kF64);
    const auto values = wide.Values<double>();
    if (values.ok()) outcome.values.assign(values->begin(), values->end());
    return outcome;
  }

  std::unique_ptr<Runtime> runtime_ = std::move(*Runtime::Create({.work_queue = CreateSingleThreadedWorkQueue()}));
};

TEST_P(ShortPathTest, EX7_GivesWhatTheGeneralPathGives) {
  const Call& call = GetParam();
  const Outcome outcome = Run(/*is_traced=*/false, /*is_frozen=*/false);
  EXPECT_EQ(outcome.values, call.values);
  EXPECT_NE(outcome.error.find(call.error), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.empty(), call.error.empty()) << outcome.error;
  for (int i = 0; i < 2; ++i) {  // the second finds frozen attributes that were checked before
    EXPECT_EQ(Run(/*is_traced=*/true, /*is_frozen=*/true), outcome);
    EXPECT_EQ(Run(/*is_traced=*/false, /*is_frozen=*/true), outcome);
    EXPECT_EQ(Run(/*is_traced=*/true, /*is_frozen=*/false), outcome);
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, ShortPathTest, testing::ValuesIn(kCalls),
                         [](const testing::TestParamInfo<Call>& info) { return info.param.name; });

// Numbers of arguments become tensors of the dtype that the call wants, or an error that says what does not fit.
TEST(OperandTest, TY1_NumbersOfEveryKindAndDType) {
  const auto runtime = std::move(*Runtime::Create({.work_queue = CreateSingleThreadedWorkQueue()}));
  const Tensor x = runtime->FromValues<float>({1, 2}, {2});
  const Tensor i = runtime->FromValues<int32_t>({1, 2}, {2});
  const auto f32 = [](const Tensor& tensor) {
    const auto values = tensor.Values<float>();
    return values.ok() ? std::vector<float>(values->begin(), values->end()) : std::vector<float>();
  };
  EXPECT_EQ(f32(add(x, 1)), (std::vector<float>{2, 3}));
  EXPECT_EQ(f32(add(x, 0.1)), (std::vector<float>{1.1f, 2.1f}));
  EXPECT_EQ(f32(add(x, {10, 20})), (std::vector<float>{11, 22}));
  EXPECT_EQ(f32(mul(x, 16777217)), (std::vector<float>{16777216.0f, 33554432.0f}));  // as f32 rounds it
  EXPECT_EQ(f32(reshape(x, {1, 1, 1, 1, 1, 1, 2, 1})), (std::vector<float>{1, 2}));  // a list beyond those without heap
  EXPECT_NE(add(i, 0.5).Await().message().find("expected an integer for i32, got 0.5"), std::string_view::npos);
  EXPECT_NE(add(i, int64_t{1} << 31).Await().message().find("expected -2147483648 to 2147483647 for i32"),
            std::string_view::npos);
  EXPECT_NE(add(x, 1e39).Await().message().find("for f32, got 1e+39"), std::string_view::npos);
}

}  // namespace
}  // namespace tandem::eager
