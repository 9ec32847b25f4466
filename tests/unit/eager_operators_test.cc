// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Operators on tensors of the C++ face, and tensors that are filled.

#include <gtest/gtest.h>

#include <concepts>
#include <string>
#include <type_traits>

#include "tandem/ops.h"
#include "tandem/work_queue.h"

namespace tandem::eager {
namespace {

class EagerOperatorsTest : public testing::Test {
 protected:
  EagerOperatorsTest()
      : runtime_(std::move(*Runtime::Create({.work_queue = CreateSingleThreadedWorkQueue()}))),
        rt_(*runtime_),
        x_(rt_.FromValues<float>({1, 2}, {2})),
        y_(rt_.FromValues<float>({2, 2}, {2})) {}

  std::unique_ptr<Runtime> runtime_;
  Runtime& rt_;
  const Tensor x_;
  const Tensor y_;
};

TEST_F(EagerOperatorsTest, Arithmetic) {
  EXPECT_EQ((x_ + y_).ToString(), "f32[2] = [3, 4]");
  EXPECT_EQ((x_ - y_).ToString(), "f32[2] = [-1, 0]");
  EXPECT_EQ((x_ * y_).ToString(), "f32[2] = [2, 4]");
  EXPECT_EQ((x_ / y_).ToString(), "f32[2] = [0.5, 1]");
  EXPECT_EQ((-x_).ToString(), "f32[2] = [-1, -2]");
  EXPECT_EQ((2 * x_ + 0.5).ToString(), "f32[2] = [2.5, 4.5]");
  EXPECT_EQ((1 / (x_ - 3)).ToString(), "f32[2] = [-0.5, -1]");
}

TEST_F(EagerOperatorsTest, ComparisonsAreOfElements) {
  EXPECT_EQ((x_ < y_).ToString(), "bool[2] = [true, false]");
  EXPECT_EQ((x_ <= y_).ToString(), "bool[2] = [true, true]");
  EXPECT_EQ((x_ > 1).ToString(), "bool[2] = [false, true]");
  EXPECT_EQ((2 >= x_).ToString(), "bool[2] = [true, true]");
  EXPECT_EQ((x_ == y_).ToString(), "bool[2] = [false, true]");
  EXPECT_EQ((1 == x_).ToString(), "bool[2] = [true, false]");
  EXPECT_EQ((x_ != y_).ToString(), "bool[2] = [true, false]");
  static_assert(!std::is_convertible_v<decltype(x_ == y_), bool>);
}

TEST_F(EagerOperatorsTest, ER3_ErrorsKnowTheOperatorsLine) {
  const Tensor wrong = rt_.FromValues<float>({1, 2, 3}, {3});
  const uint32_t line = __LINE__ + 1;
  const Tensor sum = x_ + wrong;
  EXPECT_EQ(sum.Await().op(), "tf.AddV2");
  EXPECT_EQ(sum.Await().location().line, line);
  EXPECT_NE(std::string(sum.Await().location().file).find("eager_operators_test.cc"), std::string::npos);
}

TEST_F(EagerOperatorsTest, FilledTensors) {
  EXPECT_EQ(zeros(rt_, {2, 2}).ToString(), "f32[2,2] = [0, 0, 0, 0]");
  EXPECT_EQ(zeros(rt_, {2, 2}).Values<float>().value().size(), 4u) << "they are dense";
  EXPECT_EQ(ones(rt_, {3}, DType::kI64).ToString(), "i64[3] = [1, 1, 1]");
  EXPECT_EQ(ones(rt_, {}, DType::kBool).ToString(), "bool[] = [true]");
  EXPECT_EQ(full(rt_, {2}, 7).ToString(), "i32[2] = [7, 7]");
  EXPECT_EQ(full(rt_, {5}, 0.5).ToString(), "f32[5] = [0.5, 0.5, 0.5, 0.5, 0.5]");
  EXPECT_EQ(full(rt_, {2}, 1.5, DType::kF16).ToString(), "f16[2] = [1.5, 1.5]");
  EXPECT_EQ(full(rt_, {0}, 1).ToString(), "i32[0] = []");
  EXPECT_EQ(full(rt_, {1}, 300, DType::kU8).Await().message(), "value: expected 0 to 255 for u8, got 300");
  const uint32_t line = __LINE__ + 1;
  const Tensor wrong = zeros(rt_, {-1});
  EXPECT_EQ(wrong.Await().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(wrong.Await().location().line, line);
  EXPECT_FALSE(full(rt_, {1}, x_).Await().ok());
}

}  // namespace
}  // namespace tandem::eager
