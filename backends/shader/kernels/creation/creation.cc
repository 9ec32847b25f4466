// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that make tensors: Const, Fill, Range, LinSpace, ZerosLike, OnesLike, OneHot, Identity.

#include <array>
#include <bit>
#include <span>
#include <string_view>
#include <type_traits>

#include "kernel_texts.h"
#include "kernels/creation/creation_programs.h"
#include "kernels/creation/fill_words.h"
#include "kernels/doubles.h"
#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/unrolled_text.h"
#include "tandem/float16.h"
#include "tandem/host_context.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;
constexpr uint32_t kRounds = 4;

ShaderBuilder& DeclareLoop(ShaderBuilder& builder) {
  return builder.Parameter("size").Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Constant("ROUNDS", kRounds);
}

// ---- Programs.

// Whether elements are counted in words: the integers that each device has.
bool IsCountedInWords(DType dtype) { return dtype == DType::kI32 || dtype == DType::kU32; }

constexpr std::string_view kWordAt = R"(
fn element_at(i: u32) -> T {
  return parameters.start + i * parameters.delta;
})";
// f16 and bf16 by way of f32.
constexpr std::string_view kWideAt = R"(
fn element_at(i: u32) -> T {
  let start: S = bitcast<S>(vec2u(parameters.start, parameters.start_high));
  let delta: S = bitcast<S>(vec2u(parameters.delta, parameters.delta_high));
  return T(A(start + S(i) * delta));
})";
constexpr std::string_view kSoftDoubleAt = R"(
fn element_at(i: u32) -> T {
  let start: D = vec2u(parameters.start, parameters.start_high);
  let delta: D = vec2u(parameters.delta, parameters.delta_high);
  return rounded(double_sum(start, double_product(double_of_u32(i), delta)));
})";

// Values: dtype, whether f64 is soft. Integers are counted in 64 bits, other numbers in f64.
ShaderText ComposeRange(const ShaderSource& source, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[0]);
  const bool is_soft = values[1] != 0;
  ShaderBuilder builder(source.name);
  if (is_soft) {
    DeclareDoubles(builder, dtype, is_soft);
  } else {
    DeclareTypes(builder, dtype);
  }
  builder.Buffer("result", BufferAccess::kReadWrite, "T");
  DeclareLoop(builder).Parameter("start").Parameter("start_high").Parameter("delta").Parameter("delta_high");
  if (IsCountedInWords(dtype)) {
    builder.Text(kWordAt);
  } else if (is_soft) {
    builder.Text(DoubleFunctions(kSoftDoubleAt, dtype, is_soft)).Text(kSoftDoubleAt);
  } else {
    builder.Alias("S", kFloatDTypes.Contains(dtype) ? "f64" : "u64").Text(kWideAt);
  }
  return builder.Finish(source.text);
}

// Values: dtype, whether f64 is soft.
ShaderText ComposeLinSpace(const ShaderSource& source, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[0]);
  const bool is_soft = values[1] != 0;
  const std::string text = Unroll(source.text, {{"SOFT", is_soft}});
  ShaderBuilder builder(source.name);
  DeclareDoubles(builder, dtype, is_soft);
  builder.Text(DoubleFunctions(text, dtype, is_soft));
  builder.Buffer("start_value", BufferAccess::kRead, "T")
      .Buffer("stop_value", BufferAccess::kRead, "T")
      .Buffer("result", BufferAccess::kReadWrite, "T");
  return DeclareLoop(builder).Finish(text);
}

std::string_view IndexText(DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return R"(
fn index_at(i: u32) -> u32 {
  return (indices[i >> 2u] >> (8u * (i & 3u))) & 0xffu;
})";
    case DType::kI8:
      return R"(
fn index_at(i: u32) -> u32 {
  let index: u32 = (indices[i >> 2u] >> (8u * (i & 3u))) & 0xffu;
  return select(index, 0xffffffffu, index > 127u);
})";
    case DType::kI64:
      return R"(
fn index_at(i: u32) -> u32 {
  return select(0xffffffffu, indices[2u * i], indices[2u * i + 1u] == 0u);
})";
    default:
      return R"(
fn index_at(i: u32) -> u32 {
  return indices[i];
})";
  }
}

