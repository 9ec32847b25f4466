// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Products of matrices by cuBLASLt, which a library that checks its calls stands in for (tests/cuda/fake_cublaslt.cc).

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdlib>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cublaslt.h"
#include "cuda_test_fixture.h"
#include "kernels/linalg/product.h"
#include "tandem/dtype.h"

namespace tandem::cuda {
namespace {

using shader::LibraryProduct;
using shader::LibraryProductOf;
using shader::MatrixProduct;

class CudaProductsTest : public CudaTest {
 protected:
  CudaProductsTest() {
    setenv("TANDEM_CUBLASLT", TANDEM_FAKE_CUBLASLT, 1);
    const StatusOr<CublasltFunctions> functions = OpenCublaslt();
    EXPECT_TRUE(functions.ok()) << functions.status().ToString();
    functions_ = *functions;
    num_live_ = TakeLibrary(TANDEM_FAKE_CUBLASLT);
  }
  ~CudaProductsTest() override { unsetenv("TANDEM_CUBLASLT"); }

  void MakeLibraryQueue(bool uses_tf32 = false) {
    CudaQueueOptions options = Options();
    options.cublaslt = functions_;
    options.uses_tf32 = uses_tf32;
    MakeQueue(options);
  }

  template <typename T>
  gpu::BufferId MakeElements(const std::vector<T>& values) {
    const StatusOr<gpu::BufferId> buffer = queue_->CreateBuffer(values.size() * sizeof(T), {});
    EXPECT_TRUE(buffer.ok());
    EXPECT_TRUE(queue_->Upload(*buffer, values.data(), values.size() * sizeof(T), nullptr, {}).ok());
    return *buffer;
  }

  // Small whole numbers, so that sums of their products are exact in every dtype.
  template <typename T>
  static std::vector<T> Numbers(int64_t size, int start) {
    std::vector<T> values(static_cast<size_t>(size));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = T(static_cast<float>((static_cast<int>(i) * 7 + start) % 5 - 2));
      if constexpr (std::is_same_v<T, std::complex<float>>) values[i] += T(0, static_cast<float>(i % 3) - 1);
    }
    return values;
  }

  // Computes the product by the queue and by itself.
  template <typename T>
  void ExpectProduct(const MatrixProduct& product) {
    using Sum = std::conditional_t<std::is_same_v<T, std::complex<float>>, std::complex<float>, float>;
    const std::optional<LibraryProduct> library = LibraryProductOf(product);
    ASSERT_TRUE(library.has_value());
    const int64_t count = library->count;
    const auto size_of = [&](int64_t rows, int64_t cols, int64_t row, int64_t col, int64_t batch) {
      return (rows - 1) * row + (cols - 1) * col + (count - 1) * batch + 1;
    };
    const auto a =
        Numbers<T>(size_of(product.rows, product.inner, product.a_row, product.a_inner, library->a_batch), 1);
    const auto b =
        Numbers<T>(size_of(product.inner, product.cols, product.b_inner, product.b_col, library->b_batch), 3);
    const auto bias = Numbers<T>(product.cols, 2);
    const int64_t size = size_of(product.rows, product.cols, product.c_row, 1, library->c_batch);
    std::vector<T> expected(static_cast<size_t>(size), T(99.0f));
    for (int64_t n = 0; n < count; ++n) {
      for (int64_t i = 0; i < product.rows; ++i) {
        for (int64_t j = 0; j < product.cols; ++j) {
          Sum sum = library->has_bias ? Sum(bias[static_cast<size_t>(j)]) : Sum(0);
          for (int64_t k = 0; k < product.inner; ++k) {
            sum += Sum(a[static_cast<size_t>(n * library->a_batch + i * product.a_row + k * product.a_inner)]) *
                   Sum(b[static_cast<size_t>(n * library->b_batch + k * product.b_inner + j * product.b_col)]);
          }
          expected[static_cast<size_t>(n * library->c_batch + i * product.c_row + j)] = T(sum);
        }
      }
    }
    const auto pipeline = queue_->FindProduct(*library);
    ASSERT_TRUE(pipeline.IsValid() && pipeline.IsAvailable());
    std::vector<gpu::BufferRange> buffers = {{MakeElements(a), 0, 0}, {MakeElements(b), 0, 0}};
    if (library->has_bias) buffers.push_back({MakeElements(bias), 0, 0});
    buffers.push_back({MakeElements(std::vector<T>(static_cast<size_t>(size), T(99.0f))), 0, 0});
    const StatusOr<uint64_t> batch = queue_->Dispatch(**pipeline, buffers, {}, {1, 1, 1}, {"tf.MatMul", Location()});
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
    std::vector<T> got(expected.size());
    std::promise<Status> done;
    queue_->Download(buffers.back().buffer, 0, got.data(), got.size() * sizeof(T),
                     [&](const Status& status) { done.set_value(status); });
    ASSERT_TRUE(done.get_future().get().ok());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(Sum(got[i]), Sum(expected[i])) << "element " << i;
    for (const gpu::BufferRange& buffer : buffers) queue_->DestroyBuffer(buffer.buffer);
  }

