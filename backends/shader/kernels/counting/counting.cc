// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LowerBound, UpperBound; Bincount and DenseBincount are registered here.

#include "kernel_texts.h"
#include "kernels/counting/bincount.h"
#include "kernels/element_types.h"
#include "kernels/indexing/sort.h"
#include "kernels/kernels.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;

// Values: dtype, whether it is the upper bound, whether places are of i64.
ShaderText ComposeBounds(const ShaderSource& source, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[0]);
  const bool is_long = values[2] != 0;
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  DeclareTypes(builder, dtype);
  DeclareSortKeys(builder, dtype, SortOrder::kDescending);
  for (const char* name : {"count", "size", "values_of_row"}) builder.Parameter(name);
  builder.Buffer("sorted", BufferAccess::kRead, "T")
      .Buffer("values", BufferAccess::kRead, "T")
      .Buffer("y", BufferAccess::kReadWrite, is_long ? "vec2u" : "u32");
  return builder.Finish(Unroll(source.text, {{"UPPER", values[1]}, {"LONG", is_long}}));
}

const ShaderSource kBounds = {"bounds", &ComposeBounds, kBoundsText};

template <bool is_upper>
Status BoundKernel(KernelFrame& frame) {
  const TensorMetadata& values = frame.arg(1).metadata();
  ShaderCall call(frame);
  Launch launch;
  const bool is_long = frame.result_metadata(0).dtype == DType::kI64;
  launch.variant = ShaderVariant(kBounds, {static_cast<int32_t>(values.dtype), is_upper, is_long});
  launch.parameters = {Low(values.num_elements()), Low(frame.arg(0).shape().dim(1)), Low(values.dim(1))};
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(values.num_elements()), kWorkgroup, call.limits());
  call.Run(launch, {call.Argument(0), call.Argument(1), call.Result(0)});
  return call.Finish();
}

}  // namespace

Status RegisterCountingKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&BoundKernel<false>>("tf.LowerBound", kRealDTypesOfGpu),
      KernelEntryOf<&BoundKernel<true>>("tf.UpperBound", kRealDTypesOfGpu),
  };
  TANDEM_RETURN_IF_ERROR(RegisterBincountKernels(handler));
  return handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
