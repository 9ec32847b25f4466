// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SpaceToBatchND, BatchToSpaceND.

#include <string>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/shape/movement.h"
#include "kernels/shape/shape_kernels.h"
#include "kernels/unrolled_text.h"
#include "tandem/metadata_function.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

// Values: bytes of an element, whether it is to the batch, the dimensions that are cut.
ShaderText ComposeBatches(const ShaderSource& source, std::span<const int32_t> values) {
  MovementShader shader(source.name, static_cast<uint32_t>(values[0]));
  for (const char* name : {"pixel", "spots", "batch"}) shader.builder().Parameter(name);
  for (int d = 0; d < values[2]; ++d) {
    for (const char* name : {"space", "depth", "block", "margin"}) {
      shader.builder().Parameter(name + std::to_string(d));
    }
  }
  shader.Input("x");
  return shader.Finish(Unroll(source.text, {{"TO_BATCH", values[1]}, {"K", values[2]}}));
}

const ShaderSource kBatches = {"batches", &ComposeBatches, kBatchesText};

template <bool to_batch>
Status BatchKernel(KernelFrame& frame) {
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  const TensorShape& space = to_batch ? frame.arg(0).shape() : result.shape;
  const TensorShape& depth = to_batch ? result.shape : frame.arg(0).shape();
  const HostInput block(frame.arg(1).metadata(), &frame.arg(1));
  const HostInput margins(frame.arg(2).metadata(), &frame.arg(2));
  const auto num_blocked = static_cast<int>(block.size());
  int64_t pixel = 1;
  for (int i = num_blocked + 1; i < space.rank(); ++i) pixel *= space.dim(i);
  int64_t spots = 1;
  for (int i = 1; i <= num_blocked; ++i) spots *= depth.dim(i);
  WideElements wide(ElementBytes(result.dtype));
  wide.Include(pixel);
  const auto factor = static_cast<int64_t>(wide.factor());
  const uint32_t bytes = ElementBytes(result.dtype) * wide.factor();
  Launch launch = MovementLaunch(ShaderVariant(kBatches, {static_cast<int32_t>(bytes), to_batch, num_blocked}), bytes,
                                 result.num_elements() / factor, call.limits());
  for (const int64_t number : {pixel / factor, spots, space.dim(0)}) launch.parameters.Add(Low(number));
  for (int i = num_blocked; i-- > 0;) {
    for (const int64_t number : {space.dim(i + 1), depth.dim(i + 1), block.Int(i), margins.Int(2 * i)}) {
      launch.parameters.Add(Low(number));
    }
  }
  call.Run(launch, {call.Argument(0), call.Result(0)});
  return call.Finish();
}

}  // namespace

Status RegisterShapeBatchKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&BatchKernel<true>>("tf.SpaceToBatchND", kFixedSizeDTypes),
      KernelEntryOf<&BatchKernel<false>>("tf.BatchToSpaceND", kFixedSizeDTypes),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::shader
