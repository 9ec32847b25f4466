// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that surround a tensor: Pad, PadV2, MirrorPad.

#include <cstring>
#include <string_view>
#include <utility>

#include "kernels/polls.h"
#include "kernels/shape/shape_kernels.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/shape/shape_strided_copy.h"

namespace tandem::cpu {
namespace {

// One dimension of Pad; sizes in elements.
struct PaddedDim {
  int64_t before;
  int64_t in;
  int64_t out;
};

// The dimensions of Pad, innermost first; those without padding are part of the next one outwards.
class PaddedDims {
 public:
  PaddedDims(const TensorShape& in, const TensorShape& out, const HostInput& paddings) {
    for (int i = in.rank(); i-- > 0;) {
      PaddedDim& last = dims_[rank_ - 1];
      const PaddedDim dim = {paddings.Int(2 * i), in.dim(i), out.dim(i)};
      if (last.in == last.out) {
        last = {dim.before * last.out, dim.in * last.out, dim.out * last.out};
      } else {
        dims_[rank_++] = dim;
      }
    }
  }
  const PaddedDim& row() const { return dims_[0]; }
  int64_t num_rows() const {
    int64_t rows = 1;
    for (int i = 1; i < rank_; ++i) rows *= dims_[i].out;
    return rows;
  }
  // Which row of the input is in row `row` of the result; -1 if that is all padding.
  int64_t InputRow(int64_t row) const {
    int64_t result = 0;
    int64_t stride = 1;
    for (int i = 1; i < rank_; ++i) {
      const int64_t position = row % dims_[i].out - dims_[i].before;
      if (position < 0 || position >= dims_[i].in) return -1;
      result += position * stride;
      stride *= dims_[i].in;
      row /= dims_[i].out;
    }
    return result;
  }

 private:
  int rank_ = 1;
  PaddedDim dims_[TensorShape::kMaxRank + 1] = {{0, 1, 1}};
};

// What fills the space around a tensor.
struct Filling {
  const std::byte* value;  // one element; null: all bits zero, the zero of every dtype, and the empty string_view
  size_t element_size;

  void Write(std::byte* to, size_t bytes) const {
    if (value == nullptr) {
      ClearLong(to, bytes);
    } else {
      FillElements(to, static_cast<int64_t>(bytes / element_size), value, element_size);
    }
  }
};

constexpr double kNanosecondsPerRow = 10;

Status PadWith(KernelFrame& frame, const ElementSource& source, const Filling& filling) {
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  const PaddedDims dims(frame.arg(0).shape(), frame.result_metadata(0).shape,
                        HostInput(frame.arg(1).metadata(), &frame.arg(1)));
  const size_t before = static_cast<size_t>(dims.row().before) * source.element_size();
  const size_t inside = static_cast<size_t>(dims.row().in) * source.element_size();
  const size_t whole = static_cast<size_t>(dims.row().out) * source.element_size();
  const double cost = kNanosecondsPerRow + static_cast<double>(whole) / kCopyBytesPerNanosecond;
  frame.ParallelFor(dims.num_rows(), cost, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::byte* to = sink.data() + static_cast<size_t>(row) * whole;
      const int64_t input_row = dims.InputRow(row);
      if (input_row < 0 || inside == 0) {
        filling.Write(to, whole);
        continue;
      }
      filling.Write(to, before);
      CopyLong(to + before, source.data() + static_cast<size_t>(input_row) * inside, inside);
      filling.Write(to + before + inside, whole - before - inside);
    }
  });
  sink.Finish(frame);
  return Status();
}

