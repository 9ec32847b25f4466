// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MatMul, by Gemm.

#include <complex>

#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace tandem::cpu {

namespace {

template <typename T>
Status MatMulKernel(DenseArg a, DenseArg b, KernelFrame& frame) {
  T* product = frame.AllocateResult<T>(0);
  if (product == nullptr) return Status();
  const bool transpose_a = frame.attrs().GetOr("transpose_a", false);
  const bool transpose_b = frame.attrs().GetOr("transpose_b", false);
  const TensorShape& shape = frame.result_metadata(0).shape;
  MatrixView<T> a_view = {a.data<T>(), a.shape().dim(1), 1};
  MatrixView<T> b_view = {b.data<T>(), b.shape().dim(1), 1};
  if (transpose_a) a_view = a_view.Transposed();
  if (transpose_b) b_view = b_view.Transposed();
  return Gemm<T>(&frame.exec().work_queue(), shape.dim(0), shape.dim(1), a.shape().dim(transpose_a ? 0 : 1), a_view,
                 b_view, product);
}

// About 30 products of f32 a nanosecond; other dtypes are slower.
double MatMulCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  const int64_t rows = results[0].dim(0);
  const double inner = rows == 0 ? 0 : static_cast<double>(args[0]->num_elements()) / static_cast<double>(rows);
  const double cost_of_product = results[0].dtype == DType::kF32 ? 0.03 : 0.1;
  return static_cast<double>(results[0].num_elements()) * inner * cost_of_product;
}

template <typename T>
Status AddMatMul(KernelOpHandler& handler) {
  return handler.AddKernel("tf.MatMul", {kDTypeOf<T>},
                           MakeKernel<&MatMulKernel<T>>().WithCost(CostModel{0, &MatMulCost}));
}

}  // namespace

Status RegisterLinalgKernels(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(AddMatMul<uint8_t>(handler));
  TANDEM_RETURN_IF_ERROR(AddMatMul<uint16_t>(handler));
  TANDEM_RETURN_IF_ERROR(AddMatMul<int32_t>(handler));
  TANDEM_RETURN_IF_ERROR(AddMatMul<uint32_t>(handler));
  TANDEM_RETURN_IF_ERROR(AddMatMul<int64_t>(handler));
  TANDEM_RETURN_IF_ERROR(AddMatMul<uint64_t>(handler));
  TANDEM_RETURN_IF_ERROR(AddMatMul<Float16>(handler));
  TANDEM_RETURN_IF_ERROR(AddMatMul<BFloat16>(handler));
  TANDEM_RETURN_IF_ERROR(AddMatMul<float>(handler));
  TANDEM_RETURN_IF_ERROR(AddMatMul<double>(handler));
  return AddMatMul<std::complex<float>>(handler);
}

}  // namespace tandem::cpu
