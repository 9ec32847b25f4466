// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FusedEpilogue: a bias, a tensor to add and an activation, computed on a block of sums while it is in the cache.

#ifndef TANDEM_BACKENDS_CPU_GEMM_FUSED_EPILOGUE_H_
#define TANDEM_BACKENDS_CPU_GEMM_FUSED_EPILOGUE_H_

#include <cstdint>
#include <string_view>

namespace tandem::cpu {

enum class Activation : uint8_t {
  kNone,
  kRelu,
  kRelu6,
  kElu,
  kLeakyRelu,
  kTanh,
  kSigmoid,
  kGeluExact,
  kGeluApproximate
};

// The activation of that name in the attribute fused_ops; kNone for other names.
Activation FindActivation(std::string_view name);

// T is float or double.
template <typename T>
struct FusedEpilogue {
  const T* bias;  // one for each column
  Activation activation = Activation::kNone;
  T leakyrelu_alpha = 0;
  // The results are rounded to 16 bits afterwards, of which small ones tell more of an absolute error than f32's.
  bool is_for_halves = false;

  // x = activation(x + bias + added) for `rows` rows, `stride` elements apart, of the columns [col, col + cols).
  // `added`, unless null, has that many rows and columns, with `added_stride` elements from row to row.
  void Apply(T* x, int64_t stride, int64_t rows, int64_t col, int64_t cols, const T* added = nullptr,
             int64_t added_stride = 0) const;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_GEMM_FUSED_EPILOGUE_H_
