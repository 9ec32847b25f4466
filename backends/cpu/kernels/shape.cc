// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that rearrange elements or ask for shapes. They move elements by size, whatever their dtype.

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/kernels.h"
#include "kernels/shape_movement.h"
#include "kernels/shape_strided_copy.h"

namespace tandem::cpu {
namespace {

// Distances of neighbours in each dimension of a row-major tensor, in elements.
struct RowMajorStrides {
  explicit RowMajorStrides(const TensorShape& shape) {
    int64_t stride = 1;
    for (int i = shape.rank(); i-- > 0;) {
      values[i] = stride;
      stride *= std::max<int64_t>(shape.dim(i), 1);
    }
  }
  int64_t operator[](int i) const { return values[i]; }
  int64_t values[TensorShape::kMaxRank];
};

// The dimension that a host input, already checked, names.
int ReadAxis(const Tensor& axis, int rank) {
  const int64_t given = HostInput(axis.metadata(), &axis).Int(0);
  return static_cast<int>(given < 0 ? given + rank : given);
}

int AxisAttr(const KernelFrame& frame, int rank) {
  const auto given = frame.attrs().GetOr<int64_t>("axis", 0);
  return static_cast<int>(given < 0 ? given + rank : given);
}

// Number of positions in the dimensions before `axis`.
int64_t SizeBefore(const TensorShape& shape, int axis) {
  int64_t size = 1;
  for (int i = 0; i < axis; ++i) size *= shape.dim(i);
  return size;
}

// Reshape, ExpandDims, Squeeze.
Status ReshapeKernel(KernelFrame& frame) {
  const Tensor& tensor = frame.arg(0);
  if (IsReshapable(tensor)) {
    frame.SetResult(0, WithMetadata(tensor, frame.result_metadata(0)));
    return Status();
  }
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  frame.SetResult(0, WithMetadata(*source.dense(), frame.result_metadata(0)));
  return Status();
}

// If the results, all of one shape, have no elements: makes them, and returns true.
bool GiveEmpty(KernelFrame& frame) {
  if (frame.result_metadata(0).num_elements() > 0) return false;
  for (size_t i = 0; i < frame.num_results(); ++i) {
    ElementSink sink;
    if (sink.Init(frame, i)) sink.Finish(frame);
  }
  return true;
}

// Result 0 is what `copy` makes of argument 0.
Status RunMovement(KernelFrame& frame, const ElementSource& source, const StridedCopy& copy) {
  if (copy.IsPlain()) return ReshapeKernel(frame);
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  copy.Run(frame, sink.data(), source.data());
  sink.Finish(frame);
  return Status();
}

Status TransposeKernel(KernelFrame& frame) {
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const HostInput perm(frame.arg(1).metadata(), &frame.arg(1));
  const TensorShape& shape = frame.result_metadata(0).shape;
  const RowMajorStrides from(frame.arg(0).shape());
  const RowMajorStrides to(shape);
  StridedCopy copy(source.element_size());
  for (int i = 0; i < shape.rank(); ++i) copy.AddDim(shape.dim(i), to[i], from[static_cast<int>(perm.Int(i))]);
  return RunMovement(frame, source, copy);
}

Status TileKernel(KernelFrame& frame) {
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  const RowMajorStrides from(in);
  const RowMajorStrides to(out);
  StridedCopy copy(source.element_size());
  for (int i = 0; i < in.rank(); ++i) {
    copy.AddDim(out.dim(i) / in.dim(i), in.dim(i) * to[i], 0);
    copy.AddDim(in.dim(i), to[i], from[i]);
  }
  return RunMovement(frame, source, copy);
}

Status BroadcastToKernel(KernelFrame& frame) {
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  const RowMajorStrides from(in);
  const RowMajorStrides to(out);
  const int offset = out.rank() - in.rank();
  StridedCopy copy(source.element_size());
  for (int i = 0; i < out.rank(); ++i) {
    const bool repeats = i < offset || in.dim(i - offset) == 1;
    copy.AddDim(out.dim(i), to[i], repeats ? 0 : from[i - offset]);
  }
  return RunMovement(frame, source, copy);
}

// Result 0 from the first `count` arguments, each a matrix of `rows` rows: side by side.
Status JoinArguments(KernelFrame& frame, size_t count, int64_t rows) {
  if (GiveEmpty(frame)) return Status();
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  const int64_t row = frame.result_metadata(0).num_elements() / rows;
  std::byte* to = sink.data();
  for (size_t i = 0; i < count; ++i) {
    ElementSource source;
    TANDEM_RETURN_IF_ERROR(source.Init(frame, i));
    const int64_t part = frame.arg(i).num_elements() / rows;
    StridedCopy copy(source.element_size());
    copy.AddDim(rows, row, part);
    copy.AddDim(part, 1, 1);
    copy.Run(frame, to, source.data());
    to += static_cast<size_t>(part) * source.element_size();
  }
  sink.Finish(frame);
  return Status();
}

Status ConcatKernel(KernelFrame& frame) {
  const size_t count = frame.num_args() - 1;
  const TensorShape& shape = frame.result_metadata(0).shape;
  return JoinArguments(frame, count, SizeBefore(shape, ReadAxis(frame.arg(count), shape.rank())));
}

Status PackKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.result_metadata(0).shape;
  return JoinArguments(frame, frame.num_args(), SizeBefore(shape, AxisAttr(frame, shape.rank())));
}

// Result `i` is the block that `copy` takes out of `source` from element `offset` on.
void TakeBlock(KernelFrame& frame, size_t i, const ElementSource& source, int64_t offset, const StridedCopy& copy) {
  const TensorMetadata& metadata = frame.result_metadata(i);
  const size_t byte_offset = static_cast<size_t>(offset) * source.element_size();
  if (copy.IsPlain() && source.dense() != nullptr && MayShare(*source.dense(), byte_offset, metadata.byte_size())) {
    return frame.SetResult(i, MakeView(*source.dense(), metadata, byte_offset));
  }
  ElementSink sink;
  if (!sink.Init(frame, i)) return;
  copy.Run(frame, sink.data(), source.data() + byte_offset);
  sink.Finish(frame);
}

// The results are the columns of argument `arg`, a matrix of `rows` rows, in equal parts.
Status CutArgument(KernelFrame& frame, size_t arg, int64_t rows) {
  if (frame.num_results() == 0 || SpreadScalar(frame, arg) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, arg));
  const auto count = static_cast<int64_t>(frame.num_results());
  const int64_t part = frame.result_metadata(0).num_elements() / rows;
  StridedCopy copy(source.element_size());
  copy.AddDim(rows, part, part * count);
  copy.AddDim(part, 1, 1);
  for (int64_t i = 0; i < count; ++i) TakeBlock(frame, static_cast<size_t>(i), source, i * part, copy);
  return Status();
}