Status PadKernel(KernelFrame& frame) {
  if (frame.arg(0).shape() == frame.result_metadata(0).shape) return ReshapeArgument(frame);
  if (GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  return PadWith(frame, source, {nullptr, source.element_size()});
}

Status PadV2Kernel(KernelFrame& frame) {
  if (frame.arg(0).shape() == frame.result_metadata(0).shape) return ReshapeArgument(frame);
  if (GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  ElementSource value;
  TANDEM_RETURN_IF_ERROR(value.Init(frame, 2));
  return PadWith(frame, source, {value.data(), value.element_size()});
}

// The dimensions of MirrorPad: units of the innermost ones, which have no padding, in rows of the next one.
class MirroredDims {
 public:
  MirroredDims(const TensorShape& in, const TensorShape& out, const HostInput& paddings, bool repeats_edge)
      : edge_(repeats_edge ? 0 : 1) {
    int i = in.rank() - 1;
    for (; in.dim(i) == out.dim(i); --i) unit_ *= in.dim(i);
    for (; i >= 0; --i) dims_[rank_++] = {paddings.Int(2 * i), in.dim(i), out.dim(i)};
  }
  int64_t unit() const { return unit_; }
  const PaddedDim& row() const { return dims_[0]; }
  int64_t num_rows() const {
    int64_t rows = 1;
    for (int i = 1; i < rank_; ++i) rows *= dims_[i].out;
    return rows;
  }
  // Which row of the input is in row `row` of the result.
  int64_t InputRow(int64_t row) const {
    int64_t result = 0;
    int64_t stride = 1;
    for (int i = 1; i < rank_; ++i) {
      const PaddedDim& dim = dims_[i];
      result += Mirror(row % dim.out - dim.before, dim.in) * stride;
      stride *= dim.in;
      row /= dim.out;
    }
    return result;
  }
  // The elements that are at the ends of a row's paddings, next to the input's own.
  int64_t MirrorOfBefore() const { return Mirror(-1, dims_[0].in); }
  int64_t MirrorOfAfter() const { return Mirror(dims_[0].in, dims_[0].in); }

 private:
  int64_t Mirror(int64_t position, int64_t size) const {
    if (position < 0) return edge_ - 1 - position;
    return position < size ? position : 2 * size - 1 - edge_ - position;
  }

  int64_t edge_;
  int64_t unit_ = 1;
  int rank_ = 0;
  PaddedDim dims_[TensorShape::kMaxRank];
};

// `count` units from `from` on downwards.
void CopyBackwards(std::byte* to, const std::byte* from, int64_t count, size_t unit) {
  if (unit > sizeof(Bytes16) || (unit & (unit - 1)) != 0) {
    for (; count > 0; --count, to += unit, from -= unit) std::memcpy(to, from, unit);
    return;
  }
  WithElementType(unit, [&]<typename T>(std::type_identity<T>) {
    const auto size = static_cast<ptrdiff_t>(count);
    constexpr ptrdiff_t kSize = sizeof(T);
    for (ptrdiff_t i = 0; i < size; ++i) std::memcpy(to + i * kSize, from - i * kSize, sizeof(T));
  });
}

Status MirrorPadKernel(KernelFrame& frame) {
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  if (in == out) return ReshapeArgument(frame);
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  const bool repeats_edge = frame.attrs().GetOr<std::string_view>("mode", "") == "SYMMETRIC";
  const MirroredDims dims(in, out, HostInput(frame.arg(1).metadata(), &frame.arg(1)), repeats_edge);
  const PaddedDim& row_dim = dims.row();
  const size_t unit = static_cast<size_t>(dims.unit()) * source.element_size();
  const size_t before = static_cast<size_t>(row_dim.before) * unit;
  const size_t inside = static_cast<size_t>(row_dim.in) * unit;
  const size_t whole = static_cast<size_t>(row_dim.out) * unit;
  const int64_t num_after = row_dim.out - row_dim.in - row_dim.before;
  const double cost = kNanosecondsPerRow + static_cast<double>(whole) / kCopyBytesPerNanosecond;
  frame.ParallelFor(dims.num_rows(), cost, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::byte* to = sink.data() + static_cast<size_t>(row) * whole;
      const std::byte* from = source.data() + static_cast<size_t>(dims.InputRow(row)) * inside;
      if (row_dim.before > 0) {
        const int64_t first = dims.MirrorOfBefore() + row_dim.before - 1;
        CopyBackwards(to, from + static_cast<size_t>(first) * unit, row_dim.before, unit);
      }
      CopyLong(to + before, from, inside);
      if (num_after > 0) {
        const std::byte* last = from + static_cast<size_t>(dims.MirrorOfAfter()) * unit;
        CopyBackwards(to + before + inside, last, num_after, unit);
      }
    }
  });
  sink.Finish(frame);
  return Status();
}

}  // namespace

Status RegisterShapePadKernels(KernelOpHandler& handler) {
  static constexpr CostModel kMovement = {0, &MovementCost};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&PadKernel>("tf.Pad", DTypeSet::All(), kMovement),
      KernelEntryOf<&PadV2Kernel>("tf.PadV2", DTypeSet::All(), kMovement),
      KernelEntryOf<&MirrorPadKernel>("tf.MirrorPad", DTypeSet::All(), kMovement),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
