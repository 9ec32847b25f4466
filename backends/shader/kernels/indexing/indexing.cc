// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GatherV2, GatherNd, ScatterNd, TensorScatterUpdate, TensorScatterAdd, UnsortedSegmentSum; TopKV2, Where and Unique
// are registered here.

#include "kernels/creation/fill_words.h"
#include "kernels/element_types.h"
#include "kernels/indexing/compact.h"
#include "kernels/indexing/gather.h"
#include "kernels/indexing/scatter.h"
#include "kernels/indexing/scatter_calls.h"
#include "kernels/indexing/top_k.h"
#include "kernels/kernels.h"
#include "kernels/shape/movement.h"
#include "tandem/op_axis.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

Status GatherKernel(KernelFrame& frame) {
  const TensorMetadata& params = frame.arg(0).metadata();
  const TensorMetadata& indices = frame.arg(1).metadata();
  const int axis = AxisInput(frame.arg(2), params.rank());
  const auto batch_dims = frame.attrs().GetOr<int64_t>("batch_dims", 0);
  ShaderCall call(frame);
  call.Run(GatherProgram(params, indices, axis,
                         static_cast<int>(batch_dims < 0 ? batch_dims + indices.rank() : batch_dims), call.limits()),
           {call.Argument(0), call.Argument(1), call.Result(0)});
  return call.Finish();
}

Status GatherNdKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Run(GatherNdProgram(frame.arg(0).metadata(), frame.arg(1).metadata(), call.limits()),
           {call.Argument(0), call.Argument(1), call.Result(0)});
  return call.Finish();
}

// The only result is a tensor of zeros with updates added.
Status AddToZeros(KernelFrame& frame, const SliceNumbers& numbers, size_t indices_arg, size_t updates_arg) {
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  GpuBuffer* indices = call.Argument(indices_arg);
  GpuBuffer* updates = call.Argument(updates_arg);
  ScatterToZeros(call, numbers, result, indices, updates, call.Result(0));
  return call.Finish();
}

Status ScatterNdKernel(KernelFrame& frame) {
  return AddToZeros(frame, SliceNumbers(frame.arg(0).metadata(), frame.result_metadata(0).shape), 0, 1);
}

Status SegmentSumKernel(KernelFrame& frame) {
  return AddToZeros(frame, SliceNumbers::OfSegments(frame.arg(1).metadata(), frame.result_metadata(0).shape), 1, 0);
}

// The bytes of a result that a copy of whole words has.
uint64_t CopiedBytes(const TensorMetadata& metadata) { return WordsOf(metadata) * kWordBytes; }

Status TensorScatterAddKernel(KernelFrame& frame) {
  const TensorMetadata& result = frame.result_metadata(0);
  const SliceNumbers numbers(frame.arg(1).metadata(), result.shape);
  ShaderCall call(frame);
  if (result.num_elements() == 0 || numbers.count == 0) {
    call.Share(0, 0);
    return call.Finish();
  }
  GpuBuffer* x = call.Argument(0);
  GpuBuffer* indices = call.Argument(1);
  GpuBuffer* updates = call.Argument(2);
  GpuBuffer* y = call.ForwardOrAllocate(0, {0});
  if (IsDirectScatter(numbers)) {
    const ScatterStart start = x == y ? ScatterStart::kResult : ScatterStart::kTensor;
    const Launch launch = ScatterDirectProgram(numbers, result.dtype, start, call.limits());
    if (x == y) {
      call.Run(launch, {indices, updates, y});
    } else {
      call.Run(launch, {indices, updates, x, y});
    }
  } else {
    if (x != y) call.Copy(x, 0, y, 0, CopiedBytes(result));
    AddInBlocks(call, numbers, result.dtype, indices, updates, y);
  }
  return call.Finish();
}

Status TensorScatterUpdateKernel(KernelFrame& frame) {
  const TensorMetadata& result = frame.result_metadata(0);
  const SliceNumbers numbers(frame.arg(1).metadata(), result.shape);
  ShaderCall call(frame);
  if (result.num_elements() == 0 || numbers.count == 0) {
    call.Share(0, 0);
    return call.Finish();
  }
  GpuBuffer* x = call.Argument(0);
  GpuBuffer* indices = call.Argument(1);
  GpuBuffer* updates = call.Argument(2);
  GpuBuffer* winners = FindLastUpdates(call, numbers, indices);
  if (IsPutInPlace(numbers, result.dtype)) {
    GpuBuffer* y = call.ForwardOrAllocate(0, {0});
    if (x != y) call.Copy(x, 0, y, 0, CopiedBytes(result));
    call.Run(ScatterPutProgram(numbers, result.dtype, call.limits()), {indices, updates, winners, y});
  } else {
    call.Run(ScatterMergeProgram(numbers, result.dtype, call.limits()), {x, updates, winners, call.Result(0)});
  }
  return call.Finish();
}

}  // namespace

Status RegisterIndexingKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kMoving[] = {
      KernelEntryOf<&GatherKernel>("tf.GatherV2", kFixedSizeDTypes),
      KernelEntryOf<&GatherNdKernel>("tf.GatherNd", kFixedSizeDTypes),
      KernelEntryOf<&TensorScatterUpdateKernel>("tf.TensorScatterUpdate", kFixedSizeDTypes),
  };
  static constexpr KernelEntry kAdding[] = {
      KernelEntryOf<&ScatterNdKernel>("tf.ScatterNd", kDTypesOfGpu),
      KernelEntryOf<&TensorScatterAddKernel>("tf.TensorScatterAdd", kDTypesOfGpu),
      KernelEntryOf<&SegmentSumKernel>("tf.UnsortedSegmentSum", kNumericDTypesOfGpu),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kMoving));
  TANDEM_RETURN_IF_ERROR(RegisterTopKKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterCompactKernels(handler));
  return handler.AddKernels(kAdding, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
