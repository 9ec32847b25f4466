// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Products of matrices, by Gemm.

#include "kernels/linalg/linalg.h"

#include <algorithm>
#include <complex>
#include <type_traits>
#include <utility>

#include "gemm/fused_epilogue.h"
#include "gemm/gemm.h"
#include "gemm/gemm_batch.h"
#include "gemm/packed_memory.h"
#include "kernels/kernels.h"
#include "tandem/fused_ops.h"
#include "tandem/host_context.h"

namespace tandem::cpu {

namespace {

// The last two dimensions of a dense tensor.
template <typename T>
MatrixView<T> MatrixOf(const DenseArg& arg, bool transpose) {
  const MatrixView<T> view = {arg.data<T>(), arg.shape().dim(arg.shape().rank() - 1), 1};
  return transpose ? view.Transposed() : view;
}

template <typename T>
Status MatMulKernel(DenseArg a, DenseArg b, KernelFrame& frame) {
  T* product = frame.AllocateResult<T>(0);
  if (product == nullptr) return Status();
  const bool transpose_a = frame.attrs().GetOr("transpose_a", false);
  const bool transpose_b = frame.attrs().GetOr("transpose_b", false);
  const TensorShape& shape = frame.result_metadata(0).shape;
  return Gemm<T>(&frame.exec().work_queue(), shape.dim(0), shape.dim(1), a.shape().dim(transpose_a ? 0 : 1),
                 MatrixOf<T>(a, transpose_a), MatrixOf<T>(b, transpose_b), product, shape.dim(1), {},
                 FormsOf(b, shape.dim(0)));
}

// f16 and bf16 are summed in f32.
template <typename T>
using Sum = std::conditional_t<sizeof(T) == 2, float, T>;

// What is fused with a product whose rows have `width` elements.
template <typename T>
struct MatMulEpilogue {
  FusedEpilogue<Sum<T>> fused;
  const T* added;  // of the product's shape; or null
  int64_t width;

  // For GemmEpilogue.
  static void Apply(const void* context, void* sums, int64_t ldc, int64_t row, int64_t rows, int64_t col,
                    int64_t cols) {
    const auto& epilogue = *static_cast<const MatMulEpilogue*>(context);
    auto* x = static_cast<Sum<T>*>(sums);
    const T* added = epilogue.added;
    if (added != nullptr) added += row * epilogue.width + col;
    if constexpr (std::is_same_v<T, Sum<T>>) {
      epilogue.fused.Apply(x, ldc, rows, col, cols, added, epilogue.width);
    } else if (added == nullptr) {
      epilogue.fused.Apply(x, ldc, rows, col, cols);
    } else {
      constexpr int64_t kBlock = 512;
      Sum<T> wide[kBlock];
      for (int64_t i = 0; i < rows; ++i, x += ldc, added += epilogue.width) {
        for (int64_t k = 0; k < cols; k += kBlock) {
          const int64_t count = std::min(kBlock, cols - k);
          std::copy_n(added + k, count, wide);
          epilogue.fused.Apply(x + k, count, 1, col + k, count, wide, count);
        }
      }
    }
  }
};

template <typename T>
Status FusedMatMulKernel(DenseArg a, DenseArg b, VariadicArgs args, KernelFrame& frame) {
  T* product = frame.AllocateResult<T>(0);
  if (product == nullptr) return Status();
  const bool transpose_a = frame.attrs().GetOr("transpose_a", false);
  const bool transpose_b = frame.attrs().GetOr("transpose_b", false);
  const TensorShape& shape = frame.result_metadata(0).shape;
  const FusedOps fused_ops = FusedOpsOf(frame.attrs());
  MatMulEpilogue<T> finish = {{}, fused_ops.adds_tensor ? args[1].data<T>() : nullptr, shape.dim(1)};
  FusedEpilogue<Sum<T>>& epilogue = finish.fused;
  epilogue.activation = FindActivation(fused_ops.activation);
  epilogue.leakyrelu_alpha = frame.attrs().GetOr("leakyrelu_alpha", 0.2f);
  epilogue.is_for_halves = sizeof(T) == 2;
  RcRef<HostBuffer> buffer;
  if constexpr (std::is_same_v<T, Sum<T>>) {
    epilogue.bias = args[0].data<T>();
  } else {
    const int64_t n = args[0].size();
    TANDEM_ASSIGN_OR_RETURN(buffer, frame.host().allocator().Allocate(static_cast<size_t>(n) * sizeof(float)));
    std::copy_n(args[0].data<T>(), n, static_cast<float*>(buffer->data()));
    epilogue.bias = static_cast<const float*>(buffer->data());
  }
  return Gemm<T>(&frame.exec().work_queue(), shape.dim(0), shape.dim(1), a.shape().dim(transpose_a ? 0 : 1),
                 MatrixOf<T>(a, transpose_a), MatrixOf<T>(b, transpose_b), product, shape.dim(1),
                 {&MatMulEpilogue<T>::Apply, &finish}, FormsOf(b, shape.dim(0)));
}

// `to` may be `from`.
void Conjugate(KernelFrame& frame, const std::complex<float>* from, int64_t n, std::complex<float>* to) {
  frame.ParallelFor(n, 1, [&](int64_t begin, int64_t end) {
    const auto* x = reinterpret_cast<const float*>(from);
    auto* y = reinterpret_cast<float*>(to);
    for (int64_t i = begin; i < end; ++i) {
      y[2 * i] = x[2 * i];
      y[2 * i + 1] = -x[2 * i + 1];
    }
  });
}

// The dimensions before the matrices, aligned at the last one.
GemmBatch BatchOf(const TensorShape& x, const TensorShape& y, const TensorShape& result) {
  const auto matrix_size = [](const TensorShape& shape) {
    return shape.dim(shape.rank() - 1) * shape.dim(shape.rank() - 2);
  };
  GemmBatch::Dim dims[TensorShape::kMaxRank] = {};
  int64_t x_stride = matrix_size(x);
  int64_t y_stride = matrix_size(y);
  int64_t c_stride = matrix_size(result);
  const int rank = result.rank() - 2;
  // The stride of a dimension of one of the arguments, 0 where it is stretched or missing.
  const auto take = [&](const TensorShape& shape, int i, int64_t& stride) {
    const int own = i - (result.rank() - shape.rank());
    if (own < 0 || shape.dim(own) == 1) return int64_t{0};
    return std::exchange(stride, stride * shape.dim(own));
  };
  for (int i = rank - 1; i >= 0; --i) {
    dims[i].size = result.dim(i);
    dims[i].a_stride = take(x, i, x_stride);
    dims[i].b_stride = take(y, i, y_stride);
    dims[i].c_stride = std::exchange(c_stride, c_stride * result.dim(i));
  }
  GemmBatch batch;
  for (int i = 0; i < rank; ++i) batch.AddDim(dims[i]);
  return batch;
}

template <typename T>
Status BatchMatMulKernel(DenseArg x, DenseArg y, KernelFrame& frame) {
  T* output = frame.AllocateResult<T>(0);
  const TensorShape& shape = frame.result_metadata(0).shape;
  if (output == nullptr || shape.num_elements() == 0) return Status();
  const bool adj_x = frame.attrs().GetOr("adj_x", false);
  const bool adj_y = frame.attrs().GetOr("adj_y", false);
  MatrixView<T> x_view = MatrixOf<T>(x, adj_x);
  MatrixView<T> y_view = MatrixOf<T>(y, adj_y);
  const int64_t m = shape.dim(shape.rank() - 2);
  const int64_t n = shape.dim(shape.rank() - 1);
  const int64_t k = x.shape().dim(x.shape().rank() - (adj_x ? 2 : 1));
  RcRef<HostBuffer> conjugated;
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    if (adj_x != adj_y) {
      const DenseArg& arg = adj_x ? x : y;
      TANDEM_ASSIGN_OR_RETURN(conjugated,
                              frame.host().allocator().Allocate(static_cast<size_t>(arg.size()) * sizeof(T)));
      auto* data = static_cast<T*>(conjugated->data());
      Conjugate(frame, arg.data<T>(), arg.size(), data);
      (adj_x ? x_view : y_view).data = data;
    }
  }
  TANDEM_RETURN_IF_ERROR(BatchGemm<T>(&frame.exec().work_queue(), BatchOf(x.shape(), y.shape(), shape), m, n, k, x_view,
                                      y_view, output, n));
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    // The product of the conjugates is the conjugate of the product.
    if (adj_x && adj_y) Conjugate(frame, output, shape.num_elements(), output);
  }
  return Status();
}