// Values: the dtypes of the result and of the indices.
ShaderText ComposeOneHot(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, static_cast<DType>(values[0]));
  builder.Buffer("indices", BufferAccess::kRead, "u32")
      .Buffer("on_value", BufferAccess::kRead, "T")
      .Buffer("off_value", BufferAccess::kRead, "T")
      .Buffer("result", BufferAccess::kReadWrite, "T");
  DeclareLoop(builder).Parameter("inner").Parameter("depth").Text(IndexText(static_cast<DType>(values[1])));
  return builder.Finish(source.text);
}

// ---- Kernels.

Status ShareKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Share(0, 0);
  return call.Finish();
}

StatusOr<Tensor> ConstKernel(KernelFrame& frame) {
  TensorAttr value;
  frame.attrs().Get("value", &value);
  HostContext& host = frame.host();
  const std::span bytes(static_cast<const std::byte*>(value.data), value.metadata.byte_size());
  TANDEM_ASSIGN_OR_RETURN(const Tensor dense, MakeDense(value.metadata, bytes, host.device(), host.allocator()));
  ShaderCall call(frame);
  return call.device().Upload(frame.exec(), dense);
}

Status FillKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Run(FillProgram(frame.result_metadata(0), call.limits()), {call.Argument(1), call.Result(0)});
  return call.Finish();
}

// The bits of one, as a word, or as two for dtypes of 8 bytes.
std::array<uint32_t, 2> OnePattern(DType dtype) {
  const auto both = [](uint32_t word) { return std::array<uint32_t, 2>{word, word}; };
  switch (dtype) {
    case DType::kU8:
    case DType::kI8:
      return both(0x01010101u);
    case DType::kU16:
    case DType::kI16:
      return both(0x00010001u);
    case DType::kF16:
      return both(0x3C003C00u);
    case DType::kBF16:
      return both(0x3F803F80u);
    case DType::kF32:
      return both(0x3F800000u);
    case DType::kI64:
    case DType::kU64:
      return {1, 0};
    case DType::kF64:
      return {0, 0x3FF00000u};
    case DType::kC64:
      return {0x3F800000u, 0};
    default:
      return both(1);
  }
}

Status Repeat(KernelFrame& frame, std::array<uint32_t, 2> pattern) {
  ShaderCall call(frame);
  // Its content does not matter, but an error of it is passed on.
  call.Argument(0);
  call.Run(FillWordsProgram(WordsOf(frame.result_metadata(0)), pattern, call.limits()),
           {call.ForwardOrAllocate(0, {0})});
  return call.Finish();
}

Status ZerosLikeKernel(KernelFrame& frame) { return Repeat(frame, {0, 0}); }
Status OnesLikeKernel(KernelFrame& frame) { return Repeat(frame, OnePattern(frame.result_metadata(0).dtype)); }

template <typename T>
uint64_t StepBits(const Tensor& arg) {
  const T value = *static_cast<const T*>(arg.data());
  if constexpr (std::is_integral_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  else
    return std::bit_cast<uint64_t>(static_cast<double>(value));
}

// A scalar as a range is counted: as an integer of 64 bits or as the bits of an f64.
uint64_t StepBitsOf(const Tensor& arg) {
  switch (arg.dtype()) {
    case DType::kI8:
      return StepBits<int8_t>(arg);
    case DType::kI16:
      return StepBits<int16_t>(arg);
    case DType::kU16:
      return StepBits<uint16_t>(arg);
    case DType::kI32:
      return StepBits<int32_t>(arg);
    case DType::kU32:
      return StepBits<uint32_t>(arg);
    case DType::kF16:
      return StepBits<Float16>(arg);
    case DType::kBF16:
      return StepBits<BFloat16>(arg);
    case DType::kF32:
      return StepBits<float>(arg);
    default:
      return *static_cast<const uint64_t*>(arg.data());
  }
}

Status RangeKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Run(RangeProgram(frame.result_metadata(0), StepBitsOf(frame.arg(0)), StepBitsOf(frame.arg(2)), call.limits()),
           {call.Result(0)});
  return call.Finish();
}

