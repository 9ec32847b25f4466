// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Broadcasting and conversion of operands, block by block.

#include "kernels/elementwise/elementwise_blocks.h"

#include <algorithm>
#include <cstring>

namespace tandem::cpu {

namespace {

constexpr size_t kBufferBytes = 4096;
// Rows at least this long are computed one by one, so that an operand that is stretched along the other dimensions is
// read where it lies; shorter ones are put together to blocks.
constexpr int64_t kLongRow = 128;
// The same where nothing need be copied.
constexpr int64_t kLongDirectRow = 32;

// `n` copies of an element.
template <size_t kSize>
void Fill(const std::byte* element, int64_t n, std::byte* out) {
  std::array<std::byte, kSize> value;
  std::memcpy(value.data(), element, kSize);
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * kSize, value.data(), kSize);
}

// Repeats `bytes` bytes until there are `total`: what is already there is copied behind it, twice as much each time.
void Repeat(const std::byte* from, size_t bytes, size_t total, std::byte* out) {
  std::memcpy(out, from, bytes);
  for (size_t done = bytes; done < total; done *= 2) std::memcpy(out + done, out, std::min(done, total - done));
}

}  // namespace

struct ElementwiseLoop::Buffers {
  struct Operand {
    // Of the element that the buffers are filled with, if it is one and the same, else null.
    const std::byte* single = nullptr;
    int64_t num_filled = 0;
    alignas(64) std::byte expanded[kBufferBytes];
    alignas(64) std::byte widened[kBufferBytes];
  };
  std::array<Operand, kMaxOperands> operands;
  alignas(64) std::byte unnarrowed[kBufferBytes];
};

ElementwiseLoop::ElementwiseLoop(const RowFunction& function, std::span<const Operand> operands,
                                 const TensorShape& result, size_t result_size)
    : function_(function), num_operands_(static_cast<int>(operands.size())), result_size_(result_size) {
  size_t widest = std::max<size_t>({1, function.widened_size, function.unnarrowed_size});
  for (int i = 0; i < num_operands_; ++i) {
    data_[i] = operands[i].data;
    sizes_[i] = operands[i].element_size;
    is_whole_[i] = !operands[i].is_single && operands[i].shape->num_elements() == result.num_elements();
    widest = std::max(widest, sizes_[i]);
  }
  block_ = static_cast<int64_t>(kBufferBytes / widest);
  SetDims(operands, result);
  ChooseRow();
}

// Chooses the row, and whether rows can be computed where their operands lie.
void ElementwiseLoop::ChooseRow() {
  const int inner = rank_ - 1;
  row_ = function_.row;
  int num_single = 0;
  for (int i = 0; i < num_operands_; ++i) num_single += strides_[i][inner] == 0 ? 1 : 0;
  const bool is_first_single = strides_[0][inner] == 0;
  Row row_for_singles = nullptr;
  if (num_operands_ > 1 && num_single == num_operands_ - 1) {
    if (!is_first_single) row_for_singles = function_.row_if_rest_single;
    if (is_first_single && num_operands_ == 2) row_for_singles = function_.row_if_first_single;
  }
  const bool is_direct = num_single == 0 || row_for_singles != nullptr;
  is_direct_ = is_direct && !function_.ConvertsAny() && dims_[inner] >= kLongDirectRow;
  if (row_for_singles == nullptr || !(is_direct_ || dims_[inner] >= kLongRow)) return;
  row_ = row_for_singles;
  for (int i = 0; i < num_operands_; ++i) is_single_[i] = strides_[i][inner] == 0;
}

