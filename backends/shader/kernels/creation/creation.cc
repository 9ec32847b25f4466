// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that make tensors: Const, Fill, Range, ZerosLike, OnesLike, OneHot, Identity.

#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "kernel_texts.h"
#include "kernels/creation/creation_programs.h"
#include "kernels/creation/fill_words.h"
#include "kernels/element_types.h"
#include "kernels/kernels.h"
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

ShaderText ComposeRange(const ShaderSource& source, std::span<const int32_t>) {
  ShaderBuilder builder(source.name);
  builder.Buffer("result", BufferAccess::kReadWrite, "u32");
  DeclareLoop(builder).Parameter("start").Parameter("delta");
  return builder.Finish(source.text);
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

Status RangeKernel(KernelFrame& frame) {
  const auto word = [&frame](size_t i) {
    uint32_t bits = 0;
    std::memcpy(&bits, frame.arg(i).data(), sizeof(bits));
    return bits;
  };
  ShaderCall call(frame);
  const auto size = static_cast<uint64_t>(frame.result_metadata(0).num_elements());
  call.Run(RangeProgram(size, word(0), word(2), call.limits()), {call.Result(0)});
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

Launch RangeProgram(uint64_t size, uint32_t start, uint32_t delta, const GpuLimits& limits) {
  static const ShaderSource source = {"tf.Range", &ComposeRange, kRangeText};
  Launch launch;
  launch.variant = ShaderVariant(source);
  launch.workgroups = LinearWorkgroups(size, kWorkgroup * kRounds, limits);
  launch.parameters = {static_cast<uint32_t>(size), start, delta};
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
      // Floating-point ranges are computed in f64, and so on the host.
      KernelEntryOf<&RangeKernel>("tf.Range", {DType::kI32, DType::kU32}),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  if constexpr (!IsInBuild("tf.OneHot")) {
    return Status();
  } else {
    return handler.AddKernel("tf.OneHot", AllDTypes(handler.gpu().limits()), MakeKernel<&OneHotKernel>());
  }
}

}  // namespace tandem::shader
