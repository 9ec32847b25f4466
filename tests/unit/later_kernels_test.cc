// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DI-7: kernels whose code comes later (LaterKernels): calls are checked at once and stay pending, whatever else they
// wait for, until the code is there or cannot be had; what needs none of them runs at once.

#include "tandem/later_kernels.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "op_test_fixture.h"

namespace tandem {
namespace {

// Of tf.AddV2 all kernels but that for f32 come later, of tf.Where all, and that of tf.LogicalAnd, which has no type.
DTypeSet LaterOf(std::string_view op_name) {
  if (op_name == "tf.AddV2") return kNumericDTypes & DTypeSet{DType::kF64, DType::kI64, DType::kI32};
  if (op_name == "tf.Where") return DTypeSet::All();
  if (op_name == "tf.LogicalAnd") return {DType::kInvalid};
  return {};
}

class LaterKernelsTest : public OpTest {
 protected:
  LaterKernelsTest() {
    cpu()->Postpone(&LaterOf, [this] { ++num_fetches_; });
  }

  int num_fetches_ = 0;
};

TEST_F(LaterKernelsTest, OtherKernelsRunAtOnce) {
  const TensorHandle sum = Run("tf.AddV2", {Dense<float>({2}, {1, 2}), Dense<float>({2}, {3, 4})});
  EXPECT_EQ(Values<float>(sum), (std::vector<float>{4, 6}));
  EXPECT_EQ(num_fetches_, 0);
  EXPECT_TRUE(cpu()->HasKernel("tf.AddV2", DType::kF64));
}

TEST_F(LaterKernelsTest, CallsStayPendingUntilTheCodeIsThere) {
  const TensorHandle sum = Run("tf.AddV2", {Dense<double>({2}, {1, 2}), Dense<double>({2}, {3, 4})});
  EXPECT_FALSE(sum.IsAvailable());
  EXPECT_EQ(TextOf(sum.metadata()), "f64[2]");
  // On what is pending, too, and of ops whose results' shape depends on data.
  const TensorHandle twice = Run("tf.AddV2", {sum, sum});
  const TensorHandle where = Run("tf.Where", {Dense<bool>({3}, {true, false, true})});
  const TensorHandle both = Run("tf.LogicalAnd", {Dense<bool>({1}, {true}), Dense<bool>({1}, {true})});
  EXPECT_FALSE(twice.IsAvailable());
  EXPECT_FALSE(where.IsAvailable());
  EXPECT_FALSE(both.IsAvailable());
  EXPECT_EQ(num_fetches_, 1);
  cpu()->PostponedKernelsCame();
  EXPECT_EQ(Values<double>(twice), (std::vector<double>{8, 12}));
  EXPECT_EQ(Values<int64_t>(where), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(Values<bool>(both), (std::vector<bool>{true}));
}

TEST_F(LaterKernelsTest, OpsMadeBeforeAndAfterRunOnceTheCodeIsThere) {
  StatusOr<Op> before = cpu()->MakeOp("tf.AddV2");
  ASSERT_TRUE(before.ok());
  cpu()->PostponedKernelsCame();
  StatusOr<Op> after = cpu()->MakeOp("tf.AddV2");
  ASSERT_TRUE(after.ok());
  for (const Op* op : {&*before, &*after}) {
    OpArgs args = {Dense<int64_t>({1}, {1}), Dense<int64_t>({1}, {2})};
    std::vector<TensorHandle> results(1);
    op->impl()->Invoke({ExecutionContext(host(), Location()), args.span(), OpAttrsRef(), results, nullptr});
    EXPECT_TRUE(results[0].IsAvailable());
    EXPECT_EQ(Values<int64_t>(results[0]), (std::vector<int64_t>{3}));
  }
  EXPECT_EQ(num_fetches_, 0);
}

TEST_F(LaterKernelsTest, WrongCallsFailAtOnce) {
  const TensorHandle wrong = Run("tf.AddV2", {Dense<double>({2}, {1, 2}), Dense<double>({3}, {1, 2, 3})});
  EXPECT_TRUE(wrong.IsError());
  EXPECT_EQ(num_fetches_, 0);
}

TEST_F(LaterKernelsTest, AFailureIsTheErrorOfTheCallsAndTheNextFetchesAnew) {
  const TensorHandle sum = Run("tf.AddV2", {Dense<double>({1}, {1}), Dense<double>({1}, {2})});
  cpu()->later_kernels()->Fail(MakeError(StatusCode::kUnavailable, "expected the second part, got status 404"));
  ASSERT_TRUE(sum.IsError());
  EXPECT_NE(sum.value().GetError().ToString().find("[tf.AddV2] expected the second part"), std::string::npos);
  EXPECT_EQ(num_fetches_, 1);
  const TensorHandle again = Run("tf.AddV2", {Dense<double>({1}, {1}), Dense<double>({1}, {2})});
  EXPECT_EQ(num_fetches_, 2);
  cpu()->PostponedKernelsCame();
  EXPECT_EQ(Values<double>(again), (std::vector<double>{3}));
}

TEST_F(LaterKernelsTest, CancelledCallsEnd) {
  const TensorHandle sum = Run("tf.AddV2", {Dense<double>({1}, {1}), Dense<double>({1}, {2})});
  host().CancelExecution("enough");
  EXPECT_TRUE(sum.IsError());
  cpu()->PostponedKernelsCame();
  EXPECT_TRUE(sum.IsError());
}

TEST_F(LaterKernelsTest, KernelsMayBeRemovedBeforeTheyCome) {
  EXPECT_EQ(cpu()
                ->AddKernel("tf.AddV2", {DType::kF64}, Kernel([](const void*, KernelFrame&) { return Status(); }, 2, 1))
                .code(),
            StatusCode::kAlreadyExists);
  cpu()->RemoveKernels("tf.AddV2", {DType::kF64});
  EXPECT_FALSE(cpu()->HasKernel("tf.AddV2", DType::kF64));
  cpu()->PostponedKernelsCame();
  EXPECT_FALSE(cpu()->HasKernel("tf.AddV2", DType::kF64));
  EXPECT_TRUE(cpu()->HasKernel("tf.AddV2", DType::kI64));
}

class LaterConditionTest : public OpTest {};

TEST_F(LaterConditionTest, KernelsThatAreNotForTheCallFailOnceTheyAreThere) {
  cpu()->RemoveKernels("tf.LogicalAnd", {DType::kInvalid});
  const auto never = [](auto, const OpAttrsRef&, auto) { return false; };
  Kernel kernel([](const void*, KernelFrame&) { return Status(); }, 2, 1);
  ASSERT_TRUE(cpu()->AddKernel("tf.LogicalAnd", {DType::kInvalid}, std::move(kernel).OnlyIf(never)).ok());
  cpu()->Postpone(&LaterOf, [] {});
  const TensorHandle both = Run("tf.LogicalAnd", {Dense<bool>({1}, {true}), Dense<bool>({1}, {true})});
  EXPECT_FALSE(both.IsAvailable());
  cpu()->PostponedKernelsCame();
  ASSERT_TRUE(both.IsError());
  // As of a kernel that was there from the start.
  const TensorHandle again = Run("tf.LogicalAnd", {Dense<bool>({1}, {true}), Dense<bool>({1}, {true})});
  ASSERT_TRUE(again.IsError());
  for (const TensorHandle* each : {&both, &again}) {
    const Status& error = each->value().GetError();
    EXPECT_EQ(error.code(), StatusCode::kUnimplemented);
    EXPECT_NE(error.ToString().find("has no kernel for this op"), std::string::npos) << error.ToString();
  }
}

}  // namespace
}  // namespace tandem