Status SplitKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.arg(1).shape();
  return CutArgument(frame, 1, SizeBefore(shape, ReadAxis(frame.arg(0), shape.rank())));
}

Status UnpackKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.arg(0).shape();
  return CutArgument(frame, 0, SizeBefore(shape, AxisAttr(frame, shape.rank())));
}

Status SliceKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.result_metadata(0).shape;
  if (frame.arg(0).shape() == shape) return ReshapeKernel(frame);
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const HostInput begin(frame.arg(1).metadata(), &frame.arg(1));
  const RowMajorStrides from(frame.arg(0).shape());
  const RowMajorStrides to(shape);
  StridedCopy copy(source.element_size());
  int64_t offset = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    copy.AddDim(shape.dim(i), to[i], from[i]);
    offset += begin.Int(i) * from[i];
  }
  TakeBlock(frame, 0, source, offset, copy);
  return Status();
}

// 0 if the slice shares the input's memory wherever it begins.
double SliceCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  const TensorMetadata& in = *args[0];
  const TensorMetadata& out = results[0];
  bool is_partial = false;
  bool is_plain = true;
  size_t whole_bytes = DTypeSize(in.dtype);  // of the innermost dimensions that the slice takes as a whole
  for (int i = in.rank(); i-- > 0;) {
    if (is_partial && out.dim(i) != 1) is_plain = false;
    if (in.dim(i) != out.dim(i)) is_partial = true;
    if (!is_partial) whole_bytes *= static_cast<size_t>(in.dim(i));
  }
  const bool shares = is_plain && whole_bytes > 0 && whole_bytes % kTensorDataAlignment == 0;
  return shares ? 0 : MovementCost(args, results);
}

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