constexpr CostModel kProductCost = {0, &ProductCost};

template <typename T>
constexpr KernelEntry MatMulOf() {
  return KernelEntryOf<&MatMulKernel<T>>("tf.MatMul", {kDTypeOf<T>}, kProductCost);
}
template <typename T>
constexpr KernelEntry BatchMatMulOf() {
  return KernelEntryOf<&BatchMatMulKernel<T>>("tf.BatchMatMulV2", {kDTypeOf<T>}, kProductCost);
}
template <typename T>
constexpr KernelEntry FusedMatMulOf() {
  return KernelEntryOf<&FusedMatMulKernel<T>>("tf._FusedMatMul", {kDTypeOf<T>}, kProductCost);
}

}  // namespace

double ProductCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  const TensorMetadata& result = results[0];
  const int64_t rows = args[0]->dim(args[0]->rank() - 2);
  const int64_t cols = args[0]->dim(args[0]->rank() - 1);
  const int64_t result_rows = result.dim(result.rank() - 2);
  // Of a square matrix, transposed or not, either is the inner dimension.
  const int64_t inner = rows == result_rows ? cols : rows;
  const double cost_of_product = result.dtype == DType::kF32 ? 0.02 : 0.1;
  return static_cast<double>(result.num_elements()) * static_cast<double>(inner) * cost_of_product;
}

Status RegisterLinalgKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      MatMulOf<uint8_t>(),
      MatMulOf<uint16_t>(),
      MatMulOf<int32_t>(),
      MatMulOf<uint32_t>(),
      MatMulOf<int64_t>(),
      MatMulOf<uint64_t>(),
      MatMulOf<Float16>(),
      MatMulOf<BFloat16>(),
      MatMulOf<float>(),
      MatMulOf<double>(),
      MatMulOf<std::complex<float>>(),
      BatchMatMulOf<uint8_t>(),
      BatchMatMulOf<uint16_t>(),
      BatchMatMulOf<int16_t>(),
      BatchMatMulOf<int32_t>(),
      BatchMatMulOf<uint32_t>(),
      BatchMatMulOf<int64_t>(),
      BatchMatMulOf<uint64_t>(),
      BatchMatMulOf<Float16>(),
      BatchMatMulOf<BFloat16>(),
      BatchMatMulOf<float>(),
      BatchMatMulOf<double>(),
      BatchMatMulOf<std::complex<float>>(),
      FusedMatMulOf<Float16>(),
      FusedMatMulOf<BFloat16>(),
      FusedMatMulOf<float>(),
      FusedMatMulOf<double>(),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  TANDEM_RETURN_IF_ERROR(RegisterDiagonalKernels(handler));
  return RegisterEinsumKernels(handler);
}

}  // namespace tandem::cpu