  template <typename T>
  void ExpectProductsOf(DType dtype) {
    SCOPED_TRACE(DTypeName(dtype));
    for (const std::array<int64_t, 3>& sizes :
         {std::array<int64_t, 3>{3, 5, 4}, {1, 7, 6}, {8, 1, 2}, {6, 9, 1}, {4, 3, 8}}) {
      for (int form = 0; form < 16; ++form) {
        SCOPED_TRACE(form);
        MatrixProduct product;
        product.dtype = dtype;
        product.rows = sizes[0];
        product.inner = sizes[1];
        product.cols = sizes[2];
        product.a_row = product.inner;
        product.b_inner = product.cols;
        product.c_row = product.cols;
        if ((form & 1) != 0) {
          product.a_row = 1;
          product.a_inner = product.rows;
        }
        if ((form & 2) != 0) {
          product.b_inner = 1;
          product.b_col = product.inner;
        }
        if ((form & 4) != 0) {
          // All share b.
          product.AddBatchDim({3, product.rows * product.inner, 0, product.rows * product.cols});
        }
        if ((form & 8) != 0) product.epilogue.columns = shader::ColumnEpilogue::kBias;
        if ((form & 8) != 0 && DTypeSize(dtype) == 2 && product.cols != 8) {
          // The library would round sums before it adds the bias.
          EXPECT_FALSE(LibraryProductOf(product).has_value());
          continue;
        }
        ExpectProduct<T>(product);
      }
    }
  }

