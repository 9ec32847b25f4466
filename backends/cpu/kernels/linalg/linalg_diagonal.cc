// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MatrixBandPart, MatrixDiag, MatrixDiagPart, Diag, DiagPart: elements moved as bytes, since zero is all bits 0 for
// every dtype.

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/linalg/linalg.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/shape/shape_strided_copy.h"

namespace tandem::cpu {

namespace {

// Nanoseconds a row, besides those for its bytes.
constexpr double kRowCost = 5;

double RowCost(int64_t row_bytes) { return kRowCost + static_cast<double>(row_bytes) / kCopyBytesPerNanosecond; }

int64_t BandAt(const Tensor& band) {
  return band.dtype() == DType::kI32 ? *static_cast<const int32_t*>(band.data())
                                     : *static_cast<const int64_t*>(band.data());
}

Status MatrixBandPartKernel(DenseArg input, const Tensor& num_lower, const Tensor& num_upper, KernelFrame& frame) {
  const TensorShape& shape = input.shape();
  auto* out = frame.ForwardOrAllocateResult<std::byte>(0, {0});
  if (out == nullptr || input.size() == 0) return Status();
  const int64_t num_rows = shape.dim(shape.rank() - 2);
  const int64_t num_cols = shape.dim(shape.rank() - 1);
  int64_t lower = BandAt(num_lower);
  int64_t upper = BandAt(num_upper);
  if (lower < 0) lower = num_rows;
  if (upper < 0) upper = num_cols;
  const auto size = static_cast<int64_t>(DTypeSize(input.dtype()));
  const auto* in = input.data<std::byte>();
  frame.ParallelFor(input.size() / num_cols, RowCost(num_cols * size), [&](int64_t begin, int64_t end) {
    int64_t row = begin % num_rows;
    for (int64_t i = begin; i < end; ++i, row = row + 1 == num_rows ? 0 : row + 1) {
      // The kept part of the row, in bytes.
      const int64_t first = std::clamp<int64_t>(row - lower, 0, num_cols) * size;
      const int64_t last = std::clamp<int64_t>(row + upper + 1, 0, num_cols) * size;
      const int64_t row_bytes = num_cols * size;
      std::byte* to = out + i * row_bytes;
      std::memset(to, 0, static_cast<size_t>(first));
      if (out != in && first < last) {
        std::memcpy(to + first, in + i * row_bytes + first, static_cast<size_t>(last - first));
      }
      std::memset(to + last, 0, static_cast<size_t>(row_bytes - last));
    }
  });
  return Status();
}

template <typename T>
void FillDiagonalRows(const void* diagonal, int64_t k, int64_t begin, int64_t end, void* out) {
  const auto* from = static_cast<const T*>(diagonal);
  auto* to = static_cast<T*>(out) + begin * k;
  std::memset(to, 0, static_cast<size_t>(end - begin) * static_cast<size_t>(k) * sizeof(T));
  int64_t col = begin % k;
  for (int64_t i = begin; i < end; ++i, to += k, col = col + 1 == k ? 0 : col + 1) to[col] = from[i];
}

// Matrices of `k` rows, the diagonal of each made of the next k elements.
Status FillDiagonals(DenseArg diagonal, int64_t k, KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  if (out == nullptr || diagonal.size() == 0) return Status();
  const size_t size = DTypeSize(diagonal.dtype());
  frame.ParallelFor(diagonal.size(), RowCost(k * static_cast<int64_t>(size)), [&](int64_t begin, int64_t end) {
    WithElementType(size, [&]<typename T>(std::type_identity<T>) {
      FillDiagonalRows<T>(diagonal.data<void>(), k, begin, end, out);
    });
  });
  return Status();
}

Status MatrixDiagKernel(DenseArg diagonal, KernelFrame& frame) {
  return FillDiagonals(diagonal, diagonal.shape().dim(diagonal.shape().rank() - 1), frame);
}

Status DiagKernel(DenseArg diagonal, KernelFrame& frame) { return FillDiagonals(diagonal, diagonal.size(), frame); }

// From matrices of `num_cols` columns the first `k` elements of each diagonal.
Status TakeDiagonals(DenseArg input, int64_t k, int64_t num_cols, KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  const int64_t size = frame.result_metadata(0).num_elements();
  if (out == nullptr || size == 0) return Status();
  StridedCopy copy(DTypeSize(input.dtype()));
  copy.AddDim(size / k, k, input.size() / (size / k));
  copy.AddDim(k, 1, num_cols + 1);
  copy.Run(frame, out, input.data<void>());
  return Status();
}

Status MatrixDiagPartKernel(DenseArg input, KernelFrame& frame) {
  const TensorShape& shape = frame.result_metadata(0).shape;
  return TakeDiagonals(input, shape.dim(shape.rank() - 1), input.shape().dim(input.shape().rank() - 1), frame);
}

Status DiagPartKernel(DenseArg input, KernelFrame& frame) {
  const int64_t size = frame.result_metadata(0).num_elements();
  return TakeDiagonals(input, size, size, frame);
}

}  // namespace

Status RegisterDiagonalKernels(KernelOpHandler& handler) {
  static constexpr CostModel kMovement = {0, &MovementCost};
  constexpr DTypeSet kDiagDTypes = kFloatDTypes | DTypeSet{DType::kI32, DType::kI64, DType::kC64};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&MatrixBandPartKernel>("tf.MatrixBandPart", kFixedSizeDTypes, kMovement),
      KernelEntryOf<&MatrixDiagKernel>("tf.MatrixDiag", kFixedSizeDTypes, kMovement),
      KernelEntryOf<&MatrixDiagPartKernel>("tf.MatrixDiagPart", kFixedSizeDTypes, kMovement),
      KernelEntryOf<&DiagKernel>("tf.Diag", kDiagDTypes, kMovement),
      KernelEntryOf<&DiagPartKernel>("tf.DiagPart", kDiagDTypes, kMovement),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
