// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Short ways to make host tensors and to read them, for tests that need no device's handler.

#ifndef TANDEM_TESTS_UNIT_HOST_VALUES_H_
#define TANDEM_TESTS_UNIT_HOST_VALUES_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/device.h"
#include "tandem/host_allocator.h"
#include "tandem/host_tensors.h"
#include "tandem/message.h"

namespace tandem {

// What errors would quote.
template <typename... Parts>
std::string TextOf(const Parts&... parts) {
  MessageBuilder text;
  text.Append(parts...);
  return std::string(text.view());
}

// A device and an allocator to make tensors with.
struct HostMemory {
  explicit HostMemory(const HostAllocator::Options& options = {}) : allocator(HostAllocator::Create(options)) {}

  template <typename T>
  Tensor Dense(const TensorShape& shape, std::initializer_list<T> values) const {
    StatusOr<Tensor> tensor =
        MakeDense({kDTypeOf<T>, shape}, std::as_bytes(std::span(values.begin(), values.size())), device, *allocator);
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    return *std::move(tensor);
  }
  template <typename T>
  Tensor Scalar(const TensorShape& shape, T value) const {
    StatusOr<Tensor> tensor = MakeScalar({kDTypeOf<T>, shape}, &value, device);
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    return *std::move(tensor);
  }
  Tensor Strings(const TensorShape& shape, const std::vector<std::string_view>& values) const {
    StatusOr<Tensor> tensor = MakeString(shape, values, device, *allocator);
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    return *std::move(tensor);
  }

  Device device{"cpu", kDenseHost};
  RcRef<HostAllocator> allocator;
};

// The elements of a dense tensor.
template <typename T>
std::vector<T> Elements(const Tensor& tensor) {
  EXPECT_TRUE(tensor.IsA(kDenseHost));
  EXPECT_EQ(tensor.dtype(), kDTypeOf<T>);
  const std::span<const T> data = DenseData<T>(tensor);
  return std::vector<T>(data.begin(), data.end());
}

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_HOST_VALUES_H_