void ElementwiseLoop::SetDims(std::span<const Operand> operands, const TensorShape& result) {
  // From the innermost dimension outwards; reversed at the end.
  std::array<int64_t, kMaxOperands> step;
  step.fill(1);
  for (int axis = result.rank() - 1; axis >= 0; --axis) {
    const int64_t dim = result.dim(axis);
    if (dim == 1) continue;
    std::array<int64_t, kMaxOperands> stride = {};
    bool merges = rank_ > 0;
    for (int i = 0; i < num_operands_; ++i) {
      const TensorShape& shape = *operands[i].shape;
      const int own_axis = axis - (result.rank() - shape.rank());
      if (!operands[i].is_single && own_axis >= 0 && shape.dim(own_axis) != 1) {
        stride[i] = step[i];
        step[i] *= dim;
      }
      merges = merges && stride[i] == strides_[i][rank_ - 1] * dims_[rank_ - 1];
    }
    if (merges) {
      dims_[rank_ - 1] *= dim;
      continue;
    }
    dims_[rank_] = dim;
    for (int i = 0; i < num_operands_; ++i) strides_[i][rank_] = stride[i];
    ++rank_;
  }
  if (rank_ == 0) {
    dims_[0] = 1;
    for (int i = 0; i < num_operands_; ++i) strides_[i][0] = 0;
    rank_ = 1;
  }
  std::reverse(dims_.begin(), dims_.begin() + rank_);
  for (int i = 0; i < num_operands_; ++i) std::reverse(strides_[i].begin(), strides_[i].begin() + rank_);
}

void ElementwiseLoop::SetIndex(int64_t position, Dims& index) const {
  for (int axis = rank_ - 1; axis > 0; --axis) {
    index[axis] = position % dims_[axis];
    position /= dims_[axis];
  }
  index[0] = position;
}

void ElementwiseLoop::Advance(Dims& index, int64_t n) const {
  index[rank_ - 1] += n;
  for (int axis = rank_ - 1; axis > 0 && index[axis] >= dims_[axis]; --axis) {
    index[axis - 1] += index[axis] / dims_[axis];
    index[axis] %= dims_[axis];
  }
}

// Copies elements of kSize bytes along the two innermost dimensions at a time: whole rows where it can, else part of
// one.
template <size_t kSize>
void ElementwiseLoop::Expand(int operand, Dims index, int64_t n, std::byte* out) const {
  const Dims& strides = strides_[operand];
  const int inner = rank_ - 1;
  const int64_t row = dims_[inner];
  while (n > 0) {
    const std::byte* from = data_[operand];
    for (int axis = 0; axis < rank_; ++axis) from += index[axis] * strides[axis] * static_cast<int64_t>(kSize);
    int64_t rows = 1;
    int64_t length = std::min(n, row - index[inner]);
    if (inner > 0 && length == row) rows = std::min(n / row, dims_[inner - 1] - index[inner - 1]);
    const int64_t step = inner > 0 ? strides[inner - 1] : 0;
    if (strides[inner] == 0) {
      std::byte* to = out;
      for (int64_t r = 0; r < rows; ++r, to += length * kSize) Fill<kSize>(from + r * step * kSize, length, to);
    } else if (step == row && rows > 1) {
      std::memcpy(out, from, rows * length * kSize);
    } else if (step == 0) {
      Repeat(from, length * kSize, rows * length * kSize, out);
    } else {
      std::byte* to = out;
      for (int64_t r = 0; r < rows; ++r, to += length * kSize) {
        std::memcpy(to, from + r * step * kSize, length * kSize);
      }
    }
    out += rows * length * kSize;
    n -= rows * length;
    Advance(index, rows * length);
  }
}

void ElementwiseLoop::ExpandAny(int operand, const Dims& index, int64_t n, std::byte* out) const {
  switch (sizes_[operand]) {
    case 1:
      return Expand<1>(operand, index, n, out);
    case 2:
      return Expand<2>(operand, index, n, out);
    case 4:
      return Expand<4>(operand, index, n, out);
    default:
      return Expand<8>(operand, index, n, out);
  }
}

const std::byte* ElementwiseLoop::Locate(int operand, const Dims& index) const {
  int64_t offset = 0;
  for (int axis = 0; axis < rank_; ++axis) offset += index[axis] * strides_[operand][axis];
  return data_[operand] + offset * static_cast<int64_t>(sizes_[operand]);
}

const void* ElementwiseLoop::ReadSingle(int operand, const Dims& index, Buffers& buffers) const {
  const void* element = Locate(operand, index);
  if (function_.widen == nullptr) return element;
  function_.widen(&element, buffers.operands[operand].widened, 1);
  return buffers.operands[operand].widened;
}