Status LinSpaceKernel(KernelFrame& frame) {
  static const ShaderSource source = {"tf.LinSpace", &ComposeLinSpace, kLinSpaceText};
  const TensorMetadata& result = frame.result_metadata(0);
  const auto size = static_cast<uint64_t>(result.num_elements());
  ShaderCall call(frame);
  Launch launch;
  launch.variant = ShaderVariant(source, {static_cast<int32_t>(result.dtype), HasAllDTypes(call.limits()) ? 0 : 1});
  launch.workgroups = LinearWorkgroups(size, kWorkgroup * kRounds, call.limits());
  launch.parameters = {static_cast<uint32_t>(size)};
  call.Run(launch, {call.Argument(0), call.Argument(1), call.Result(0)});
  return call.Finish();
}

Status OneHotKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  const TensorMetadata& result = frame.result_metadata(0);
  const auto given = frame.attrs().GetOr<int64_t>("axis", -1);
  const int axis = given == -1 ? result.rank() - 1 : static_cast<int>(given);
  call.Run(OneHotProgram(frame.arg(0).dtype(), result, axis, call.limits()),
           {call.Argument(0), call.Argument(2), call.Argument(3), call.Result(0)});
  return call.Finish();
}

}  // namespace

Launch RangeProgram(const TensorMetadata& result, uint64_t start, uint64_t delta, const GpuLimits& limits) {
  const auto size = static_cast<uint64_t>(result.num_elements());
  static const ShaderSource source = {"tf.Range", &ComposeRange, kRangeText};
  Launch launch;
  const DType dtype = IsCountedInWords(result.dtype) ? DType::kU32 : result.dtype;
  const bool is_soft = kFloatDTypes.Contains(dtype) && !HasAllDTypes(limits);
  launch.variant = ShaderVariant(source, {static_cast<int32_t>(dtype), is_soft ? 1 : 0});
  launch.workgroups = LinearWorkgroups(size, kWorkgroup * kRounds, limits);
  launch.parameters = {static_cast<uint32_t>(size)};
  for (const uint64_t bits : {start, delta}) {
    launch.parameters.Add(static_cast<uint32_t>(bits));
    launch.parameters.Add(static_cast<uint32_t>(bits >> 32));
  }
  return launch;
}

Launch OneHotProgram(DType index_dtype, const TensorMetadata& result, int axis, const GpuLimits& limits) {
  static const ShaderSource source = {"tf.OneHot", &ComposeOneHot, kOneHotText};
  int64_t inner = 1;
  for (int i = axis + 1; i < result.rank(); ++i) inner *= result.shape.dim(i);
  const auto size = static_cast<uint64_t>(result.num_elements());
  Launch launch;
  launch.variant = ShaderVariant(source, {static_cast<int32_t>(result.dtype), static_cast<int32_t>(index_dtype)});
  launch.workgroups = LinearWorkgroups(size, kWorkgroup * kRounds, limits);
  launch.parameters = {static_cast<uint32_t>(size), static_cast<uint32_t>(inner),
                       static_cast<uint32_t>(result.shape.dim(axis))};
  return launch;
}

Status RegisterCreationKernels(ShaderOpHandler& handler) {
  // These only move words, whatever they mean.
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ConstKernel>("tf.Const", kFixedSizeDTypes),
      KernelEntryOf<&ShareKernel>("tf.Identity", kFixedSizeDTypes),
      KernelEntryOf<&FillKernel>("tf.Fill", kFixedSizeDTypes),
      KernelEntryOf<&ZerosLikeKernel>("tf.ZerosLike", kFixedSizeDTypes),
      KernelEntryOf<&OnesLikeKernel>("tf.OnesLike", kFixedSizeDTypes),
  };
  // Others are counted in integers of 64 bits; without them it is the host that does.
  static constexpr DTypeSet kRanges =
      kFloatDTypes | DTypeSet{DType::kI8, DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kI64};
  static constexpr KernelEntry kSteps[] = {
      KernelEntryOf<&RangeKernel>("tf.Range", kRanges),
      KernelEntryOf<&LinSpaceKernel>("tf.LinSpace", kFloatDTypes),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kSteps, AllDTypes(handler.gpu().limits())));
  if constexpr (!IsInBuild("tf.OneHot")) {
    return Status();
  } else {
    return handler.AddKernel("tf.OneHot", AllDTypes(handler.gpu().limits()), MakeKernel<&OneHotKernel>());
  }
}

}  // namespace tandem::shader
