// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Numbers and lists as arguments of the C++ face: their dtypes, and those that wait for them.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tandem/ops.h"
#include "tandem/work_queue.h"

namespace tandem::eager {
namespace {

// A tensor whose metadata, too, is yet to come.
class Promise {
 public:
  explicit Promise(Runtime& runtime)
      : runtime_(runtime),
        metadata_(MakeUnconstructed<TensorMetadata>()),
        value_(MakeUnconstructed<tandem::Tensor>()) {}

  Tensor tensor() const {
    return Tensor(&runtime_,
                  TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(metadata_)),
                               AsyncValueRef<tandem::Tensor>(RcRef<AsyncValue>(value_)), &runtime_.host().device()));
  }
  void Resolve(const Tensor& with) {
    metadata_->Emplace(with.handle().metadata());
    value_->Emplace(with.handle().tensor());
  }
  void Fail(const Status& error) {
    metadata_->SetError(error);
    value_->SetError(error);
  }

 private:
  Runtime& runtime_;
  RcRef<ConcreteAsyncValue<TensorMetadata>> metadata_;
  RcRef<ConcreteAsyncValue<tandem::Tensor>> value_;
};

class EagerNumbersTest : public testing::Test {
 protected:
  EagerNumbersTest()
      : runtime_(std::move(*Runtime::Create({.work_queue = CreateSingleThreadedWorkQueue(),
                                             .on_diagnostic = [this](const Status&) { ++num_errors_; }}))),
        rt_(*runtime_) {}

  // "f32[2] = [1, 2]", or "OutOfRange [op] text" of an error.
  static std::string Text(const Tensor& tensor) {
    const Status status = tensor.Await();
    if (status.ok()) return tensor.ToString();
    return std::string(StatusCodeName(status.code())) + " " + std::string(status.message());
  }

  int num_errors_ = 0;
  std::unique_ptr<Runtime> runtime_;
  Runtime& rt_;
};

TEST_F(EagerNumbersTest, TY1_ANumberTakesTheDTypeOfItsOwnTypeAttribute) {
  const Tensor c = rt_.FromValues<bool>({true, false}, {2});
  const Tensor x = rt_.FromValues<double>({3, 4}, {2});
  const Tensor i = rt_.FromValues<int64_t>({1, 0}, {2});
  EXPECT_EQ(Text(select(c, x, 0)), "f64[2] = [3, 0]") << "not that of the first tensor";
  EXPECT_EQ(Text(select(c, 0, x)), "f64[2] = [0, 4]");
  EXPECT_EQ(Text(oneHot(i, 2, 1.f, 0.f)), "f32[2,2] = [0, 1, 1, 0]");
  EXPECT_EQ(Text(gather(x, 1, 0)), "f64[] = [4]");
  EXPECT_EQ(Text(gather(x, {1, 0}, 0)), "f64[2] = [4, 3]");
  EXPECT_EQ(Text(sum(x, {0})), "f64[] = [7]");
  EXPECT_EQ(Text(add(i, {0.0, 2.0})), "i64[2] = [1, 2]");
  EXPECT_EQ(Text(addN({1, rt_.Scalar(0.5), 2})), "f64[] = [3.5]");
  EXPECT_EQ(Text(pack({1, rt_.Scalar(2.5)})), "f64[2] = [1, 2.5]");
}

