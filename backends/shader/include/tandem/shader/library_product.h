// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LibraryProduct: a product of matrices that a library of the device may compute in place of a shader.

#ifndef TANDEM_SHADER_LIBRARY_PRODUCT_H_
#define TANDEM_SHADER_LIBRARY_PRODUCT_H_

#include <cstdint>

#include "tandem/dtype.h"

namespace tandem::shader {

// c = a * b, or a * b + bias with an element of the bias for each column; of `count` matrices at regular distances,
// which are 0 for one that all share. Sizes and distances count elements. Rows of c are contiguous; of a and b one of
// the two distances of elements is 1.
struct LibraryProduct {
  DType dtype = DType::kF32;  // f32, f16, bf16, f64 or c64
  bool has_bias = false;
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t cols = 0;
  int64_t a_row = 0;
  int64_t a_inner = 0;
  int64_t b_inner = 0;
  int64_t b_col = 0;
  int64_t c_row = 0;
  int64_t count = 1;
  int64_t a_batch = 0;
  int64_t b_batch = 0;
  int64_t c_batch = 0;

  friend bool operator==(const LibraryProduct&, const LibraryProduct&) = default;
};

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_LIBRARY_PRODUCT_H_
