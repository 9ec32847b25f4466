// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The test.* ops, which other tests and the examples rely on.

#include "op_test_fixture.h"

namespace tandem {
namespace {

class TestOpsTest : public OpTest {
 protected:
  template <typename T>
  TensorHandle Create(const std::vector<int64_t>& shape, const T& values) {
    return Run("test.create_dense_tensor", {}, Attrs("shape", shape, "values", values));
  }
};

TEST_F(TestOpsTest, CreateTakesItsDTypeFromTheValues) {
  EXPECT_EQ(Values<float>(Create({2, 1}, std::vector<float>{1, 2})), (std::vector<float>{1, 2}));
  EXPECT_EQ(MetadataOf(Create({2, 1}, std::vector<float>{1, 2})), "f32[2,1]");
  EXPECT_EQ(Values<double>(Create({1}, std::vector<double>{0.5})), std::vector<double>{0.5});
  EXPECT_EQ(Values<int32_t>(Create({}, std::vector<int32_t>{-1})), std::vector<int32_t>{-1});
  EXPECT_EQ(Values<int64_t>(Create({2}, std::vector<int64_t>{3, 4})), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(Values<bool>(Create({2}, std::array<bool, 2>{true, false})), (std::vector<bool>{true, false}));
  EXPECT_EQ(StringValues(Create({2}, std::vector<std::string_view>{"a", "bc"})), (std::vector<std::string>{"a", "bc"}));
}

TEST_F(TestOpsTest, CreateRepeatsASingleValue) {
  EXPECT_EQ(Values<float>(Create({2, 2}, std::vector<float>{5})), std::vector<float>(4, 5));
  EXPECT_EQ(Values<float>(Create({3}, 5.0f)), std::vector<float>(3, 5));
  EXPECT_EQ(StringValues(Create({2}, "x")), (std::vector<std::string>{"x", "x"}));
  EXPECT_TRUE(Create({3}, 5.0f).tensor().IsA(kDenseHost));
}

TEST_F(TestOpsTest, CreateEmpty) {
  EXPECT_EQ(MetadataOf(Create({0, 3}, std::vector<int32_t>{})), "i32[0,3]");
  EXPECT_EQ(MetadataOf(Create({0}, 1.0f)), "f32[0]");
}

TEST_F(TestOpsTest, WrongCreations) {  // MD-2, TH-8, ER-2
  EXPECT_EQ(ErrorOf(Create({2, 2}, std::vector<float>{1, 2, 3})),
            "[test.create_dense_tensor] attribute values must have 4 elements or 1 for shape [2,2], got 3");
  EXPECT_EQ(ErrorOf(Create({1}, std::vector<float>{})),
            "[test.create_dense_tensor] attribute values must have 1 element for shape [1], got 0");
  EXPECT_EQ(ErrorOf(Create({1}, DType::kF32)),
            "[test.create_dense_tensor] attribute values must be of bool, i32, i64, f32, f64 or string, got dtype");
  EXPECT_EQ(ErrorCodeOf(Create({-1}, 1.0f)), StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorCodeOf(Create({int64_t{1} << 40, int64_t{1} << 40}, 1.0f)), StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(Run("test.create_dense_tensor", {}, Attrs("shape", std::vector<int64_t>{1}))),
            "[test.create_dense_tensor] attribute values is required, expected values: any");
}

TEST_F(TestOpsTest, Add) {
  EXPECT_EQ(Values<float>(Run("test.add", {Dense<float>({2}, {1, 2}), Dense<float>({2}, {0.5f, -2})})),
            (std::vector<float>{1.5f, 0}));
  EXPECT_EQ(Values<int32_t>(Run("test.add", {Dense<int32_t>({1}, {INT32_MAX}), Dense<int32_t>({1}, {1})})),
            std::vector<int32_t>{INT32_MIN});
}

TEST_F(TestOpsTest, AddTakesScalarHostTensorsAsTheyAre) {
  const TensorHandle dense = Dense<float>({2}, {1, 2});
  EXPECT_EQ(Values<float>(Run("test.add", {dense, Spread<float>({2}, 10)})), (std::vector<float>{11, 12}));
  EXPECT_EQ(Values<float>(Run("test.add", {Spread<float>({2}, 10), dense})), (std::vector<float>{11, 12}));
  const TensorHandle both = Run("test.add", {Spread<float>({2}, 10), Spread<float>({2}, 1)});
  EXPECT_EQ(Values<float>(both), (std::vector<float>{11, 11}));
  EXPECT_TRUE(both.tensor().IsA(kScalarHost));
}

TEST_F(TestOpsTest, AddDenseOnlyGetsScalarHostTensorsExpanded) {  // DI-1
  const TensorHandle sum = Run("test.add.denseonly", {Spread<float>({2}, 10), Spread<float>({2}, 1)});
  EXPECT_EQ(Values<float>(sum), (std::vector<float>{11, 11}));
  EXPECT_TRUE(sum.tensor().IsA(kDenseHost));
}

TEST_F(TestOpsTest, WrongAdditions) {  // MD-2, EX-4, EX-5
  EXPECT_EQ(ErrorOf(Run("test.add", {Dense<float>({1}, {1}), Dense<float>({2}, {1, 2})})),
            "[test.add] shapes must be equal, got x: f32[1], y: f32[2]");
  EXPECT_EQ(ErrorOf(Run("test.add", {Scalar<double>(1), Scalar<double>(1)})),
            "[test.add] argument 0 (x) must be one of {i32, f32}, got f64[]");
}

TEST_F(TestOpsTest, OddCollectorLearnsItsShapeFromTheData) {  // MD-3
  const TensorHandle odd = Run("test.odd_collector", {Dense<int32_t>({5}, {1, 2, -3, 4, 5})});
  EXPECT_EQ(Values<int32_t>(odd), (std::vector<int32_t>{1, -3, 5}));
  EXPECT_EQ(MetadataOf(Run("test.odd_collector", {Dense<int32_t>({2}, {2, 4})})), "i32[0]");
}

TEST_F(TestOpsTest, OddCollectorFailsInItsKernel) {  // DI-2
  EXPECT_EQ(ErrorOf(Run("test.odd_collector", {Dense<int32_t>({1, 1}, {1})})),
            "[test.odd_collector] x must be a vector, got x: i32[1,1]");
}

TEST_F(TestOpsTest, ErrorTensor) {
  EXPECT_EQ(ErrorOf(Run("test.error.tensor", {Scalar<float>(1)})),
            "[test.error.tensor] this result is an error, as it is meant to be");
  EXPECT_EQ(diagnostics().size(), 1u);  // ER-4
}

TEST_F(TestOpsTest, ErrorTensorGivesValuesBesidesTheError) {  // DI-3
  const std::vector<TensorHandle> results =
      RunN("test.error.tensor", {Dense<float>({2}, {1, 2})}, 3, Attrs("num_values", 2));
  EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{1, 2}));
  EXPECT_EQ(Values<float>(results[1]), (std::vector<float>{1, 2}));
  EXPECT_EQ(ErrorOf(results[2]), "[test.error.tensor] this result is an error, as it is meant to be");
  EXPECT_EQ(TextOf(results[2].metadata()), "f32[2]");  // TH-4
}

TEST_F(TestOpsTest, AsyncNoopGivesItsArgumentLater) {  // DI-5
  const TensorHandle x = Dense<float>({2}, {1, 2});
  const TensorHandle y = Run("test.async.noop", {x});
  EXPECT_EQ(TextOf(y.metadata()), "f32[2]");
  EXPECT_EQ(Values<float>(Run("test.add", {y, x})), (std::vector<float>{2, 4}));
  EXPECT_EQ(Values<float>(y), (std::vector<float>{1, 2}));
  EXPECT_EQ(StringValues(Run("test.async.noop", {Strings({}, {"text"})})), std::vector<std::string>{"text"});
}

TEST_F(TestOpsTest, Print) {  // CH-3
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunN("test.print", {Dense<float>({2}, {1, 2.5f})}, 0, {}, &chain);
  RunN("test.print", {Run("test.async.noop", {Strings({}, {"text"})})}, 0, {}, &chain);
  const AsyncValue* value = chain.value();
  EXPECT_TRUE(host().Await({&value, 1}).ok());
  EXPECT_EQ(printed(), "f32[2] = [1, 2.5]\nstring[] = [\"text\"]\n");
}

TEST_F(TestOpsTest, EveryDefinitionHasAKernel) {
  for (const OpDef* def : runtime().registry().List()) {
#ifndef __EMSCRIPTEN__  // a module that a page loads has no texts
    EXPECT_FALSE(def->doc.empty()) << def->name;
#endif
    EXPECT_TRUE(cpu()->MakeOp(def->name).ok()) << def->name;
  }
}

}  // namespace
}  // namespace tandem
