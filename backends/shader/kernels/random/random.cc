// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Random numbers that are functions of a seed: StatelessRandomUniform and StatelessRandomNormal.

#include <span>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/random/random_multinomial.h"
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
fn numbers_of(words: vec4u) -> N {
  return uniforms_of(words);
})";
constexpr std::string_view kNormal = R"(
fn numbers_of(words: vec4u) -> N {
  let u: vec4f = uniforms_of(words);
  let first: vec2f = normals_of(u.x, u.y);
  let second: vec2f = normals_of(u.z, u.w);
  return vec4f(first.x, first.y, second.x, second.y);
})";
constexpr std::string_view kNormalDoubles = R"(
fn numbers_of(words: vec4u) -> N {
  let u: N = uniforms_of(words);
  return normals_of(u.x, u.y);
})";
// An empty range is minval alone.
constexpr std::string_view kIntegers = R"(
fn integer_of(word: u32) -> u32 {
  let low: u32 = minval[0];
  let range: u32 = maxval[0] - low;
  return low + select(word % max(range, 1u), 0u, range == 0u);
}

fn numbers_of(words: vec4u) -> N {
  return vec4u(integer_of(words.x), integer_of(words.y), integer_of(words.z), integer_of(words.w));
})";
constexpr std::string_view kLongIntegers = R"(
fn integer_of(word: u64) -> u64 {
  let low: u64 = minval[0];
  let range: u64 = maxval[0] - low;
  return low + select(word % range, u64(0u), range == u64(0u));
}

fn numbers_of(words: vec4u) -> N {
  return vec2<u64>(integer_of(bitcast<u64>(vec2u(words.x, words.y))), integer_of(bitcast<u64>(vec2u(words.z, words.w))));
})";

constexpr std::string_view kStoreBlock = R"(
fn draw(block: u32, words: vec4u) {
  result[block] = vec4<T>(numbers_of(words));
})";
constexpr std::string_view kStoreElements = R"(
fn draw(block: u32, words: vec4u) {
  let numbers: N = numbers_of(words);
  for (var i: u32 = 0u; i < min(PER_BLOCK, parameters.size - PER_BLOCK * block); i++) {
    result[PER_BLOCK * block + i] = T(numbers[i]);
  }
})";

// f16 and bf16 have only the lowest bits of the mantissa of f32; normal numbers are rounded to it.
uint32_t MissingBits(DType dtype) { return dtype == DType::kF16 ? 13 : dtype == DType::kBF16 ? 16 : 0; }

void DeclareIntegers(ShaderBuilder& builder, bool is_long) {
  const std::string_view type = is_long ? "u64" : "u32";
  builder.Alias("T", type).Alias("N", is_long ? "vec2<u64>" : "vec4u");
  builder.Buffer("seed", BufferAccess::kRead, "u32")
      .Buffer("minval", BufferAccess::kRead, type)
      .Buffer("maxval", BufferAccess::kRead, type);
}

void DeclareNumbers(ShaderBuilder& builder, DType dtype, bool is_normal) {
  const bool is_double = dtype == DType::kF64;
  DeclareTypes(builder, dtype);
  builder.Alias("N", is_double ? "vec2<f64>" : "vec4f").Buffer("seed", BufferAccess::kRead, "u32");
  if (is_double) {
    builder.Text(kRandomDoublesText);
  } else {
    builder.Constant("SHIFT", is_normal ? 0 : MissingBits(dtype));
    builder.Text(FunctionsCalledBy(kRandomFloatsText)).Text(kRandomFloatsText);
  }
}

std::string_view NumbersText(Distribution distribution, bool is_long) {
  switch (distribution) {
    case Distribution::kUniform:
      return kUniform;
    case Distribution::kNormal:
      return is_long ? kNormalDoubles : kNormal;
    case Distribution::kIntegers:
      return is_long ? kLongIntegers : kIntegers;
  }
  return {};
}

// Elements that a block has the words for.
uint32_t PerBlock(DType dtype) { return DTypeSize(dtype) == 8 ? 2 : 4; }

