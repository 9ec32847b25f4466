// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that join tensors or take them apart: ConcatV2, Split, SplitV, Pack, Unpack.

#include <array>

#include "kernels/shape/concat.h"
#include "kernels/shape/movement.h"
#include "kernels/shape/shape_kernels.h"
#include "tandem/op_axis.h"

namespace tandem::shader {

namespace {

// Launches of up to kMaxConcatParts matrices, as they are given.
class Joiner {
 public:
  Joiner(ShaderCall& call, int64_t rows, const TensorMetadata& result)
      : call_(call), part_{rows, result.num_elements() / rows, 0, {}}, bytes_(ElementBytes(result.dtype)) {}

  void Add(GpuBuffer* matrix, int64_t width) {
    widths_[count_] = width;
    buffers_[count_++] = matrix;
    if (count_ == kMaxConcatParts) Flush();
  }
  void Flush() {
    if (count_ == 0) return;
    part_.widths = {widths_.data(), count_};
    buffers_[count_] = call_.Result(0);
    call_.Run(ConcatProgram(part_, bytes_, call_.limits()), std::span<GpuBuffer* const>(buffers_.data(), count_ + 1));
    for (const int64_t width : part_.widths) part_.first += width;
    count_ = 0;
  }

 private:
  ShaderCall& call_;
  ConcatPart part_;
  const uint32_t bytes_;
  size_t count_ = 0;
  std::array<int64_t, kMaxConcatParts> widths_;
  std::array<GpuBuffer*, kMaxConcatParts + 1> buffers_;
};

// Result 0 from the first `count` arguments, each a matrix of `rows` rows: side by side.
Status JoinArguments(KernelFrame& frame, size_t count, int64_t rows) {
  ShaderCall call(frame);
  const TensorMetadata& result = frame.result_metadata(0);
  if (result.num_elements() == 0) return call.Finish();
  Joiner joiner(call, rows, result);
  for (size_t i = 0; i < count; ++i) {
    const int64_t elements = frame.arg(i).num_elements();
    if (elements == result.num_elements()) {
      call.Share(0, i);
      return call.Finish();
    }
    if (elements > 0) joiner.Add(call.Argument(i), elements / rows);
  }
  joiner.Flush();
  return call.Finish();
}

Status ConcatKernel(KernelFrame& frame) {
  const size_t count = frame.num_args() - 1;
  const TensorShape& shape = frame.result_metadata(0).shape;
  return JoinArguments(frame, count, SizeBefore(shape, AxisInput(frame.arg(count), shape.rank())));
}

Status PackKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.result_metadata(0).shape;
  return JoinArguments(frame, frame.num_args(), SizeBefore(shape, AxisAttr(frame.attrs(), shape.rank())));
}

// The results are the columns of argument `arg`, a matrix of `rows` rows, side by side.
Status CutArgument(KernelFrame& frame, size_t arg, int64_t rows) {
  ShaderCall call(frame);
  int64_t offset = 0;
  const int64_t count = frame.arg(arg).num_elements();
  for (size_t i = 0; count > 0 && i < frame.num_results(); ++i) {
    const int64_t part = frame.result_metadata(i).num_elements() / rows;
    StridedCopy copy(offset);
    copy.AddDim(rows, count / rows);
    copy.AddDim(part, 1);
    CopyArgument(call, frame, arg, i, copy);
    offset += part;
  }
  return call.Finish();
}

Status SplitKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.arg(1).shape();
  return CutArgument(frame, 1, SizeBefore(shape, AxisInput(frame.arg(0), shape.rank())));
}

Status SplitVKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.arg(0).shape();
  return CutArgument(frame, 0, SizeBefore(shape, AxisInput(frame.arg(2), shape.rank())));
}

Status UnpackKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.arg(0).shape();
  return CutArgument(frame, 0, SizeBefore(shape, AxisAttr(frame.attrs(), shape.rank())));
}

}  // namespace

Status RegisterShapePartKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ConcatKernel>("tf.ConcatV2", kFixedSizeDTypes),
      KernelEntryOf<&SplitKernel>("tf.Split", kFixedSizeDTypes),
      KernelEntryOf<&SplitVKernel>("tf.SplitV", kFixedSizeDTypes),
      KernelEntryOf<&PackKernel>("tf.Pack", kFixedSizeDTypes),
      KernelEntryOf<&UnpackKernel>("tf.Unpack", kFixedSizeDTypes),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::shader
