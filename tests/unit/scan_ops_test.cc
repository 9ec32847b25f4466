// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Cumsum, Cumprod of tensors that are too large for conformance cases: by blocks and in parallel.

#include <cmath>

#include "op_test_fixture.h"

namespace tandem {
namespace {

class ScanOpsTest : public OpTest {
 protected:
  TensorHandle Cumsum(TensorHandle x, int32_t axis, bool exclusive, bool reverse) {
    return Run("tf.Cumsum", {std::move(x), Scalar<int32_t>(axis)}, Attrs("exclusive", exclusive, "reverse", reverse));
  }
};

// Steps of 1 up and down, without a pattern.
double Step(int64_t i) { return std::sin(static_cast<double>(i) * static_cast<double>(i % 97)) < 0 ? -1 : 1; }

// Cumulative sums of Step along the middle dimension.
std::vector<double> Expected(int64_t outer, int64_t n, int64_t inner, bool exclusive, bool reverse) {
  std::vector<double> sums(static_cast<size_t>(outer * n * inner));
  for (int64_t line = 0; line < outer * inner; ++line) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = reverse ? n - 1 - i : i;
      const int64_t at = (line / inner * n + row) * inner + line % inner;
      const double next = sum + Step(at);
      sums[static_cast<size_t>(at)] = exclusive ? sum : next;
      sum = next;
    }
  }
  return sums;
}

template <typename T>
class ScanDTypesTest : public ScanOpsTest {};
using ScanTypes = testing::Types<float, double, int32_t, Float16>;
TYPED_TEST_SUITE(ScanDTypesTest, ScanTypes);

TYPED_TEST(ScanDTypesTest, LongLinesAndManyColumns) {  // EX-7
  struct Size {
    int64_t outer, n, inner;
  };
  for (const auto& [outer, n, inner] : {Size{1, 300'001, 1}, Size{2, 140'003, 1}, Size{20, 9'001, 1},
                                        Size{1, 300, 1'003}, Size{3, 1'000, 70}, Size{90, 400, 3}}) {
    std::vector<TypeParam> steps;
    for (int64_t i = 0; i < outer * n * inner; ++i)
      steps.push_back(static_cast<TypeParam>(static_cast<float>(Step(i))));
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        SCOPED_TRACE(TextOf(outer, "x", n, "x", inner, " ", exclusive, " ", reverse));
        std::vector<TypeParam> expected;
        for (const double sum : Expected(outer, n, inner, exclusive, reverse)) {
          expected.push_back(static_cast<TypeParam>(static_cast<float>(sum)));
        }
        TensorHandle x = this->template Dense<TypeParam>({outer, n, inner}, steps);
        EXPECT_TRUE(this->template Values<TypeParam>(this->Cumsum(std::move(x), 1, exclusive, reverse)) == expected);
      }
    }
  }
}

TEST_F(ScanOpsTest, BitsDoNotDependOnTheNumberOfThreads) {
  const std::unique_ptr<WorkQueue> alone = CreateSingleThreadedWorkQueue();
  std::vector<float> values;
  for (int i = 0; i < 400'000; ++i) values.push_back(std::sin(static_cast<float>(i)) * static_cast<float>(i % 1000));
  for (const TensorShape& shape : {TensorShape{400'000}, TensorShape{2, 200'000}}) {
    const std::vector<float> parallel = Values<float>(Cumsum(Dense<float>(shape, values), -1, false, true));
    TensorHandle args[] = {Dense<float>(shape, values), Scalar<int32_t>(-1)};
    TensorHandle result;
    runtime().Execute(ExecutionContext(host(), Location(), {}, alone.get()), "tf.Cumsum", cpu(), args,
                      Attrs("reverse", true), {&result, 1});
    alone->Quiesce();
    EXPECT_TRUE(Values<float>(result) == parallel);
  }
}

}  // namespace
}  // namespace tandem