const void* ElementwiseLoop::Read(int operand, int64_t position, const Dims& index, int64_t n, Buffers& buffers) const {
  if (is_single_[operand]) return ReadSingle(operand, index, buffers);
  if (!is_whole_[operand]) return ReadStretched(operand, index, n, buffers);
  const void* elements = data_[operand] + position * static_cast<int64_t>(sizes_[operand]);
  if (function_.widen == nullptr) return elements;
  std::byte* widened = buffers.operands[operand].widened;
  function_.widen(&elements, widened, n);
  return widened;
}

const void* ElementwiseLoop::ReadStretched(int operand, const Dims& index, int64_t n, Buffers& all_buffers) const {
  Buffers::Operand& buffers = all_buffers.operands[operand];
  const Dims& strides = strides_[operand];
  const std::byte* from = Locate(operand, index);
  const bool in_one_row = index[rank_ - 1] + n <= dims_[rank_ - 1];
  const bool is_single = in_one_row && strides[rank_ - 1] == 0;
  if (!is_single || buffers.single != from || buffers.num_filled < n) {
    const void* elements = from;
    if (is_single || !in_one_row) {
      ExpandAny(operand, index, n, buffers.expanded);
      elements = buffers.expanded;
    } else if (function_.widen == nullptr) {
      return elements;
    }
    if (function_.widen != nullptr) function_.widen(&elements, buffers.widened, n);
    buffers.single = is_single ? from : nullptr;
    buffers.num_filled = n;
  }
  return function_.widen == nullptr ? buffers.expanded : buffers.widened;
}

void ElementwiseLoop::ComputeBlock(int64_t begin, int64_t n, const Dims& index, Buffers& buffers, std::byte* to) const {
  std::array<const void*, kMaxOperands + 1> operands;
  operands[num_operands_] = function_.parameter;
  for (int i = 0; i < num_operands_; ++i) operands[i] = Read(i, begin, index, n, buffers);
  if (function_.narrow == nullptr) return row_(operands.data(), to, n);
  row_(operands.data(), buffers.unnarrowed, n);
  const void* unnarrowed = buffers.unnarrowed;
  function_.narrow(&unnarrowed, to, n);
}

// The elements [begin, end), row by row along the innermost dimension; without conversions.
void ElementwiseLoop::ComputeDirect(int64_t begin, int64_t end, std::byte* to) const {
  Dims index;
  SetIndex(begin, index);
  const int inner = rank_ - 1;
  std::array<const void*, kMaxOperands + 1> operands;
  operands[num_operands_] = function_.parameter;
  while (begin < end) {
    for (int i = 0; i < num_operands_; ++i) operands[i] = Locate(i, index);
    // From here to the end of the dimension outside the innermost one, every row is one step further.
    const int64_t rows = inner > 0 ? dims_[inner - 1] - index[inner - 1] : 1;
    const int64_t first = std::min(end - begin, dims_[inner] - index[inner]);
    int64_t n = first;
    for (int64_t r = 0; r < rows && n > 0; ++r) {
      row_(operands.data(), to, n);
      to += n * static_cast<int64_t>(result_size_);
      begin += n;
      for (int i = 0; i < num_operands_ && inner > 0; ++i) {
        const int64_t back = r == 0 ? index[inner] * strides_[i][inner] : 0;
        const int64_t step = (strides_[i][inner - 1] - back) * static_cast<int64_t>(sizes_[i]);
        operands[i] = static_cast<const std::byte*>(operands[i]) + step;
      }
      n = std::min(end - begin, dims_[inner]);
    }
    SetIndex(begin, index);
  }
}

void ElementwiseLoop::ComputeAt(int64_t begin, int64_t end, std::byte* to) const {
  if (is_direct_) return ComputeDirect(begin, end, to);
  Buffers buffers;
  Dims index;
  SetIndex(begin, index);
  const int64_t row = dims_[rank_ - 1];
  while (begin < end) {
    int64_t n = std::min(block_, end - begin);
    if (row >= kLongRow) n = std::min(n, row - index[rank_ - 1]);
    ComputeBlock(begin, n, index, buffers, to);
    to += n * static_cast<int64_t>(result_size_);
    begin += n;
    Advance(index, n);
  }
}

}  // namespace tandem::cpu