// Values: distribution, the result's dtype, the seed's dtype, whether the last block is whole.
ShaderText ComposeRandom(const ShaderSource& source, std::span<const int32_t> values) {
  const auto distribution = static_cast<Distribution>(values[0]);
  const auto dtype = static_cast<DType>(values[1]);
  const bool is_long = DTypeSize(dtype) == 8;
  const bool is_whole = values[3] != 0;
  ShaderBuilder builder(source.name);
  if (distribution == Distribution::kIntegers) {
    DeclareIntegers(builder, is_long);
  } else {
    DeclareNumbers(builder, dtype, distribution == Distribution::kNormal);
  }
  builder.Buffer("result", BufferAccess::kReadWrite, is_whole ? "vec4<T>" : "T")
      .Parameter("size")
      .Workgroup(kWorkgroup)
      .Constant("WORKGROUP", kWorkgroup)
      .Constant("ROUNDS", kRounds)
      .Constant("PER_BLOCK", PerBlock(dtype))
      .Text(FunctionsCalledBy(kPhiloxText))
      .Text(kPhiloxText)
      .Text(SeedText(static_cast<DType>(values[2])))
      .Text(NumbersText(distribution, is_long))
      .Text(is_whole ? kStoreBlock : kStoreElements);
  return builder.Finish(source.text);
}

template <Distribution distribution>
Status RandomKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  const Launch launch = RandomProgram(distribution, frame.result_metadata(0), frame.arg(1).dtype(), call.limits());
  call.Run(launch, {call.Argument(1), call.Result(0)});
  return call.Finish();
}

Status RandomIntKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  const Launch launch =
      RandomProgram(Distribution::kIntegers, frame.result_metadata(0), frame.arg(1).dtype(), call.limits());
  call.Run(launch, {call.Argument(1), call.Argument(2), call.Argument(3), call.Result(0)});
  return call.Finish();
}

// Kernels are chosen by the dtype of the shape; the numbers may be wanted in one that shaders do not compute in.
template <bool has_f16>
bool DrawsOwnDType(std::span<const TensorMetadata* const>, const OpAttrsRef&, std::span<const TensorMetadata> results) {
  const DType dtype = results[0].dtype;
  return dtype == DType::kF32 || dtype == DType::kI32 || (has_f16 && dtype == DType::kF16);
}

Kernel IfDrawn(Kernel kernel, const GpuLimits& limits) {
  if (HasAllDTypes(limits)) return kernel;
  return std::move(kernel).OnlyIf(limits.has_f16 ? &DrawsOwnDType<true> : &DrawsOwnDType<false>);
}

}  // namespace

std::string_view SeedText(DType seed_dtype) { return seed_dtype == DType::kI64 ? kSeedOfI64 : kSeedOfI32; }

Launch RandomProgram(Distribution distribution, const TensorMetadata& result, DType seed_dtype,
                     const GpuLimits& limits) {
  static const ShaderSource source = {"random", &ComposeRandom, kRandomText};
  const auto size = static_cast<uint64_t>(result.num_elements());
  const uint64_t per_block = PerBlock(result.dtype);
  Launch launch;
  launch.variant = ShaderVariant(source, {static_cast<int32_t>(distribution), static_cast<int32_t>(result.dtype),
                                          static_cast<int32_t>(seed_dtype), size % 4 == 0 && per_block == 4 ? 1 : 0});
  launch.workgroups = LinearWorkgroups((size + per_block - 1) / per_block, kWorkgroup * kRounds, limits);
  launch.parameters.Add(static_cast<uint32_t>(size));
  return launch;
}

Status RegisterRandomKernels(ShaderOpHandler& handler) {
  const DTypeSet shape_dtypes = {DType::kI32, DType::kI64};
  const GpuLimits& limits = handler.gpu().limits();
  TANDEM_RETURN_IF_ERROR(handler.AddKernel("tf.StatelessRandomUniform", shape_dtypes,
                                           IfDrawn(MakeKernel<&RandomKernel<Distribution::kUniform>>(), limits)));
  TANDEM_RETURN_IF_ERROR(
      handler.AddKernel("tf.StatelessRandomUniformInt", shape_dtypes, IfDrawn(MakeKernel<&RandomIntKernel>(), limits)));
  TANDEM_RETURN_IF_ERROR(handler.AddKernel("tf.StatelessRandomNormal", shape_dtypes,
                                           IfDrawn(MakeKernel<&RandomKernel<Distribution::kNormal>>(), limits)));
  return RegisterMultinomialKernels(handler);
}

}  // namespace tandem::shader
