// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Products of matrices in tiles of every kind, as for software devices and for others, against sums of whole numbers,
// which are exact.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/linalg/product.h"
#include "vulkan_test_fixture.h"

namespace tandem::vulkan {
namespace {

using shader::GpuLimits;
using shader::Launch;
using shader::MatrixProduct;

struct Case {
  int64_t batch, rows, inner, cols;
  bool transpose_a = false;
  bool transpose_b = false;
};

class ProductKernelsTest : public VulkanTest {
 protected:
  std::vector<float> Numbers(int64_t count) {
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& number : numbers) {
      state_ = state_ * 1664525u + 1013904223u;
      number = static_cast<float>(static_cast<int32_t>(state_ >> 28) - 8);
    }
    return numbers;
  }

  void Check(const Case& c, bool is_software, const char* kernel) {
    MatrixProduct product;
    product.rows = c.rows;
    product.inner = c.inner;
    product.cols = c.cols;
    product.a_row = c.transpose_a ? 1 : c.inner;
    product.a_inner = c.transpose_a ? c.rows : 1;
    product.b_inner = c.transpose_b ? 1 : c.cols;
    product.b_col = c.transpose_b ? c.inner : 1;
    product.c_row = c.cols;
    product.AddBatchDim({c.batch, c.rows * c.inner, c.inner * c.cols, c.rows * c.cols});
    GpuLimits limits = queue_->limits();
    limits.is_software = is_software;
    const Launch launch = MatrixProductProgram(product, limits);
    EXPECT_EQ(launch.variant.source->name, kernel);
    const std::vector<float> a = Numbers(c.batch * c.rows * c.inner);
    const std::vector<float> b = Numbers(c.batch * c.inner * c.cols);
    const auto size = static_cast<size_t>(c.batch * c.rows * c.cols);
    const BufferRange buffers[] = {{MakeBuffer(a)}, {MakeBuffer(b)}, {MakeBuffer(size * sizeof(float))}};
    const PipelineRef pipeline = MakePipeline(launch.variant.Compose());
    ASSERT_TRUE(pipeline);
    ASSERT_TRUE(queue_->Dispatch(*pipeline, buffers, launch.parameters.words(), launch.workgroups, {}).ok());
    const std::vector<float> given = Read<float>(buffers[2].buffer, size);
    int64_t wrong = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(size); ++i) {
      const int64_t col = i % c.cols;
      const int64_t row = i / c.cols % c.rows;
      const int64_t at = i / c.cols / c.rows;
      int64_t sum = 0;
      for (int64_t k = 0; k < c.inner; ++k) {
        const float x = a[static_cast<size_t>(at * c.rows * c.inner + row * product.a_row + k * product.a_inner)];
        const float y = b[static_cast<size_t>(at * c.inner * c.cols + k * product.b_inner + col * product.b_col)];
        sum += static_cast<int64_t>(x * y);
      }
      if (given[static_cast<size_t>(i)] != static_cast<float>(sum)) ++wrong;
    }
    EXPECT_EQ(wrong, 0) << c.batch << " of " << c.rows << "x" << c.inner << "x" << c.cols << ", " << c.transpose_a
                        << c.transpose_b;
    Destroy({buffers[0].buffer, buffers[1].buffer, buffers[2].buffer});
  }

  uint32_t state_ = 1;
};

TEST_F(ProductKernelsTest, SharedMemory) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Check({1, 68, 20, 72, transpose_a, transpose_b}, false, "product_tiled");
      Check({2, 67, 19, 33, transpose_a, transpose_b}, false, "product_tiled");
    }
  }
  // Tiles of 128 x 128.
  Check({2, 1028, 17, 1040}, false, "product_tiled");
}

TEST_F(ProductKernelsTest, Registers) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Check({3, 100, 20, 164, transpose_a, transpose_b}, true, "product_direct");
      Check({2, 67, 19, 33, transpose_a, transpose_b}, true, "product_direct");
      Check({1, 1, 64, 100, transpose_a, transpose_b}, true, "product_direct");
      Check({1, 100, 64, 1, transpose_a, transpose_b}, true, "product_direct");
    }
  }
}

}  // namespace
}  // namespace tandem::vulkan
