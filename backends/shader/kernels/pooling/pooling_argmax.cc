// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/pooling/pooling_argmax.h"

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "kernels/volume/volume_pool.h"
#include "tandem/shader/shader_call.h"
#include "tandem/window_geometry.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;

// Values: dtype, whether places are of i64.
ShaderText ComposeTake(const ShaderSource& source, std::span<const int32_t> values) {
  const bool is_long = values[1] != 0;
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("count").Parameter("image_size");
  DeclareTypes(builder, static_cast<DType>(values[0]));
  builder.Buffer("x", BufferAccess::kRead, "T")
      .Buffer("places", BufferAccess::kRead, "u32")
      .Buffer("y", BufferAccess::kReadWrite, "T")
      .Buffer("argmax", BufferAccess::kReadWrite, is_long ? "vec2u" : "u32");
  return builder.Finish(Unroll(source.text, {{"LONG", is_long}}));
}

const ShaderSource kTake = {"pool_take", &ComposeTake, kPoolTakeText};

Status MaxPoolWithArgmaxKernel(KernelFrame& frame) {
  const TensorMetadata& image = frame.arg(0).metadata();
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  TANDEM_ASSIGN_OR_RETURN(const WindowAttrs attrs, ReadWindowAttrs(frame.attrs()));
  TANDEM_ASSIGN_OR_RETURN(const auto window, ReadSpatialAttr(frame.attrs(), "ksize", false));
  TANDEM_ASSIGN_OR_RETURN(const WindowGeometry geometry, MakeWindowGeometry(attrs, image.shape, window[0], window[1]));
  for (const WindowAxis& axis : {geometry.rows, geometry.cols}) TANDEM_RETURN_IF_ERROR(CheckWindow(axis));
  WindowAxis depth;
  depth.input = depth.output = 1;
  const int64_t count = result.num_elements();
  GpuBuffer* const x = call.Argument(0);
  GpuBuffer* const places = call.Temporary(static_cast<uint64_t>(count) * kWordBytes);
  call.Run(VolumePoolProgram(VolumePool::kMaxPlaces, image.dtype, {depth, geometry.rows, geometry.cols}, image.dim(3),
                             count, call.limits()),
           {x, places});
  const bool with_batch = frame.attrs().GetOr("include_batch_in_index", false);
  Launch launch;
  launch.variant =
      ShaderVariant(kTake, {static_cast<int32_t>(image.dtype), frame.result_metadata(1).dtype == DType::kI64});
  launch.parameters = {Low(count), Low(with_batch ? image.num_elements() : image.num_elements() / image.dim(0))};
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(count), kWorkgroup, call.limits());
  call.Run(launch, {x, places, call.Result(0), call.Result(1)});
  return call.Finish();
}

}  // namespace

Status RegisterPoolArgmaxKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&MaxPoolWithArgmaxKernel>("tf.MaxPoolWithArgmax", kRealDTypesOfGpu),
  };
  return handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
