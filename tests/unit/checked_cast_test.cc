// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Checked casts: what fits, how it is rounded, and what the errors say.

#include "tandem/checked_cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "tandem/host_context.h"

namespace tandem {
namespace {

class CheckedCastTest : public testing::Test {
 protected:
  template <typename From>
  StatusOr<Tensor> Cast(DType to, const std::vector<From>& values) {
    const Tensor from = *MakeDense({kDTypeOf<From>, {static_cast<int64_t>(values.size())}},
                                   std::as_bytes(std::span(values)), host_.device(), host_.allocator());
    return CheckedCast(from, to, "x", host_.allocator());
  }
  template <typename To, typename From>
  std::vector<To> Values(const std::vector<From>& values) {
    const StatusOr<Tensor> cast = Cast(kDTypeOf<To>, values);
    EXPECT_TRUE(cast.ok()) << cast.status().ToString();
    if (!cast.ok()) return {};
    return std::vector<To>(DenseData<To>(*cast).begin(), DenseData<To>(*cast).end());
  }
  template <typename To, typename From>
  std::string Error(From value) {
    const Status status = Cast(kDTypeOf<To>, std::vector<From>{value}).status();
    return std::string(StatusCodeName(status.code())) + " " + std::string(status.message());
  }

  HostContext host_{HostContext::Options()};
};

TEST_F(CheckedCastTest, IntegersToTheirLimits) {
  EXPECT_EQ(Values<uint8_t>(std::vector<double>{0, 255}), (std::vector<uint8_t>{0, 255}));
  EXPECT_EQ(Values<int64_t>(std::vector<double>{-0x1p63, 0x1.fffffffffffffp62}),
            (std::vector<int64_t>{INT64_MIN, 9223372036854774784}));
  EXPECT_EQ(Values<uint64_t>(std::vector<int64_t>{INT64_MAX}), (std::vector<uint64_t>{INT64_MAX}));
  EXPECT_EQ(Values<int64_t>(std::vector<uint64_t>{INT64_MAX}), (std::vector<int64_t>{INT64_MAX}));
  EXPECT_EQ(Error<int64_t>(0x1p63),
            "OutOfRange x[0]: expected -9223372036854775808 to 9223372036854775807 for i64, got 9223372036854775808");
  EXPECT_EQ(Error<int8_t>(int64_t{128}), "OutOfRange x[0]: expected -128 to 127 for i8, got 128");
  EXPECT_EQ(Error<uint8_t>(-1.0), "OutOfRange x[0]: expected 0 to 255 for u8, got -1");
  EXPECT_EQ(Error<bool>(2.0), "OutOfRange x[0]: expected 0 to 1 for bool, got 2");
  EXPECT_EQ(Error<int32_t>(0.5f), "InvalidArgument x[0]: expected an integer for i32, got 0.5");
  EXPECT_EQ(Error<int32_t>(INFINITY), "InvalidArgument x[0]: expected an integer for i32, got inf");
}

TEST_F(CheckedCastTest, FloatsAreRoundedOnce) {
  // Half-way between two f16 and a little more: by way of f32, it would be rounded to the even one.
  EXPECT_EQ(Values<Float16>(std::vector<double>{1 + 0x1p-11 + 0x1p-40})[0], Float16(1 + 0x1p-10f));
  EXPECT_EQ(Values<Float16>(std::vector<double>{1 + 0x1p-11})[0], Float16(1.f));
  EXPECT_EQ(Values<BFloat16>(std::vector<double>{-(1 + 0x1p-8 + 0x1p-40)})[0], BFloat16(-(1 + 0x1p-7f)));
  EXPECT_EQ(Values<float>(std::vector<int64_t>{16777217})[0], 16777216.f);
  EXPECT_TRUE(std::isnan(Values<float>(std::vector<double>{NAN})[0]));
  EXPECT_EQ(Values<Float16>(std::vector<double>{-INFINITY})[0], -INFINITY);
  EXPECT_EQ(Values<float>(std::vector<double>{0x1.fffffefffffffp127})[0], std::numeric_limits<float>::max());
  EXPECT_EQ(Error<Float16>(65520.0), "OutOfRange x[0]: expected -65504 to 65504 for f16, got 65520");
}

TEST_F(CheckedCastTest, ComplexNumbersThatAreReal) {
  using Complex = std::complex<float>;
  EXPECT_EQ(Values<double>(std::vector<Complex>{{2, 0}}), (std::vector<double>{2}));
  EXPECT_EQ(Values<Complex>(std::vector<double>{2}), (std::vector<Complex>{{2, 0}}));
  EXPECT_EQ(Error<float>(Complex(1, 2)),
            "InvalidArgument x[0]: expected a real number for f32, got one with imaginary part 2");
}

// Pieces are of 128 elements.
TEST_F(CheckedCastTest, ManyElements) {
  std::vector<int32_t> values(1000);
  for (int32_t i = 0; i < 1000; ++i) values[static_cast<size_t>(i)] = i;
  const std::vector<float> cast = Values<float>(values);
  for (int32_t i = 0; i < 1000; ++i) ASSERT_EQ(cast[static_cast<size_t>(i)], static_cast<float>(i));
  EXPECT_EQ(Cast(DType::kU8, values).status().message(), "x[256]: expected 0 to 255 for u8, got 256");
  EXPECT_EQ(Values<float>(std::vector<int32_t>()).size(), 0u);
}

}  // namespace
}  // namespace tandem
