// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Random numbers that are functions of a seed: StatelessRandomUniform and StatelessRandomNormal.

#include <span>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/random/random_programs.h"
#include "kernels/shader_functions.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;
constexpr uint32_t kRounds = 4;

// The seed's numbers, sign-extended to 64 bits, lower halves first.
constexpr std::string_view kSeedOfI64 = R"(
fn seed_words() -> vec4u {
  return vec4u(seed[0], seed[1], seed[2], seed[3]);
})";
constexpr std::string_view kSeedOfI32 = R"(
fn seed_words() -> vec4u {
  return vec4u(seed[0], select(0u, 0xffffffffu, seed[0] >= 0x80000000u),
               seed[1], select(0u, 0xffffffffu, seed[1] >= 0x80000000u));
})";

constexpr std::string_view kUniform = R"(
fn numbers_of(words: vec4u) -> vec4f {
  return uniforms_of(words);
})";
constexpr std::string_view kNormal = R"(
fn numbers_of(words: vec4u) -> vec4f {
  let u: vec4f = uniforms_of(words);
  let first: vec2f = normals_of(u.x, u.y);
  let second: vec2f = normals_of(u.z, u.w);
  return vec4f(first.x, first.y, second.x, second.y);
})";

constexpr std::string_view kStoreBlock = R"(
fn store(block: u32, numbers: vec4f) {
  result[block] = vec4<T>(numbers);
})";
constexpr std::string_view kStoreElements = R"(
fn store(block: u32, numbers: vec4f) {
  for (var i: u32 = 0u; i < min(4u, parameters.size - 4u * block); i++) {
    result[4u * block + i] = T(numbers[i]);
  }
})";

// Values: distribution, the result's dtype, the seed's dtype, whether the last block is whole.
ShaderText ComposeRandom(const ShaderSource& source, std::span<const int32_t> values) {
  const bool is_normal = static_cast<Distribution>(values[0]) == Distribution::kNormal;
  const auto dtype = static_cast<DType>(values[1]);
  const bool is_whole = values[3] != 0;
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, dtype);
  builder.Buffer("seed", BufferAccess::kRead, "u32")
      .Buffer("result", BufferAccess::kReadWrite, is_whole ? "vec4<T>" : "T")
      .Parameter("size")
      .Workgroup(kWorkgroup)
      .Constant("WORKGROUP", kWorkgroup)
      .Constant("ROUNDS", kRounds)
      // f16 has only the lowest bits of the mantissa of f32; normal numbers are rounded to it.
      .Constant("SHIFT", dtype == DType::kF16 && !is_normal ? 13 : 0)
      .Text(FunctionsCalledBy(source.text))
      .Text(static_cast<DType>(values[2]) == DType::kI64 ? kSeedOfI64 : kSeedOfI32)
      .Text(is_whole ? kStoreBlock : kStoreElements)
      .Text(is_normal ? kNormal : kUniform);
  return builder.Finish(source.text);
}

template <Distribution distribution>
Status RandomKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  const Launch launch = RandomProgram(distribution, frame.result_metadata(0), frame.arg(1).dtype(), call.limits());
  call.Run(launch, {call.Argument(1), call.Result(0)});
  return call.Finish();
}

// Kernels are chosen by the dtype of the shape; the numbers may be wanted in one that shaders do not compute in.
template <bool has_f16>
bool DrawsOwnDType(std::span<const TensorMetadata* const>, const OpAttrsRef&, std::span<const TensorMetadata> results) {
  return results[0].dtype == DType::kF32 || (has_f16 && results[0].dtype == DType::kF16);
}

}  // namespace

Launch RandomProgram(Distribution distribution, const TensorMetadata& result, DType seed_dtype,
                     const GpuLimits& limits) {
  static const ShaderSource source = {"random", &ComposeRandom, kRandomText};
  const auto size = static_cast<uint64_t>(result.num_elements());
  Launch launch;
  launch.variant = ShaderVariant(source, {static_cast<int32_t>(distribution), static_cast<int32_t>(result.dtype),
                                          static_cast<int32_t>(seed_dtype), size % 4 == 0 ? 1 : 0});
  launch.workgroups = LinearWorkgroups((size + 3) / 4, kWorkgroup * kRounds, limits);
  launch.parameters.Add(static_cast<uint32_t>(size));
  return launch;
}

Status RegisterRandomKernels(ShaderOpHandler& handler) {
  const DTypeSet shape_dtypes = {DType::kI32, DType::kI64};
  const auto condition = handler.gpu().limits().has_f16 ? &DrawsOwnDType<true> : &DrawsOwnDType<false>;
  TANDEM_RETURN_IF_ERROR(handler.AddKernel("tf.StatelessRandomUniform", shape_dtypes,
                                           MakeKernel<&RandomKernel<Distribution::kUniform>>().OnlyIf(condition)));
  return handler.AddKernel("tf.StatelessRandomNormal", shape_dtypes,
                           MakeKernel<&RandomKernel<Distribution::kNormal>>().OnlyIf(condition));
}

}  // namespace tandem::shader
