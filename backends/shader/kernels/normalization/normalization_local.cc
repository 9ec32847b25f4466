// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/normalization/normalization_local.h"

#include <algorithm>

#include "kernel_texts.h"
#include "kernels/doubles.h"
#include "kernels/element_types.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;

enum class Pass : int32_t { kForward, kBases, kGradient };

// Values: Pass, dtype, whether f64 is soft.
ShaderText ComposeLocalNorm(const ShaderSource& source, std::span<const int32_t> values) {
  const auto pass = static_cast<Pass>(values[0]);
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  const auto dtype = static_cast<DType>(values[1]);
  const bool is_soft = values[2] != 0;
  DeclareDoubles(builder, dtype, is_soft);
  for (const char* name : {"count", "channels", "radius"}) builder.Parameter(name);
  for (const char* name : {"bias", "alpha", "beta"}) builder.Parameter(name, "f32");
  if (pass == Pass::kGradient) builder.Buffer("grad", BufferAccess::kRead, "T");
  builder.Buffer("x", BufferAccess::kRead, "T");
  if (pass == Pass::kGradient) {
    builder.Buffer("y", BufferAccess::kRead, "T").Buffer("bases", BufferAccess::kRead, "D");
    builder.Buffer("dx", BufferAccess::kReadWrite, "T");
  } else if (pass == Pass::kBases) {
    builder.Buffer("bases", BufferAccess::kReadWrite, "D");
  } else {
    builder.Buffer("y", BufferAccess::kReadWrite, "T");
  }
  const std::string text = Unroll(source.text, {{"GRADIENT", pass == Pass::kGradient},
                                                {"BASES", pass == Pass::kBases},
                                                {"SPECIAL", is_soft && pass == Pass::kForward}});
  return builder.Text(DoubleFunctions(text, dtype, is_soft)).Finish(text);
}

const ShaderSource kLocalNorm = {"local_norm", &ComposeLocalNorm, kLocalNormText};

Launch LocalNormProgram(Pass pass, const TensorMetadata& image, const OpAttrsRef& attrs, const GpuLimits& limits) {
  const int64_t channels = image.dim(3);
  Launch launch;
  launch.variant = ShaderVariant(
      kLocalNorm, {static_cast<int32_t>(pass), static_cast<int32_t>(image.dtype), HasAllDTypes(limits) ? 0 : 1});
  launch.parameters = {Low(image.num_elements()), Low(channels),
                       Low(std::min(attrs.GetOr<int64_t>("depth_radius", 5), channels))};
  launch.parameters.AddFloat(attrs.GetOr("bias", 1.0f));
  launch.parameters.AddFloat(attrs.GetOr("alpha", 1.0f));
  launch.parameters.AddFloat(attrs.GetOr("beta", 0.5f));
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(image.num_elements()), kWorkgroup, limits);
  return launch;
}

Status LocalNormKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Run(LocalNormProgram(Pass::kForward, frame.result_metadata(0), frame.attrs(), call.limits()),
           {call.Argument(0), call.Result(0)});
  return call.Finish();
}

Status LocalNormGradKernel(KernelFrame& frame) {
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  GpuBuffer* const bases = call.Temporary(static_cast<uint64_t>(result.num_elements()) * sizeof(double));
  call.Run(LocalNormProgram(Pass::kBases, result, frame.attrs(), call.limits()), {call.Argument(1), bases});
  call.Run(LocalNormProgram(Pass::kGradient, result, frame.attrs(), call.limits()),
           {call.Argument(0), call.Argument(1), call.Argument(2), bases, call.Result(0)});
  return call.Finish();
}

}  // namespace

Status RegisterLocalNormalizationKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&LocalNormKernel>("tf.LRN", kSingleDTypesOfGpu),
      KernelEntryOf<&LocalNormGradKernel>("tf.LRNGrad", kSingleDTypesOfGpu),
  };
  return handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
