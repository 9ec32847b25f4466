// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Sum, Mean, Prod, Max, Min, All, Any, ArgMax, ArgMin.

#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/reduction/reduction_programs.h"
#include "tandem/kernel.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

int64_t IndexAt(const DenseArg& indices, int64_t i) {
  switch (indices.dtype()) {
    case DType::kI16:
      return indices.data<int16_t>()[i];
    case DType::kI32:
      return indices.data<int32_t>()[i];
    default:
      return indices.data<int64_t>()[i];
  }
}

ReducedDims ReadReducedDims(const DenseArg& indices, int rank) {
  ReducedDims reduced = {};
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t index = IndexAt(indices, i);
    reduced[static_cast<size_t>(index < 0 ? index + rank : index)] = true;
  }
  return reduced;
}

template <ReductionOp op>
Status ReductionKernel(const Tensor& input, DenseArg reduction_indices, KernelFrame& frame) {
  ShaderCall call(frame);
  const TensorShape& shape = input.shape();
  if (shape.num_elements() == frame.result_metadata(0).num_elements() && shape.num_elements() > 0) {
    // Every element is reduced by itself, which leaves it as it is.
    call.Share(0, 0);
    return call.Finish();
  }
  Reduce(call, {op, input.dtype()}, shape, ReadReducedDims(reduction_indices, shape.rank()), {call.Argument(0)},
         call.Result(0));
  return call.Finish();
}

template <ReductionOp op>
Status ArgReductionKernel(const Tensor& input, DenseArg dimension, KernelFrame& frame) {
  ShaderCall call(frame);
  const TensorShape& shape = input.shape();
  const ReducedDims reduced = ReadReducedDims(dimension, shape.rank());
  const TensorMetadata& result = frame.result_metadata(0);
  const bool is_half = result.dtype == DType::kI16 || result.dtype == DType::kU16;
  if (!is_half) {
    Reduce(call, {op, input.dtype(), result.dtype}, shape, reduced, {call.Argument(0)}, call.Result(0));
    return call.Finish();
  }
  const auto size = static_cast<uint64_t>(result.num_elements());
  GpuBuffer* indices = call.Temporary(size * sizeof(uint32_t));
  Reduce(call, {op, input.dtype(), DType::kI32}, shape, reduced, {call.Argument(0)}, indices);
  call.Run(PackHalvesProgram(size, call.limits()), {indices, call.Result(0)});
  return call.Finish();
}

// Ops without a type attribute but that of their indices.
constexpr DTypeSet kIndexDTypes = {DType::kI32, DType::kI64};

}  // namespace

Status RegisterReductionKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ReductionKernel<ReductionOp::kSum>>("tf.Sum", kNumericDTypesOfGpu),
      KernelEntryOf<&ReductionKernel<ReductionOp::kMean>>("tf.Mean", kFloatDTypesOfGpu | DTypeSet{DType::kC64}),
      KernelEntryOf<&ReductionKernel<ReductionOp::kProd>>("tf.Prod", kNumericDTypesOfGpu),
      KernelEntryOf<&ReductionKernel<ReductionOp::kMax>>("tf.Max", kRealDTypesOfGpu),
      KernelEntryOf<&ReductionKernel<ReductionOp::kMin>>("tf.Min", kRealDTypesOfGpu),
      KernelEntryOf<&ArgReductionKernel<ReductionOp::kArgMax>>("tf.ArgMax", kRealDTypesOfGpu | DTypeSet{DType::kBool}),
      KernelEntryOf<&ArgReductionKernel<ReductionOp::kArgMin>>("tf.ArgMin", kRealDTypesOfGpu | DTypeSet{DType::kBool}),
  };
  // By the dtype of the axes.
  static constexpr KernelEntry kOfBool[] = {
      KernelEntryOf<&ReductionKernel<ReductionOp::kAll>>("tf.All", kIndexDTypes),
      KernelEntryOf<&ReductionKernel<ReductionOp::kAny>>("tf.Any", kIndexDTypes),
  };
  // Means of integers are those of sums in 64 bits.
  static constexpr KernelEntry kOfIntegers[] = {
      KernelEntryOf<&ReductionKernel<ReductionOp::kMean>>("tf.Mean", kIntDTypes),
  };
  const GpuLimits& limits = handler.gpu().limits();
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels, AllDTypes(limits)));
  if (HasAllDTypes(limits)) TANDEM_RETURN_IF_ERROR(handler.AddKernels(kOfIntegers));
  return handler.AddKernels(kOfBool);
}

}  // namespace tandem::shader
