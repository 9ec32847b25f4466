// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/indexing/top_k.h"

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/indexing/sort.h"
#include "kernels/shape/movement.h"
#include "tandem/op_selection.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;

// Values: dtypes of elements and of places.
ShaderText ComposeTake(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  DeclareTypes(builder, static_cast<DType>(values[0]));
  builder.Alias("I", StorageType(static_cast<DType>(values[1])));
  builder.Buffer("x", BufferAccess::kRead, "T")
      .Buffer("places", BufferAccess::kRead, "u32")
      .Buffer("values", BufferAccess::kReadWrite, "T")
      .Buffer("indices", BufferAccess::kReadWrite, "I");
  for (const char* name : {"items", "cols", "taken"}) builder.Parameter(name);
  return builder.Finish(source.text);
}

const ShaderSource kTake = {"top_k_take", &ComposeTake, kTopKTakeText};

Status TopKKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  const TensorMetadata& values = frame.result_metadata(0);
  if (values.num_elements() == 0) return call.Finish();
  const TensorMetadata& input = frame.arg(0).metadata();
  const int last = input.rank() - 1;
  GpuBuffer* const x = call.Argument(0);
  const auto cols = static_cast<uint64_t>(input.dim(last));
  const SortedRows sorted =
      SortRows(call, x, input.dtype, static_cast<uint64_t>(input.num_elements()) / cols, cols, SortOrder::kDescending);
  call.Run(TopKTakeProgram(input, values.dim(last), frame.result_metadata(1).dtype, call.limits()),
           {x, sorted.places, call.Result(0), call.Result(1)});
  return call.Finish();
}

// Whether the indices are of a dtype that every device has.
bool GivesWords(std::span<const TensorMetadata* const>, const OpAttrsRef&, std::span<const TensorMetadata> results) {
  return results[1].dtype == DType::kI32;
}

}  // namespace

Launch TopKTakeProgram(const TensorMetadata& input, int64_t k, DType indices, const GpuLimits& limits) {
  const int64_t cols = input.dim(input.rank() - 1);
  const int64_t items = input.num_elements() / cols * k;
  Launch launch;
  launch.variant = ShaderVariant(kTake, {static_cast<int32_t>(input.dtype), static_cast<int32_t>(indices)});
  launch.parameters = {Low(items), Low(cols), Low(k)};
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(items), kWorkgroup, limits);
  return launch;
}

std::vector<ShaderVariant> TopKVariants() {
  std::vector<ShaderVariant> variants = SortVariants();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kU32}) {
    variants.push_back(TopKTakeProgram({dtype, {1}}, 1, DType::kI32, {}).variant);
  }
  return variants;
}

Status RegisterTopKKernels(ShaderOpHandler& handler) {
  if constexpr (!IsInBuild("tf.TopKV2")) return Status();
  const GpuLimits& limits = handler.gpu().limits();
  Kernel kernel = MakeKernel<&TopKKernel>();
  if (!HasAllDTypes(limits)) kernel = std::move(kernel).OnlyIf(&GivesWords);
  return handler.AddKernel("tf.TopKV2", kRealDTypesOfGpu & AllDTypes(limits), std::move(kernel));
}

}  // namespace tandem::shader
