// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ShapeTest: the fixture of tests that compare moved elements with index arithmetic, one element at a time.

#ifndef TANDEM_TESTS_UNIT_SHAPE_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_SHAPE_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "op_test_fixture.h"

namespace tandem {

using Index = std::vector<int64_t>;

inline int64_t Count(const Index& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// Calls fn for each index of the shape, in row-major order.
inline void ForEachIndex(const Index& shape, const std::function<void(const Index&)>& fn) {
  Index index(shape.size());
  for (int64_t i = Count(shape); i > 0; --i) {
    fn(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

inline int64_t Position(const Index& shape, const Index& index) {
  int64_t position = 0;
  for (size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + index[d];
  return position;
}

template <typename T>
T Element(int64_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return i % 3 == 0;
  } else if constexpr (sizeof(T) == 1) {
    return static_cast<T>(i * 7 + 1);
  } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return T::FromBits(static_cast<uint16_t>(i + 1));
  } else {
    return static_cast<T>(i + 1);
  }
}

class ShapeTest : public OpTest {
 protected:
  TensorHandle I32(const Index& values) {
    const std::vector<int32_t> content(values.begin(), values.end());
    return Dense<int32_t>({static_cast<int64_t>(values.size())}, content);
  }
  // Element i of the tensor is Element<T>(i).
  template <typename T>
  TensorHandle Counting(const Index& shape) {
    const auto count = static_cast<size_t>(Count(shape));
    const std::unique_ptr<T[]> values(new T[count]);
    for (size_t i = 0; i < count; ++i) values[i] = Element<T>(static_cast<int64_t>(i));
    return Dense<T>(TensorShape(shape), std::span<const T>(values.get(), count));
  }
  // Expects that element i of the result is Element<T>(positions[i]), or zero where that is negative.
  template <typename T>
  void ExpectElements(const TensorHandle& result, const Index& shape, const Index& positions,
                      const std::string& what = "") {
    ASSERT_EQ(MetadataOf(result), TextOf(TensorMetadata(kDTypeOf<T>, TensorShape(shape)))) << what;
    const StatusOr<Tensor> dense = ToDense(result.tensor(), host().allocator());
    ASSERT_TRUE(dense.ok());
    const std::span<const T> values = DenseData<T>(*dense);
    ASSERT_EQ(values.size(), positions.size()) << what;
    for (size_t i = 0; i < positions.size(); ++i) {
      T expected;
      std::memset(static_cast<void*>(&expected), 0, sizeof(T));
      if (positions[i] >= 0) expected = Element<T>(positions[i]);
      ASSERT_EQ(std::memcmp(&values[i], &expected, sizeof(T)), 0) << what << " element " << i;
    }
  }
  const void* DataOf(const TensorHandle& handle) { return handle.tensor().data(); }
};

template <typename T>
class ShapeDTypeTest : public ShapeTest {};
using MovedTypes = testing::Types<bool, uint8_t, int8_t, uint16_t, int16_t, int32_t, uint32_t, int64_t, uint64_t,
                                  Float16, BFloat16, float, double, std::complex<float>>;

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_SHAPE_TEST_FIXTURE_H_