Status PadKernel(KernelFrame& frame) {
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  if (in == out) return ReshapeKernel(frame);
  if (GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  const PaddedDims dims(in, out, HostInput(frame.arg(1).metadata(), &frame.arg(1)));
  const size_t before = static_cast<size_t>(dims.row().before) * source.element_size();
  const size_t inside = static_cast<size_t>(dims.row().in) * source.element_size();
  const size_t whole = static_cast<size_t>(dims.row().out) * source.element_size();
  constexpr double kNanosecondsPerRow = 10;
  const double cost = kNanosecondsPerRow + static_cast<double>(whole) / kCopyBytesPerNanosecond;
  // All bits zero are the zero of every dtype, and the empty string_view.
  frame.ParallelFor(dims.num_rows(), cost, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::byte* to = sink.data() + static_cast<size_t>(row) * whole;
      const int64_t input_row = dims.InputRow(row);
      if (input_row < 0 || inside == 0) {
        std::memset(to, 0, whole);
        continue;
      }
      std::memset(to, 0, before);
      std::memcpy(to + before, source.data() + static_cast<size_t>(input_row) * inside, inside);
      std::memset(to + before + inside, 0, whole - before - inside);
    }
  });
  sink.Finish(frame);
  return Status();
}

// Stores a number as the i32 or i64 that the result is to have.
void StoreInt(const KernelFrame& frame, void* data, int i, int64_t value) {
  if (frame.result_metadata(0).dtype == DType::kI32) {
    static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value);
  } else {
    static_cast<int64_t*>(data)[i] = value;
  }
}

Status ShapeKernel(KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  if (out == nullptr) return Status();
  const TensorShape& shape = frame.arg(0).shape();
  for (int i = 0; i < shape.rank(); ++i) StoreInt(frame, out, i, shape.dim(i));
  return Status();
}

Status SizeKernel(KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  if (out != nullptr) StoreInt(frame, out, 0, frame.arg(0).num_elements());
  return Status();
}

Status RankKernel(KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  if (out != nullptr) StoreInt(frame, out, 0, frame.arg(0).shape().rank());
  return Status();
}

}  // namespace

Status RegisterShapeKernels(KernelOpHandler& handler) {
  struct Entry {
    std::string_view op_name;
    Kernel kernel;
  };
  constexpr CostModel kMovement = {0, &MovementCost};
  constexpr CostModel kSlice = {0, &SliceCost};
  const Entry entries[] = {
      {"tf.Reshape", MakeKernel<&ReshapeKernel>().WithCost(0)},
      {"tf.ExpandDims", MakeKernel<&ReshapeKernel>().WithCost(0)},
      {"tf.Squeeze", MakeKernel<&ReshapeKernel>().WithCost(0)},
      {"tf.Transpose", MakeKernel<&TransposeKernel>().WithCost(kMovement)},
      {"tf.ConcatV2", MakeKernel<&ConcatKernel>().WithCost(kMovement)},
      {"tf.Split", MakeKernel<&SplitKernel>().WithCost(kMovement)},
      {"tf.Slice", MakeKernel<&SliceKernel>().WithCost(kSlice)},
      {"tf.Tile", MakeKernel<&TileKernel>().WithCost(kMovement)},
      {"tf.Pad", MakeKernel<&PadKernel>().WithCost(kMovement)},
      {"tf.BroadcastTo", MakeKernel<&BroadcastToKernel>().WithCost(kMovement)},
      {"tf.Shape", MakeKernel<&ShapeKernel>().WithCost(0)},
      {"tf.Size", MakeKernel<&SizeKernel>().WithCost(0)},
      {"tf.Rank", MakeKernel<&RankKernel>().WithCost(0)},
      {"tf.Pack", MakeKernel<&PackKernel>().WithCost(kMovement)},
      {"tf.Unpack", MakeKernel<&UnpackKernel>().WithCost(kMovement)},
  };
  for (const Entry& entry : entries) {
    TANDEM_RETURN_IF_ERROR(handler.AddKernel(entry.op_name, DTypeSet::All(), entry.kernel));
  }
  return Status();
}

}  // namespace tandem::cpu
