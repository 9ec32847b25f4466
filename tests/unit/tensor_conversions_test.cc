// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The table of conversions, and the entries for host types (TH-9).

#include "tandem/tensor_conversions.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host_values.h"
#include "tandem/host_context.h"

namespace tandem {
namespace {

constexpr TensorType kHere{"here"};
constexpr TensorType kThere{"there"};

AsyncValueRef<Tensor> Convert(const ExecutionContext&, const Tensor&, const Device&) {
  return AsyncValueRef<Tensor>::MakeError(Internal("not called"));
}
AsyncValueRef<Tensor> ConvertBack(const ExecutionContext&, const Tensor&, const Device&) {
  return AsyncValueRef<Tensor>::MakeError(Internal("not called"));
}

// TH-9: the set of types is open.
TEST(TensorConversionsTest, FindsByFromAndTo) {
  TensorConversions conversions;
  EXPECT_EQ(conversions.Find(kHere, kThere), nullptr);
  ASSERT_TRUE(conversions.Register(kHere, kThere, &Convert).ok());
  EXPECT_EQ(conversions.Find(kHere, kThere), &Convert);
  EXPECT_EQ(conversions.Find(kThere, kHere), nullptr);
  EXPECT_EQ(conversions.Find(kHere, kHere), nullptr);
  ASSERT_TRUE(conversions.Register(kThere, kHere, &ConvertBack).ok());
  EXPECT_EQ(conversions.Find(kThere, kHere), &ConvertBack);
}

// TH-9
TEST(TensorConversionsTest, TheFirstOfAPairStays) {
  TensorConversions conversions;
  ASSERT_TRUE(conversions.Register(kHere, kThere, &Convert).ok());
  const Status status = conversions.Register(kHere, kThere, &ConvertBack);
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(status.message(), "there must be one conversion from here to there, got a second one");
  EXPECT_EQ(conversions.Find(kHere, kThere), &Convert);
}

// TH-9: types are told apart by address.
TEST(TensorConversionsTest, TypesOfOneNameAreDifferent) {
  static constexpr TensorType kAlsoHere{"here"};
  TensorConversions conversions;
  ASSERT_TRUE(conversions.Register(kHere, kThere, &Convert).ok());
  EXPECT_EQ(conversions.Find(kAlsoHere, kThere), nullptr);
}

TEST(TensorConversionsTest, ThreadsRegisterAndFind) {
  static constexpr TensorType kTypes[] = {TensorType{"a"}, TensorType{"b"}, TensorType{"c"}, TensorType{"d"}};
  TensorConversions conversions;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 100; ++n) {
        for (const TensorType& to : kTypes) {
          static_cast<void>(conversions.Register(kTypes[i], to, &Convert));
          ASSERT_EQ(conversions.Find(kTypes[i], to), &Convert);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class HostConversionsTest : public testing::Test {
 protected:
  static HostContext::Options Options() {
    HostContext::Options options;
    options.work_queue = CreateSingleThreadedWorkQueue();
    return options;
  }
  AsyncValueRef<Tensor> Run(const Tensor& tensor, const TensorType& to, const Device& target) {
    const TensorConversion conversion = host_.conversions().Find(tensor.type(), to);
    if (conversion == nullptr) return AsyncValueRef<Tensor>::MakeError(Internal("no conversion"));
    return conversion(ExecutionContext(host_, Location()), tensor, target);
  }

  HostContext host_{Options()};
  const HostMemory memory_;
};

// TH-9
TEST_F(HostConversionsTest, AHostHasThemFromTheStart) {
  const std::pair<const TensorType*, const TensorType*> expected[] = {
      {&kScalarHost, &kDenseHost},    {&kSparseCooHost, &kDenseHost},  {&kDenseHost, &kScalarHost},
      {&kDenseHost, &kSparseCooHost}, {&kScalarHost, &kSparseCooHost},
  };
  for (const auto& [from, to] : expected) {
    EXPECT_NE(host_.conversions().Find(*from, *to), nullptr) << from->name() << " to " << to->name();
  }
  EXPECT_EQ(host_.conversions().Find(kStringHost, kDenseHost), nullptr);
  EXPECT_EQ(RegisterHostConversions(host_.conversions()).code(), StatusCode::kAlreadyExists);
}

// TH-9
TEST_F(HostConversionsTest, GiveTheTypeOnTheDevice) {
  const Tensor dense = memory_.Dense<float>({3}, {2, 2, 2});
  const Tensor scalar = memory_.Scalar<float>({3}, 2);
  for (const Tensor& from : {dense, scalar}) {
    for (const TensorType* to : {&kDenseHost, &kScalarHost, &kSparseCooHost}) {
      if (from.IsA(*to)) continue;
      const AsyncValueRef<Tensor> result = Run(from, *to, memory_.device);
      ASSERT_TRUE(result.IsConcrete()) << from.type().name() << " to " << to->name();
      EXPECT_TRUE(result->IsA(*to));
      EXPECT_EQ(result->metadata(), from.metadata());
      EXPECT_EQ(result->device(), &memory_.device);
      EXPECT_TRUE(to != &kSparseCooHost || Run(*result, kDenseHost, memory_.device).IsConcrete());
    }
  }
}

// TH-9
TEST_F(HostConversionsTest, WhatCannotBeConvertedIsAnError) {
  const AsyncValueRef<Tensor> result = Run(memory_.Dense<float>({2}, {1, 2}), kScalarHost, memory_.device);
  EXPECT_EQ(result.GetError().code(), StatusCode::kInvalidArgument);
}

// EX-13: they do not pretend to reach another device.
TEST_F(HostConversionsTest, StayOnTheirDevice) {
  const Device elsewhere("gpu:0", kThere);
  const Tensor scalar = memory_.Scalar<float>({3}, 2);
  EXPECT_EQ(Run(scalar, kDenseHost, elsewhere).GetError().message(),
            "tensors of host types must stay on their device cpu, got a transfer to gpu:0");
  EXPECT_EQ(Run(scalar, kSparseCooHost, elsewhere).GetError().code(), StatusCode::kUnimplemented);
  // The device of another runtime is another device, though it has the same name.
  EXPECT_EQ(Run(memory_.Dense<float>({1}, {1}), kScalarHost, host_.device()).GetError().message(),
            "tensors of host types must stay on their device cpu, got a transfer to cpu of another runtime");
}

}  // namespace
}  // namespace tandem
