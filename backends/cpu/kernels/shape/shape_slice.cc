// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that take elements at regular distances: Slice, StridedSlice, ReverseV2.

#include <algorithm>

#include "kernels/shape/shape_kernels.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/shape/shape_strided_copy.h"
#include "tandem/op_axis.h"
#include "tandem/strided_slice.h"

namespace tandem::cpu {
namespace {

Status SliceKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.result_metadata(0).shape;
  if (frame.arg(0).shape() == shape) return ReshapeArgument(frame);
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

// As if it always copied: whether it shares memory depends on the content of its host inputs.
double StridedSliceCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  constexpr double kNanosecondsPerElement = 0.7;
  const double moved = MovementCost(args, results);
  return std::max(moved, kNanosecondsPerElement * static_cast<double>(results[0].num_elements()));
}

Status StridedSliceKernel(KernelFrame& frame) {
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  const auto host_input = [&frame](size_t i) { return HostInput(frame.arg(i).metadata(), &frame.arg(i)); };
  const TensorMetadata& input = frame.arg(0).metadata();
  TANDEM_ASSIGN_OR_RETURN(const StridedSlice slice,
                          StridedSlice::Resolve(input, host_input(1), host_input(2), host_input(3), frame.attrs()));
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const RowMajorStrides from(input.shape);
  StridedCopy copy(source.element_size());
  int64_t offset = 0;
  int64_t distance = slice.result.num_elements();
  for (int i = 0; i < input.rank(); ++i) {
    const SliceDim& dim = slice.dims[i];
    distance /= dim.size;
    copy.AddDim(dim.size, distance, dim.step * from[i]);
    offset += dim.begin * from[i];
  }
  if (slice.result.num_elements() == input.num_elements()) return RunMovement(frame, source, copy, offset);
  TakeBlock(frame, 0, source, offset, copy);
  return Status();
}

Status ReverseKernel(KernelFrame& frame) {
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const TensorShape& shape = frame.arg(0).shape();
  bool is_reversed[TensorShape::kMaxRank] = {};
  MarkAxes(frame.arg(1), shape.rank(), is_reversed);
  const RowMajorStrides strides(shape);
  StridedCopy copy(source.element_size());
  int64_t offset = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    copy.AddDim(shape.dim(i), strides[i], is_reversed[i] ? -strides[i] : strides[i]);
    if (is_reversed[i]) offset += (shape.dim(i) - 1) * strides[i];
  }
  return RunMovement(frame, source, copy, offset);
}

}  // namespace

Status RegisterShapeSliceKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&SliceKernel>("tf.Slice", DTypeSet::All(), {0, &SliceCost}),
      KernelEntryOf<&StridedSliceKernel>("tf.StridedSlice", DTypeSet::All(), {0, &StridedSliceCost}),
      KernelEntryOf<&ReverseKernel>("tf.ReverseV2", DTypeSet::All(), {0, &StridedSliceCost}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
