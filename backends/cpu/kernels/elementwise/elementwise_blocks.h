// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise computation over any mix of dense, stretched and single-valued operands, by means of one function over
// contiguous elements.
//
// An op has one such function (a Row) per element type and instruction set: broadcasting and the conversion of f16 and
// bf16 are done here, once for all. Long rows are computed where their operands lie, everything else block by block in
// buffers that stay in the first-level cache. That keeps the code small (no function per op, dtype and form of
// broadcasting); ops of floats have further ones for the common case of one element that stands for a row.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_BLOCKS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_BLOCKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tandem/tensor.h"

namespace tandem::cpu {

inline constexpr int kMaxOperands = 3;

// Computes `n` contiguous elements from `n` contiguous elements of each operand. `out` may be one of the operands, if
// elements are of the same size; otherwise it does not overlap them. No alignment is needed. Behind the operands there
// may be the address of a parameter, one for all elements.
using Row = void (*)(const void* const* operands, void* out, int64_t n);

// A Row and the conversions around it.
struct RowFunction {
  Row row = nullptr;
  // The same where there is one element, which stands for all, of the first operand or of each of the others; null:
  // none.
  Row row_if_first_single = nullptr;
  Row row_if_rest_single = nullptr;
  Row widen = nullptr;   // of each operand, to the type that `row` takes; null: none
  Row narrow = nullptr;  // of what `row` gives, to the result's type; null: none
  uint8_t widened_size = 0;
  uint8_t unnarrowed_size = 0;
  const void* parameter = nullptr;  // for `row`; null: it takes none
  bool ConvertsAny() const { return widen != nullptr || narrow != nullptr; }
};

// The elements of an argument: dense, or a single one that stands for all.
struct Operand {
  const std::byte* data;
  const TensorShape* shape;
  size_t element_size;
  bool is_single;
};

// One element-wise computation. Immutable; ranges may be computed by several threads at once.
class ElementwiseLoop {
 public:
  // `operands`, at most kMaxOperands, broadcast to `result`, which has elements, of `result_size` bytes each. The
  // function and the data of the operands must outlive the loop.
  ElementwiseLoop(const RowFunction& function, std::span<const Operand> operands, const TensorShape& result,
                  size_t result_size);

  // Computes the elements [begin, end), in row-major order, of the result at `out`. The result may be in the memory of
  // an operand that has its shape and elements of its size.
  void Compute(int64_t begin, int64_t end, std::byte* out) const {
    ComputeAt(begin, end, out + begin * static_cast<int64_t>(result_size_));
  }
  // The same, where the element `begin` goes to `to`.
  void ComputeAt(int64_t begin, int64_t end, std::byte* to) const;

 private:
  using Dims = std::array<int64_t, TensorShape::kMaxRank>;
  struct Buffers;

  void SetDims(std::span<const Operand> operands, const TensorShape& result);
  void ChooseRow();
  void ComputeDirect(int64_t begin, int64_t end, std::byte* to) const;
  void ComputeBlock(int64_t begin, int64_t n, const Dims& index, Buffers& buffers, std::byte* to) const;
  const std::byte* Locate(int operand, const Dims& index) const;
  void SetIndex(int64_t position, Dims& index) const;
  void Advance(Dims& index, int64_t n) const;
  const void* Read(int operand, int64_t position, const Dims& index, int64_t n, Buffers& buffers) const;
  const void* ReadSingle(int operand, const Dims& index, Buffers& buffers) const;
  const void* ReadStretched(int operand, const Dims& index, int64_t n, Buffers& buffers) const;
  template <size_t kSize>
  void Expand(int operand, Dims index, int64_t n, std::byte* out) const;
  void ExpandAny(int operand, const Dims& index, int64_t n, std::byte* out) const;

  const RowFunction& function_;
  int num_operands_;
  // The result's dimensions, adjacent ones merged where all operands allow it, and how many elements of an operand a
  // step along each takes it forward: 0 where it is stretched.
  int rank_ = 0;
  Dims dims_;
  std::array<Dims, kMaxOperands> strides_;
  std::array<bool, kMaxOperands> is_whole_;        // has every element of the result, in its order
  std::array<bool, kMaxOperands> is_single_ = {};  // has one element for each row of the result, for a row_ that knows
  Row row_;
  bool is_direct_;  // rows can be computed where their operands lie
  std::array<const std::byte*, kMaxOperands> data_;
  std::array<size_t, kMaxOperands> sizes_;
  size_t result_size_;
  int64_t block_;  // elements that fit in a buffer
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_BLOCKS_H_
