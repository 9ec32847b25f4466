// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that join tensors or take them apart: ConcatV2, Split, SplitV, Pack, Unpack.

#include <string_view>
#include <utility>

#include "kernels/shape/shape_kernels.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/shape/shape_strided_copy.h"
#include "tandem/op_axis.h"

namespace tandem::cpu {
namespace {

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
  return JoinArguments(frame, count, SizeBefore(shape, AxisInput(frame.arg(count), shape.rank())));
}

Status PackKernel(KernelFrame& frame) {
  const TensorShape& shape = frame.result_metadata(0).shape;
  return JoinArguments(frame, frame.num_args(), SizeBefore(shape, AxisAttr(frame.attrs(), shape.rank())));
}

// The results are the columns of argument `arg`, a matrix of `rows` rows, side by side.
Status CutArgument(KernelFrame& frame, size_t arg, int64_t rows) {
  if (frame.num_results() == 0 || SpreadScalar(frame, arg)) return Status();
  const int64_t count = frame.arg(arg).num_elements();
  if (count == 0 && GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, arg));
  int64_t offset = 0;
  for (size_t i = 0; i < frame.num_results(); ++i) {
    const int64_t part = frame.result_metadata(i).num_elements() / rows;
    StridedCopy copy(source.element_size());
    copy.AddDim(rows, part, count / rows);
    copy.AddDim(part, 1, 1);
    TakeBlock(frame, i, source, offset, copy);
    offset += part;
  }
  return Status();
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

Status RegisterShapePartKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kAll = DTypeSet::All();
  static constexpr CostModel kMovement = {0, &MovementCost};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ConcatKernel>("tf.ConcatV2", kAll, kMovement),
      KernelEntryOf<&SplitKernel>("tf.Split", kAll, kMovement),
      KernelEntryOf<&SplitVKernel>("tf.SplitV", kAll, kMovement),
      KernelEntryOf<&PackKernel>("tf.Pack", kAll, kMovement),
      KernelEntryOf<&UnpackKernel>("tf.Unpack", kAll, kMovement),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
