// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/random/random_multinomial.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "kernel_texts.h"
#include "kernels/doubles.h"
#include "kernels/element_types.h"
#include "kernels/random/random_programs.h"
#include "kernels/shape/movement.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;

// Values: dtype of the logits, whether f64 is soft.
ShaderText ComposeSums(const ShaderSource& source, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[0]);
  const bool is_soft = values[1] != 0;
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("rows").Parameter("classes");
  DeclareDoubles(builder, dtype, is_soft);
  builder.Buffer("logits", BufferAccess::kRead, "T").Buffer("sums", BufferAccess::kReadWrite, "D");
  return builder.Text(DoubleFunctions(source.text, dtype, is_soft)).Finish(source.text);
}

constexpr std::string_view kSeedOfParameters = R"(
fn seed_words() -> vec4u {
  return vec4u(parameters.seed0, parameters.seed1, parameters.seed2, parameters.seed3);
})";

// Values: dtype of the result; that of the seed, kInvalid where it is in the parameters; whether f64 is soft.
ShaderText ComposeDraws(const ShaderSource& source, std::span<const int32_t> values) {
  const auto seed = static_cast<DType>(values[1]);
  const bool is_soft = values[2] != 0;
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  builder.Constant("WORDS", static_cast<DType>(values[0]) == DType::kI64 ? 2 : 1);
  DeclareDoubles(builder, DType::kU32, is_soft);
  for (const char* name : {"count", "classes", "samples", "seed0", "seed1", "seed2", "seed3"}) builder.Parameter(name);
  builder.Buffer("sums", BufferAccess::kRead, "D");
  if (seed != DType::kInvalid) builder.Buffer("seed", BufferAccess::kRead, "u32");
  builder.Buffer("y", BufferAccess::kReadWrite, "u32");
  const std::string callers = std::string(kPhiloxText).append(source.text);
  return builder.Text(seed == DType::kInvalid ? kSeedOfParameters : SeedText(seed))
      .Text(DoubleFunctions(callers, DType::kU32, is_soft))
      .Text(kPhiloxText)
      .Finish(source.text);
}

const ShaderSource kSums = {"multinomial_sums", &ComposeSums, kMultinomialSumsText};
const ShaderSource kDraws = {"multinomial_draws", &ComposeDraws, kMultinomialDrawsText};

// `words` is the seed where it is an attribute, and `seed_arg` the argument that it is otherwise.
Status Draw(KernelFrame& frame, std::array<uint64_t, 2> words, size_t seed_arg) {
  const TensorMetadata& logits = frame.arg(0).metadata();
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  if (result.num_elements() == 0) return call.Finish();
  const int64_t classes = logits.dim(1);
  if (classes == 0) return InvalidArgument("there must be at least one class, got logits: ", logits);
  GpuBuffer* const sums = call.Temporary(static_cast<uint64_t>(logits.num_elements()) * sizeof(double));
  Launch sum;
  const int32_t is_soft = HasAllDTypes(call.limits()) ? 0 : 1;
  sum.variant = ShaderVariant(kSums, {static_cast<int32_t>(logits.dtype), is_soft});
  sum.parameters = {Low(logits.dim(0)), Low(classes)};
  sum.workgroups = LinearWorkgroups(static_cast<uint64_t>(logits.dim(0)), kWorkgroup, call.limits());
  call.Run(sum, {call.Argument(0), sums});
  const DType seed = seed_arg == 0 ? DType::kInvalid : frame.arg(seed_arg).dtype();
  Launch draw;
  draw.variant = ShaderVariant(kDraws, {static_cast<int32_t>(result.dtype), static_cast<int32_t>(seed), is_soft});
  draw.parameters = {Low(result.num_elements()), Low(classes), Low(result.dim(1))};
  for (const uint64_t word : words) {
    draw.parameters.Add(static_cast<uint32_t>(word));
    draw.parameters.Add(static_cast<uint32_t>(word >> 32));
  }
  draw.workgroups = LinearWorkgroups(static_cast<uint64_t>(result.num_elements()), kWorkgroup, call.limits());
  if (seed_arg == 0) {
    call.Run(draw, {sums, call.Result(0)});
  } else {
    call.Run(draw, {sums, call.Argument(seed_arg), call.Result(0)});
  }
  return call.Finish();
}

Status MultinomialKernel(KernelFrame& frame) {
  const auto seed = [&](const char* name) { return static_cast<uint64_t>(frame.attrs().GetOr<int64_t>(name, 0)); };
  return Draw(frame, {seed("seed"), seed("seed2")}, 0);
}

Status StatelessMultinomialKernel(KernelFrame& frame) { return Draw(frame, {0, 0}, 2); }

}  // namespace

Status RegisterMultinomialKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&MultinomialKernel>("tf.Multinomial", kRealDTypesOfGpu),
      KernelEntryOf<&StatelessMultinomialKernel>("tf.StatelessMultinomial", kRealDTypesOfGpu),
  };
  return handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
