// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise kernels: rows put to work on whole tensors.

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "kernels/elementwise_blocks.h"
#include "kernels/elementwise_rows.h"
#include "kernels/elementwise_strings.h"
#include "kernels/kernels.h"
#include "tandem/host_context.h"

namespace tandem::cpu {

namespace {

// About the time to read or write one byte, and to convert an element of f16 or bf16 there and back, in nanoseconds.
constexpr float kByteCost = 0.02f;
constexpr float kConversionCost = 0.2f;

Status MakeOperand(KernelFrame& frame, size_t i, Operand* operand) {
  const Tensor& tensor = frame.arg(i);
  const bool is_dense = tensor.IsA(kDenseHost);
  if (!is_dense && !tensor.IsA(kScalarHost)) [[unlikely]] {
    const Tensor* dense = nullptr;
    std::unique_ptr<Tensor> expanded;
    return internal::RequireDense(frame, i, &dense, expanded);  // the error that other kernels give
  }
  *operand = {static_cast<const std::byte*>(tensor.data()), &tensor.shape(), !is_dense};
  return Status();
}

// Memory for the result, if possible that of an argument of the result's shape and element size.
std::byte* MakeResult(KernelFrame& frame) {
  switch (frame.num_args()) {
    case 1:
      return frame.ForwardOrAllocateResult<std::byte>(0, {0});
    case 2:
      return frame.ForwardOrAllocateResult<std::byte>(0, {0, 1});
    default:
      return frame.ForwardOrAllocateResult<std::byte>(0, {1, 2, 0});
  }
}

// `operands` all have the result's shape and are dense, and nothing is converted.
void ComputeDense(const KernelFrame& frame, Row row, float cost, std::span<const Operand> operands, std::byte* out) {
  const TensorMetadata& result = frame.result_metadata(0);
  std::array<const void*, kMaxOperands> whole;
  for (size_t i = 0; i < operands.size(); ++i) whole[i] = operands[i].data;
  constexpr int64_t kSmall = 1024;
  if (result.num_elements() <= kSmall) return row(whole.data(), out, result.num_elements());
  const auto result_size = static_cast<int64_t>(DTypeSize(result.dtype));
  frame.ParallelFor(result.num_elements(), cost, [&](int64_t begin, int64_t end) {
    std::array<const void*, kMaxOperands> part;
    for (size_t i = 0; i < operands.size(); ++i) part[i] = operands[i].data + begin * operands[i].element_size;
    row(part.data(), out + begin * result_size, end - begin);
  });
}

// Result 0 from all arguments, in their order or, if there are two and `swaps`, the other way round.
Status Compute(KernelFrame& frame, const RowFunction& function, float cost, bool swaps) {
  const TensorMetadata& result = frame.result_metadata(0);
  const int64_t n = result.num_elements();
  const size_t num_operands = frame.num_args();
  std::array<Operand, kMaxOperands> storage;
  const std::span operands(storage.data(), num_operands);
  bool is_dense = !function.ConvertsAny();
  for (size_t i = 0; i < num_operands; ++i) {
    Operand& operand = operands[swaps ? 1 - i : i];
    TANDEM_RETURN_IF_ERROR(MakeOperand(frame, i, &operand));
    is_dense = is_dense && operand.shape->num_elements() == n && (n == 1 || !operand.is_single);
  }
  std::byte* out = MakeResult(frame);
  if (out == nullptr || n == 0) return Status();
  if (is_dense) {
    ComputeDense(frame, function.row, cost, operands, out);
    return Status();
  }
  const ElementwiseLoop loop(function, operands, result.shape, DTypeSize(result.dtype));
  frame.ParallelFor(n, cost, [&](int64_t begin, int64_t end) { loop.Compute(begin, end, out); });
  return Status();
}

struct RowKernel {
  RowFunction function;
  float cost;
  bool swaps;
  OperandCheck check;

  Status operator()(KernelFrame& frame) const {
    if (check != nullptr && frame.result_metadata(0).num_elements() > 0) {
      const size_t last = frame.num_args() - 1;
      Operand operand;
      TANDEM_RETURN_IF_ERROR(MakeOperand(frame, last, &operand));
      TANDEM_RETURN_IF_ERROR(check(operand.data, operand.is_single ? 1 : operand.shape->num_elements()));
    }
    return Compute(frame, function, cost, swaps);
  }
};