TEST_F(EagerNumbersTest, TY1_NumbersAmongThemselves) {
  const Tensor c = rt_.FromValues<bool>({true, false}, {2});
  EXPECT_EQ(Text(select(c, 1.f, 0.f)), "f32[2] = [1, 0]");
  EXPECT_EQ(Text(select(c, 1.5, 0)), "f32[2] = [1.5, 0]") << "what one of them needs, all take";
  EXPECT_EQ(Text(select(c, 1, 0)), "i32[2] = [1, 0]");
  EXPECT_EQ(Text(select(c, 3'000'000'000, 0)), "i64[2] = [3000000000, 0]");
  EXPECT_EQ(Text(select(c, UINT64_MAX, 0)), "u64[2] = [18446744073709551615, 0]");
  EXPECT_EQ(Text(select(c, false, true)), "bool[2] = [false, true]");
  EXPECT_EQ(Text(fill(rt_, {2}, 0.5)), "f32[2] = all 0.5");
  EXPECT_EQ(Text(fill(rt_, {1}, true)), "bool[1] = all true");
  EXPECT_EQ(Text(fill(rt_, 2, 0)), "InvalidArgument [tf.Fill] dims must be a vector, got dims: i32[]");
}

TEST_F(EagerNumbersTest, TY1_TheDefinitionsDefaultWhereItSuits) {
  EXPECT_EQ(Text(range(rt_, 0, 3, 1)), "i32[3] = [0, 1, 2]");
  EXPECT_EQ(Text(range(rt_, 0, 1, 0.25)), "f32[4] = [0, 0.25, 0.5, 0.75]");
  EXPECT_EQ(Text(range(rt_, 0.f, 3.f, 1.f)), "f32[3] = [0, 1, 2]") << "given as float";
  EXPECT_EQ(Text(range(rt_, 3'000'000'000, 3'000'000'002, 1)), "i64[2] = [3000000000, 3000000001]");
  EXPECT_EQ(Text(range(rt_, rt_.Scalar<int8_t>(1), 3, 1)), "i8[2] = [1, 2]");
  // A list beyond i32 is i64, which the op then judges.
  EXPECT_EQ(Text(gather(rt_.FromValues<float>({1}, {1}), {3'000'000'000}, 0)),
            "InvalidArgument [tf.GatherV2] indices must be in [0, 1), got 3000000000 at position [0]");
}

TEST_F(EagerNumbersTest, TY1_AttributesOfTheCallDecide) {
  Operand start = 0;
  Operand limit = 2;
  Operand delta = 1;
  OpAttrs attrs;
  attrs.Set("Tidx", DType::kF64);
  EXPECT_EQ(Text(rt_.Execute("tf.Range", {&start, &limit, &delta}, attrs)), "f64[2] = [0, 1]");
}

TEST_F(EagerNumbersTest, TY1_WhatDoesNotFitIsAnErrorThatSaysWhere) {
  const Tensor bytes = rt_.FromValues<uint8_t>({1, 2}, {2});
  const Tensor floats = rt_.FromValues<float>({1, 2}, {2});
  const Tensor halves = rt_.FromValues<Float16>({Float16(1.f)}, {1});
  const uint32_t line = __LINE__ + 1;
  const Tensor wrong = add(bytes, 300);
  EXPECT_EQ(Text(wrong), "OutOfRange [tf.AddV2] y: expected 0 to 255 for u8, got 300");
  EXPECT_EQ(wrong.Await().location().line, line);
  EXPECT_EQ(num_errors_, 1) << "told once";
  EXPECT_EQ(Text(sub({1, -1}, bytes)), "OutOfRange [tf.Sub] x[1]: expected 0 to 255 for u8, got -1");
  EXPECT_EQ(Text(add(bytes, 0.5)), "InvalidArgument [tf.AddV2] y: expected an integer for u8, got 0.5");
  EXPECT_EQ(Text(add(bytes, NAN)), "InvalidArgument [tf.AddV2] y: expected an integer for u8, got nan");
  EXPECT_EQ(Text(add(floats, 1e300)),
            "OutOfRange [tf.AddV2] y: expected -3.4028234663852886e+38 to 3.4028234663852886e+38 for f32, got 1e+300");
  EXPECT_EQ(Text(add(halves, {65520})), "OutOfRange [tf.AddV2] y[0]: expected -65504 to 65504 for f16, got 65520");
  EXPECT_EQ(Text(add(halves, 65503)), "f16[1] = [65504]");
  EXPECT_EQ(Text(add(floats, -INFINITY)), "f32[2] = [-inf, -inf]") << "infinity stays what it is";
  EXPECT_EQ(Text(add(floats, 0.1)), "f32[2] = [1.1, 2.1]") << "the nearest";
}

TEST_F(EagerNumbersTest, TY2_ACallDoesNotWaitForTheDType) {
  Promise promise(rt_);
  const Tensor after = add(promise.tensor(), 1);
  const Tensor before = sub({1, 2}, promise.tensor());
  EXPECT_FALSE(after.handle().IsAvailable());
  EXPECT_FALSE(before.handle().IsAvailable());
  promise.Resolve(rt_.FromValues<int64_t>({int64_t{1} << 40, 0}, {2}));
  EXPECT_EQ(Text(after), "i64[2] = [1099511627777, 1]");
  EXPECT_EQ(Text(before), "i64[2] = [-1099511627775, 2]");
  EXPECT_EQ(num_errors_, 0);
}

TEST_F(EagerNumbersTest, TY2_ACallDoesNotWaitForDataDependentShapes) {
  const Tensor x = rt_.FromValues<float>({1, -1, 2}, {3});
  rt_.host().set_inline_cost_limit(-1);  // nothing is computed before somebody awaits it
  const Tensor s = sum(where(greater(x, 0)), {0});
  EXPECT_FALSE(s.handle().IsAvailable());
  const Tensor y = where(greater(x, 0)) * 2;
  EXPECT_FALSE(y.handle().IsAvailable());
  EXPECT_EQ(Text(s), "i64[1] = [2]");
  EXPECT_EQ(Text(y), "i64[2,1] = [0, 4]");
}

TEST_F(EagerNumbersTest, TY2_WhatIsKnownCountsMoreThanWhatIsNot) {
  Promise promise(rt_);
  const Tensor y = pack({promise.tensor(), 1, rt_.Scalar<uint8_t>(2)});
  promise.Resolve(rt_.Scalar<uint8_t>(3));
  EXPECT_EQ(Text(y), "u8[3] = [3, 1, 2]");
}

TEST_F(EagerNumbersTest, TY2_ANumberThatDoesNotFitLater) {
  Promise promise(rt_);
  const uint32_t line = __LINE__ + 1;
  const Tensor y = relu(add(promise.tensor(), 300));
  promise.Resolve(rt_.FromValues<uint8_t>({1}, {1}));
  EXPECT_EQ(Text(y), "OutOfRange [tf.AddV2] y: expected 0 to 255 for u8, got 300");
  EXPECT_EQ(y.Await().location().line, line);
  EXPECT_EQ(num_errors_, 1);
}

TEST_F(EagerNumbersTest, TY2_AnErrorInsteadOfADType) {
  Promise promise(rt_);
  const Tensor y = add(promise.tensor(), 1);
  const Status error = InvalidArgument("no good");
  promise.Fail(error);
  EXPECT_EQ(y.Await().message(), "no good");
  EXPECT_EQ(num_errors_, 0) << "whoever made it has told it";
}

TEST_F(EagerNumbersTest, TY2_CancellationDoesNotWaitForTheDType) {
  Promise promise(rt_);
  const Tensor of_host = add(promise.tensor(), 1);
  rt_.host().CancelExecution("stop");
  EXPECT_EQ(of_host.Await().code(), StatusCode::kCancelled);
  rt_.host().Restart();

  RcRef<RequestContext> request = std::move(*RequestContext::Create(rt_.host(), {}));
  const Tensor of_request = rt_.With({.request = request}).Run([&] { return add(promise.tensor(), 1); });
  const Tensor other = add(promise.tensor(), 1);
  request->Cancel("enough");
  EXPECT_EQ(of_request.Await().code(), StatusCode::kCancelled);
  EXPECT_FALSE(other.handle().IsAvailable());
  promise.Resolve(rt_.FromValues<float>({1}, {1}));
  EXPECT_EQ(Text(other), "f32[1] = [2]");
  EXPECT_EQ(rt_.host().num_pending_ops(), 0);
}

TEST_F(EagerNumbersTest, TY2_ARuntimeEndsBeforeTheDTypeComes) {
  auto runtime = std::move(*Runtime::Create({.work_queue = CreateSingleThreadedWorkQueue()}));
  Promise promise(*runtime);
  const Tensor y = add(promise.tensor(), 1);
  runtime.reset();
  EXPECT_EQ(y.handle().GetError().code(), StatusCode::kCancelled);
  promise.Fail(InvalidArgument("too late"));
}

TEST_F(EagerNumbersTest, TY1_UnknownOpsAndSurplusArgumentsSaySo) {
  const Tensor x = rt_.Scalar(1.f);
  Operand a = x;
  Operand b = 1;
  Operand c = 2;
  EXPECT_EQ(Text(rt_.Execute("tf.Nothing", {&a, &b}, {})).substr(0, 8), "NotFound");
  EXPECT_EQ(Text(rt_.Execute("tf.AddV2", {&a, &b, &c}, {})), "InvalidArgument [tf.AddV2] expected 2 arguments, got 3");
}

TEST_F(EagerNumbersTest, AListAmongOtherResultsIsAsLongAsAnAttributeSays) {
  // [[[1, 2, 3], []], [[4, 5]]]
  const Tensor outer = rt_.FromValues<int64_t>({0, 2, 3}, {3});
  const Tensor inner = rt_.FromValues<int64_t>({0, 3, 3, 5}, {4});
  const Tensor values = rt_.FromValues<float>({1, 2, 3, 4, 5}, {5});
  const RaggedGatherResults rows = raggedGather({outer, inner}, values, {1, 0}, 2);
  ASSERT_EQ(rows.output_nested_splits.size(), 2u);
  EXPECT_EQ(Text(rows.output_nested_splits[0]), "i64[3] = [0, 1, 3]");
  EXPECT_EQ(Text(rows.output_nested_splits[1]), "i64[4] = [0, 2, 5, 5]");
  EXPECT_EQ(Text(rows.output_dense_values), "f32[5] = [4, 5, 1, 2, 3]");
  const RaggedGatherResults wrong = raggedGather({outer, inner}, values, {1}, -1);
  EXPECT_EQ(wrong.output_nested_splits.size(), 0u);
  EXPECT_EQ(Text(wrong.output_dense_values).substr(0, 15), "InvalidArgument");
}

}  // namespace
}  // namespace tandem::eager
