// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Products of matrices: MatMul, _FusedMatMul, BatchMatMulV2.

#include "kernels/linalg/linalg.h"

#include <utility>

#include "kernels/element_types.h"
#include "kernels/elementwise/elementwise_composer.h"
#include "kernels/elementwise/elementwise_functions.h"
#include "kernels/kernels.h"
#include "kernels/linalg/product.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

// The matrices in the last two dimensions.
MatrixProduct MakeProduct(const TensorMetadata& a, bool transpose_a, const TensorMetadata& b, bool transpose_b,
                          const TensorMetadata& result) {
  MatrixProduct product;
  product.dtype = result.dtype;
  product.rows = result.dim(result.rank() - 2);
  product.cols = result.dim(result.rank() - 1);
  product.inner = a.dim(a.rank() - (transpose_a ? 2 : 1));
  product.a_row = a.dim(a.rank() - 1);
  product.b_inner = b.dim(b.rank() - 1);
  product.c_row = product.cols;
  if (transpose_a) std::swap(product.a_row, product.a_inner);
  if (transpose_b) std::swap(product.b_inner, product.b_col);
  return product;
}

Status MatMulKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  const MatrixProduct product =
      MakeProduct(frame.arg(0).metadata(), frame.attrs().GetOr("transpose_a", false), frame.arg(1).metadata(),
                  frame.attrs().GetOr("transpose_b", false), frame.result_metadata(0));
  RunProduct(call, product, {call.Argument(0), call.Argument(1), call.Result(0)});
  return call.Finish();
}

Status FusedMatMulKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  MatrixProduct product =
      MakeProduct(frame.arg(0).metadata(), frame.attrs().GetOr("transpose_a", false), frame.arg(1).metadata(),
                  frame.attrs().GetOr("transpose_b", false), frame.result_metadata(0));
  product.epilogue = FusedEpilogue::FromAttrs(frame.attrs());
  if (product.epilogue.adds_tensor) {
    RunProduct(call, product, {call.Argument(0), call.Argument(1), call.Argument(2), call.Argument(3), call.Result(0)});
  } else {
    RunProduct(call, product, {call.Argument(0), call.Argument(1), call.Argument(2), call.Result(0)});
  }
  return call.Finish();
}

// The dimensions before the matrices, aligned at the last one.
void AddBatch(const TensorShape& x, const TensorShape& y, const TensorShape& result, MatrixProduct& product) {
  const auto matrix_size = [](const TensorShape& shape) {
    return shape.dim(shape.rank() - 1) * shape.dim(shape.rank() - 2);
  };
  MatrixProduct::BatchDim dims[TensorShape::kMaxRank] = {};
  MatrixProduct::BatchDim next = {0, matrix_size(x), matrix_size(y), matrix_size(result)};
  const int rank = result.rank() - 2;
  // The stride of a dimension of one of the arguments, 0 where it is stretched or missing.
  const auto take = [&](const TensorShape& shape, int i, int64_t& stride) {
    const int own = i - (result.rank() - shape.rank());
    if (own < 0 || shape.dim(own) == 1) return int64_t{0};
    return std::exchange(stride, stride * shape.dim(own));
  };
  for (int i = rank - 1; i >= 0; --i) {
    dims[i] = {result.dim(i), take(x, i, next.a), take(y, i, next.b), next.c};
    next.c *= result.dim(i);
  }
  for (int i = 0; i < rank; ++i) product.AddBatchDim(dims[i]);
}

// An argument with its complex numbers conjugated.
GpuBuffer* ConjugatedArgument(ShaderCall& call, const TensorMetadata& metadata, size_t i) {
  const TensorMetadata* const operands[] = {&metadata};
  ElementwiseCall conjugation;
  conjugation.operands = operands;
  conjugation.result = &metadata;
  GpuBuffer* const conjugated = call.Temporary(GpuByteSize(metadata));
  call.Run(ElementwiseProgram(FindElementwiseFunction("tf.Conj", DType::kC64)->source, conjugation, call.limits()),
           {call.Argument(i), conjugated});
  return conjugated;
}

Status BatchMatMulKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  const TensorMetadata& x = frame.arg(0).metadata();
  const TensorMetadata& y = frame.arg(1).metadata();
  const TensorMetadata& result = frame.result_metadata(0);
  MatrixProduct product =
      MakeProduct(x, frame.attrs().GetOr("adj_x", false), y, frame.attrs().GetOr("adj_y", false), result);
  AddBatch(x.shape, y.shape, result.shape, product);
  const auto argument = [&](size_t i, const char* adjoint) {
    const TensorMetadata& metadata = frame.arg(i).metadata();
    const bool is_conjugated =
        metadata.dtype == DType::kC64 && metadata.num_elements() > 0 && frame.attrs().GetOr(adjoint, false);
    return is_conjugated ? ConjugatedArgument(call, metadata, i) : call.Argument(i);
  };
  RunProduct(call, product, {argument(0, "adj_x"), argument(1, "adj_y"), call.Result(0)});
  return call.Finish();
}

}  // namespace

Status RegisterLinalgKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&MatMulKernel>("tf.MatMul", kNumericDTypesOfGpu),
      KernelEntryOf<&BatchMatMulKernel>("tf.BatchMatMulV2", kNumericDTypesOfGpu),
      KernelEntryOf<&FusedMatMulKernel>("tf._FusedMatMul", kFloatDTypesOfGpu),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits())));
  TANDEM_RETURN_IF_ERROR(RegisterDiagonalKernels(handler));
  return RegisterEinsumKernels(handler);
}

}  // namespace tandem::shader
