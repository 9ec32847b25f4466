// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SparseToDense. The other ops of the family have results whose sizes the data alone tells, with no bound that memory
// could be allocated by, and so they are the host's.

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/indexing/scatter_calls.h"
#include "kernels/indexing/slice_numbers.h"
#include "kernels/kernels.h"
#include "kernels/shape/movement.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

// Value: bytes of an element.
ShaderText ComposeDense(const ShaderSource& source, std::span<const int32_t> values) {
  MovementShader shader(source.name, static_cast<uint32_t>(values[0]));
  shader.builder().Parameter("step");
  shader.Input("filling");
  shader.Input("values");
  shader.builder().Buffer("winners", BufferAccess::kRead, "u32");
  return shader.Finish(source.text);
}

const ShaderSource kDense = {"sparse_to_dense", &ComposeDense, kSparseToDenseText};

Status SparseToDenseKernel(KernelFrame& frame) {
  const TensorMetadata& indices = frame.arg(0).metadata();
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  GpuBuffer* const y = call.Result(0);
  if (result.num_elements() == 0) return call.Finish();
  const int64_t count = indices.rank() == 0 ? 1 : indices.dim(0);
  const int64_t depth = indices.rank() == 2 ? indices.dim(1) : 1;
  const SliceNumbers numbers(TensorMetadata(indices.dtype, {count, depth}), result.shape);
  GpuBuffer* const filling = call.Argument(3);
  GpuBuffer* const values = count > 0 ? call.Argument(2) : filling;
  // With no dimensions there is one element, which every index names.
  GpuBuffer* const named = indices.num_elements() > 0 ? call.Argument(0) : filling;
  GpuBuffer* const winners = count > 0 ? FindLastUpdates(call, numbers, named) : MakeZeros(call, result.num_elements());
  const uint32_t bytes = ElementBytes(result.dtype);
  Launch launch =
      MovementLaunch(ShaderVariant(kDense, {static_cast<int32_t>(bytes)}), bytes, result.num_elements(), call.limits());
  launch.parameters.Add(frame.arg(2).metadata().rank() == 0 ? 0 : 1);
  call.Run(launch, {filling, values, winners, y});
  return call.Finish();
}

// Whether indices are right the host can tell.
bool IsNotValidated(std::span<const TensorMetadata* const>, const OpAttrsRef& attrs, std::span<const TensorMetadata>) {
  return !attrs.GetOr("validate_indices", true);
}

}  // namespace

Status RegisterSparseKernels(ShaderOpHandler& handler) {
  if constexpr (!IsInBuild("tf.SparseToDense")) return Status();
  return handler.AddKernel("tf.SparseToDense", kFixedSizeDTypes,
                           MakeKernel<&SparseToDenseKernel>().OnlyIf(&IsNotValidated));
}

}  // namespace tandem::shader
