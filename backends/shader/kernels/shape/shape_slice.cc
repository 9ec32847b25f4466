// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that take elements at regular distances: Slice, StridedSlice, ReverseV2.

#include "kernels/shape/movement.h"
#include "kernels/shape/shape_kernels.h"
#include "tandem/op_axis.h"
#include "tandem/strided_slice.h"

namespace tandem::shader {

namespace {

Status SliceKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.result_metadata(0).shape;
  const HostInput begin(frame.arg(1).metadata(), &frame.arg(1));
  const RowMajorStrides from(frame.arg(0).shape());
  StridedCopy copy;
  for (int i = 0; i < shape.rank(); ++i) {
    copy.AddDim(shape.dim(i), from[i]);
    copy.AddOffset(begin.Int(i) * from[i]);
  }
  ShaderCall call(frame);
  CopyArgument(call, frame, 0, 0, copy);
  return call.Finish();
}

Status StridedSliceKernel(KernelFrame& frame) {
  const auto host_input = [&frame](size_t i) { return HostInput(frame.arg(i).metadata(), &frame.arg(i)); };
  const TensorMetadata& input = frame.arg(0).metadata();
  TANDEM_ASSIGN_OR_RETURN(const StridedSlice slice,
                          StridedSlice::Resolve(input, host_input(1), host_input(2), host_input(3), frame.attrs()));
  const RowMajorStrides from(input.shape);
  StridedCopy copy;
  for (int i = 0; i < input.rank(); ++i) {
    const SliceDim& dim = slice.dims[i];
    copy.AddDim(dim.size, dim.step * from[i]);
    copy.AddOffset(dim.begin * from[i]);
  }
  ShaderCall call(frame);
  CopyArgument(call, frame, 0, 0, copy);
  return call.Finish();
}

Status ReverseKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.arg(0).shape();
  bool is_reversed[TensorShape::kMaxRank] = {};
  MarkAxes(frame.arg(1), shape.rank(), is_reversed);
  const RowMajorStrides strides(shape);
  StridedCopy copy;
  for (int i = 0; i < shape.rank(); ++i) {
    copy.AddDim(shape.dim(i), is_reversed[i] ? -strides[i] : strides[i]);
    if (is_reversed[i]) copy.AddOffset((shape.dim(i) - 1) * strides[i]);
  }
  ShaderCall call(frame);
  CopyArgument(call, frame, 0, 0, copy);
  return call.Finish();
}

}  // namespace

Status RegisterShapeSliceKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&SliceKernel>("tf.Slice", kFixedSizeDTypes),
      KernelEntryOf<&StridedSliceKernel>("tf.StridedSlice", kFixedSizeDTypes),
      KernelEntryOf<&ReverseKernel>("tf.ReverseV2", kFixedSizeDTypes),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::shader