  CublasltFunctions functions_ = {};
  NumLive num_live_ = nullptr;
};

TEST_F(CudaProductsTest, EveryFormInEveryDType) {
  MakeLibraryQueue();
  EXPECT_NE(queue_->adapter_name().find("with cuBLASLt 13.1"), std::string::npos) << queue_->adapter_name();
  ExpectProductsOf<float>(DType::kF32);
  ExpectProductsOf<double>(DType::kF64);
  ExpectProductsOf<Float16>(DType::kF16);
  ExpectProductsOf<BFloat16>(DType::kBF16);
  ExpectProductsOf<std::complex<float>>(DType::kC64);
  queue_.reset();
  EXPECT_EQ(num_live_(), 0);
  EXPECT_EQ(cuda_.bytes_in_use, 0u);
}

TEST_F(CudaProductsTest, Tf32IsByChoice) {
  MakeLibraryQueue(/*uses_tf32=*/true);
  ExpectProductsOf<float>(DType::kF32);
}

TEST_F(CudaProductsTest, RowsAndMatricesMayLieApart) {
  MakeLibraryQueue();
  MatrixProduct product;
  product.rows = 4;
  product.inner = 3;
  product.cols = 5;
  product.a_row = 7;
  product.b_inner = 11;
  product.c_row = 8;
  product.AddBatchDim({2, 40, 50, 60});
  ExpectProduct<float>(product);
}

TEST_F(CudaProductsTest, WhatTheLibraryHasNotIsLeftToKernels) {
  MakeLibraryQueue();
  LibraryProduct product;
  product.dtype = DType::kF16;
  product.rows = product.cols = 4;
  product.inner = product.a_row = 13;
  product.a_inner = product.b_col = 1;
  product.b_inner = product.c_row = 4;
  EXPECT_FALSE(queue_->FindProduct(product).IsValid());
  EXPECT_FALSE(queue_->FindProduct(product).IsValid());
  product.dtype = DType::kI32;
  EXPECT_FALSE(queue_->FindProduct(product).IsValid());
  queue_.reset();
  EXPECT_EQ(num_live_(), 0);
}

TEST_F(CudaProductsTest, AProductIsDescribedOnce) {
  MakeLibraryQueue();
  LibraryProduct product;
  product.rows = product.cols = product.inner = 4;
  product.a_row = product.b_inner = product.c_row = 4;
  product.a_inner = product.b_col = 1;
  const auto first = queue_->FindProduct(product);
  const int live = num_live_();
  EXPECT_EQ(queue_->FindProduct(product).value(), first.value());
  EXPECT_EQ(num_live_(), live);
}

TEST_F(CudaProductsTest, ACallThatTheLibraryRefusesFailsAlone) {
  MakeLibraryQueue();
  LibraryProduct product;
  product.rows = product.cols = product.inner = 2;
  product.a_row = product.b_inner = product.c_row = 2;
  product.a_inner = product.b_col = 1;
  const auto pipeline = queue_->FindProduct(product);
  ASSERT_TRUE(pipeline.IsValid());
  const gpu::BufferId x = MakeBuffer({1, 2, 3, 4, 5, 6, 7, 8});
  const gpu::BufferId y = MakeBuffer({0, 0, 0, 0});
  // An offset that no kernel is given.
  const gpu::BufferRange wrong[] = {{x, 4, 0}, {x, 0, 0}, {y, 0, 0}};
  const StatusOr<uint64_t> refused = queue_->Dispatch(**pipeline, wrong, {}, {1, 1, 1}, {"tf.MatMul", Location()});
  EXPECT_EQ(refused.status().ToString(), "Internal: expected cublasLtMatmul to succeed, got an invalid value");
  const gpu::BufferRange right[] = {{x, 0, 0}, {x, 16, 0}, {y, 0, 0}};
  EXPECT_TRUE(queue_->Dispatch(**pipeline, right, {}, {1, 1, 1}, {"tf.MatMul", Location()}).ok());
  ExpectRead(y, {19, 22, 43, 50});
  EXPECT_TRUE(listener_.events().empty());
}

TEST_F(CudaProductsTest, WithoutMemoryForItTheQueueGoesWithoutTheLibrary) {
  cuda_.capacity = 1 << 20;
  MakeLibraryQueue();
  EXPECT_NE(queue_->adapter_name().find("without cuBLASLt: "), std::string::npos) << queue_->adapter_name();
  LibraryProduct product;
  product.rows = product.cols = product.inner = product.a_row = product.b_inner = product.c_row = 4;
  product.a_inner = product.b_col = 1;
  EXPECT_FALSE(queue_->FindProduct(product).IsValid());
}

TEST_F(CudaProductsTest, ProductsThatNoLibraryHasAreNotAskedFor) {
  MatrixProduct product;
  product.rows = product.cols = product.inner = product.a_row = product.b_inner = product.c_row = 4;
  EXPECT_TRUE(LibraryProductOf(product).has_value());
  MatrixProduct other = product;
  other.dtype = DType::kI32;
  EXPECT_FALSE(LibraryProductOf(other).has_value());
  other = product;
  other.inner = 0;
  EXPECT_FALSE(LibraryProductOf(other).has_value());
  other = product;
  other.a_inner = 2;
  EXPECT_FALSE(LibraryProductOf(other).has_value());
  other = product;
  other.c_col = 2;
  EXPECT_FALSE(LibraryProductOf(other).has_value());
  other = product;
  other.epilogue.columns = shader::ColumnEpilogue::kBias;
  EXPECT_TRUE(LibraryProductOf(other).has_value());
  other.epilogue.activation = 1;
  EXPECT_FALSE(LibraryProductOf(other).has_value());
  other = product;
  other.AddBatchDim({2, 16, 0, 16});
  other.AddBatchDim({2, 32, 16, 32});
  EXPECT_FALSE(LibraryProductOf(other).has_value());
}

TEST(CublasltTest, AMissingLibraryIsNamed) {
  setenv("TANDEM_CUBLASLT", "/nonexistent/libcublasLt.so", 1);
  const Status missing = OpenCublaslt().status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("expected cuBLASLt (libcublasLt.so), got none: /nonexistent/libcublasLt.so"),
            std::string::npos)
      << missing.message();
  setenv("TANDEM_CUBLASLT", "off", 1);
  EXPECT_EQ(OpenCublaslt().status().message(), "expected cuBLASLt, got none: TANDEM_CUBLASLT is off");
  setenv("TANDEM_CUBLASLT", "libm.so.6", 1);
  EXPECT_EQ(OpenCublaslt().status().code(), StatusCode::kFailedPrecondition);
  unsetenv("TANDEM_CUBLASLT");
}

}  // namespace
}  // namespace tandem::cuda
