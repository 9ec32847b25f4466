// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Products of matrices, as linear algebra and some convolutions need them.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_LINALG_PRODUCT_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_LINALG_PRODUCT_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "kernels/linalg/product_epilogue.h"
#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/library_product.h"
#include "tandem/shader/shader_call.h"
#include "tandem/tensor_shape.h"

namespace tandem::shader {

// A batch of products c = a * b of matrices with `rows` x `inner` and `inner` x `cols` elements at regular distances
// in their buffers, which are counted in elements.
struct MatrixProduct {
  struct BatchDim {
    int64_t size;
    int64_t a;
    int64_t b;
    int64_t c;
  };

  DType dtype = DType::kF32;  // any but bool
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t cols = 0;
  int64_t a_row = 0;
  int64_t a_inner = 1;
  int64_t b_inner = 0;
  int64_t b_col = 1;
  int64_t c_row = 0;
  int64_t c_col = 1;
  FusedEpilogue epilogue;

  // Outermost first; dimensions that can be one are made one.
  void AddBatchDim(const BatchDim& dim);
  std::array<BatchDim, TensorShape::kMaxRank> batch = {};
  int num_batch_dims = 0;

  // Of matrices.
  int64_t count() const;
};

// Buffers: a, b, those of the epilogue, c. Empty if the result is.
Launch MatrixProductProgram(const MatrixProduct& product, const GpuLimits& limits);

// The epilogue alone, of a matrix without gaps that has been computed; buffers: those of the epilogue, the matrix.
Launch FinishRowsProgram(DType dtype, const FusedEpilogue& epilogue, int64_t rows, int64_t cols,
                         const GpuLimits& limits);
// Whether it gives what the epilogue does before sums are rounded: then a library may compute them.
bool MayFinishLater(DType dtype);

// How a library would be asked for it; none if no library has such products.
std::optional<LibraryProduct> LibraryProductOf(const MatrixProduct& product);

// Adds the product to a call: by a library of the device if there is one for it, else as above.
void RunProduct(ShaderCall& call, const MatrixProduct& product, std::span<GpuBuffer* const> buffers);
inline void RunProduct(ShaderCall& call, const MatrixProduct& product, std::initializer_list<GpuBuffer*> buffers) {
  RunProduct(call, product, std::span(buffers.begin(), buffers.size()));
}

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_LINALG_PRODUCT_H_
