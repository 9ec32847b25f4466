// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise kernels: the functions of elementwise_functions.h put to work on whole tensors.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "kernels/creation/fill_words.h"
#include "kernels/element_types.h"
#include "kernels/elementwise/call_delayer.h"
#include "kernels/elementwise/elementwise_composer.h"
#include "kernels/elementwise/elementwise_functions.h"
#include "kernels/elementwise/elementwise_words.h"
#include "kernels/elementwise/fused_composer.h"
#include "kernels/kernels.h"
#include "tandem/host_context.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

using OperandMetadata = std::array<const TensorMetadata*, kMaxElementwiseOperands>;

OperandMetadata MetadataOfArguments(const KernelFrame& frame) {
  OperandMetadata metadata = {};
  for (size_t i = 0; i < frame.num_args(); ++i) metadata[i] = &frame.arg(i).metadata();
  return metadata;
}

// The argument whose memory the result may take over; -1: none.
int FindForwarded(const ShaderCall& call, const KernelFrame& frame) {
  for (size_t i = 0; i < frame.num_args(); ++i) {
    // The shader reads what it writes, as elements of the same type.
    if (frame.arg(i).dtype() == frame.result_metadata(0).dtype && call.MayTakeOver(i, 0)) return static_cast<int>(i);
  }
  return -1;
}

// Whether the command of a call may be put off.
bool MayBeLate(const KernelFrame& frame) {
  return IsFusedDType(frame.result_metadata(0).dtype) && IsFusedDType(frame.arg(frame.num_args() - 1).dtype()) &&
         frame.result_metadata(0).num_elements() >= CallDelayer::kLeastElements && frame.host().fuses();
}

// The call that Compute makes; its launch may be left to `delayer`, unless that is null. If it `is_wanted`, there is
// none yet.
Status ComputeBy(CallDelayer* delayer, bool is_wanted, KernelFrame& frame, const ShaderSource& source,
                 const OperandMetadata& metadata, std::optional<float> alpha) {
  ShaderCall call(frame, ShaderCall::MayBeLate());
  if (delayer == nullptr) call.IssueLate();
  const size_t count = frame.num_args();
  ElementwiseCall elementwise;
  elementwise.operands = {metadata.data(), count};
  elementwise.result = &frame.result_metadata(0);
  elementwise.in_place = FindForwarded(call, frame);
  elementwise.alpha = alpha;
  std::array<GpuBuffer*, kMaxElementwiseOperands> arguments;
  std::array<GpuBuffer*, kMaxElementwiseOperands + 1> buffers;
  size_t num_buffers = 0;
  for (size_t i = 0; i < count; ++i) {
    arguments[i] = call.Argument(i);
    if (static_cast<int>(i) != elementwise.in_place) buffers[num_buffers++] = arguments[i];
  }
  buffers[num_buffers++] = elementwise.in_place < 0
                               ? call.Result(0)
                               : call.ForwardOrAllocate(0, {static_cast<size_t>(elementwise.in_place)});
  call.Run(ElementwiseProgram(source, elementwise, call.limits()), {buffers.data(), num_buffers});
  GpuBuffer* const result = buffers[num_buffers - 1];
  const std::span<GpuBuffer* const> taken(arguments.data(), count);
  if (delayer != nullptr) {
    delayer->PutOff(call, {source, elementwise, taken, result});
  } else if (is_wanted && call.ok()) {
    call.device().WantCallFusion(taken, result);
  }
  return call.Finish();
}

// Result 0 from all arguments, which are taken to be of the shapes that `metadata` says.
Status Compute(KernelFrame& frame, const ShaderSource& source, const OperandMetadata& metadata,
               std::optional<float> alpha = {}) {
  ShaderDevice& device = frame.context<ShaderDevice>();
  CallDelayer* const delayer = device.queue().call_delayer();
  const bool may_be_late = (delayer != nullptr || device.fuses_calls_later()) && MayBeLate(frame);
  if (delayer != nullptr && may_be_late) {
    delayer->DropUnheld();
    Status status = ComputeBy(delayer, /*is_wanted=*/false, frame, source, metadata, alpha);
    // Where there is too little memory nothing is put off, so that the call may take over that of an argument.
    if (status.code() != StatusCode::kResourceExhausted) return status;
  }
  return ComputeBy(nullptr, may_be_late && delayer == nullptr, frame, source, metadata, alpha);
}

// Result 0 is argument 0.
Status Share(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Share(0, 0);
  return call.Finish();
}

struct ElementwiseKernel {
  const ElementwiseFunction& function;

  Status operator()(KernelFrame& frame) const {
    std::optional<float> alpha;
    if (function.attribute != nullptr) alpha = frame.attrs().GetOr(function.attribute, 0.0f);
    const bool flag = function.flag != nullptr && frame.attrs().GetOr(function.flag, false);
    const ShaderSource& source = flag ? function.source_if_flag : function.source;
    return Compute(frame, source, MetadataOfArguments(frame), alpha);
  }
};

// tf.Equal and tf.NotEqual, whose metadata function lets shapes pass that do not fit if it is told to. The result is
// then a scalar, which has a lower rank than the arguments and so can be told apart.
struct EqualityKernel {
  const ElementwiseFunction& function;
  bool if_incompatible;

  Status operator()(KernelFrame& frame) const {
    const int rank = std::max(frame.arg(0).shape().rank(), frame.arg(1).shape().rank());
    if (frame.result_metadata(0).rank() == rank) return Compute(frame, function.source, MetadataOfArguments(frame));
    ShaderCall call(frame);
    call.Run(FillWordsProgram(1, {if_incompatible ? 1u : 0u, 0}, call.limits()), {call.Result(0)});
    return call.Finish();
  }
};

// A bias for each element of a dimension, which broadcasts once it has the dimensions behind that one.
struct BiasAddKernel {
  const ElementwiseFunction& add;

  Status operator()(KernelFrame& frame) const {
    const TensorMetadata& value = frame.arg(0).metadata();
    TensorMetadata bias = frame.arg(1).metadata();
    if (frame.attrs().GetOr<std::string_view>("data_format", "NHWC") == "NCHW") {
      for (int axis = 2; axis < value.rank(); ++axis) bias.shape.Append(1);
    }
    return Compute(frame, add.source, {&value, &bias});
  }
};

// ---- Sums of many tensors.

constexpr ShaderSource Sum(std::string_view expression) { return {"tf.AddN", &ComposeElementwise, expression}; }
constexpr ShaderSource kSums[] = {
    Sum("a"),
    Sum("a + b"),
    Sum("a + b + c"),
    Sum("a + b + c + d"),
    Sum("a + b + c + d + e"),
    Sum("a + b + c + d + e + f"),
    Sum("a + b + c + d + e + f + g"),
};

// In as many launches as it takes, each of which adds to what the ones before gave.
Status AddNKernel(KernelFrame& frame) {
  if (frame.num_args() == 1) return Share(frame);
  ShaderCall call(frame);
  const TensorMetadata& result = frame.result_metadata(0);
  // f16 and bf16 are rounded once: what comes between launches is f32.
  TensorMetadata between = result;
  if (kFloatDTypes.Contains(result.dtype)) between.dtype = ArithmeticDType(result.dtype);
  const bool is_split = frame.num_args() > kMaxElementwiseOperands;
  const bool takes_temporary = is_split && between.dtype != result.dtype;
  GpuBuffer* const out = call.Result(0);
  GpuBuffer* const sum = takes_temporary ? call.Temporary(GpuByteSize(between)) : out;
  for (size_t next = 0; next < frame.num_args();) {
    OperandMetadata metadata = {};
    std::array<GpuBuffer*, kMaxElementwiseOperands + 1> buffers;
    ElementwiseCall elementwise;
    size_t count = 0;
    size_t num_buffers = 0;
    const bool continues = next > 0;
    if (continues) metadata[count++] = &between;
    const size_t end = std::min(frame.num_args(), next + kMaxElementwiseOperands - count);
    const bool is_last = end == frame.num_args();
    const bool writes_result = is_last || !takes_temporary;
    if (continues && writes_result && takes_temporary) buffers[num_buffers++] = sum;
    if (continues && (!writes_result || !takes_temporary)) elementwise.in_place = 0;
    for (; next < end; ++next) {
      metadata[count++] = &result;
      buffers[num_buffers++] = call.Argument(next);
    }
    buffers[num_buffers++] = writes_result ? out : sum;
    elementwise.operands = {metadata.data(), count};
    elementwise.result = writes_result ? &result : &between;
    call.Run(ElementwiseProgram(kSums[count - 1], elementwise, call.limits()), {buffers.data(), num_buffers});
  }
  return call.Finish();
}

// ---- Conversions.

Status CastKernel(KernelFrame& frame) {
  const DType from = frame.arg(0).dtype();
  const DType to = frame.result_metadata(0).dtype;
  if (from == to) return Share(frame);
  const bool truncates = frame.attrs().GetOr("Truncate", false);
  const DTypeSet own = AllDTypes(frame.context<ShaderDevice>().limits());
  if (own.Contains(from) && own.Contains(to)) {
    return Compute(frame, ConversionSource(from, to, truncates), MetadataOfArguments(frame));
  }
  const auto size = static_cast<uint64_t>(frame.arg(0).num_elements());
  ShaderCall call(frame);
  call.Run(ConvertWordsProgram(from, to, truncates, size, call.limits()), {call.Argument(0), call.Result(0)});
  return call.Finish();
}

// Complex numbers are converted on the host.
bool ConvertsToReal(std::span<const TensorMetadata* const>, const OpAttrsRef&,
                    std::span<const TensorMetadata> results) {
  return kDTypesOfWords.Contains(results[0].dtype);
}

Status AddCastKernel(ShaderOpHandler& handler) {
  Kernel kernel = MakeKernel<&CastKernel>();
  if (HasAllDTypes(handler.gpu().limits())) return handler.AddKernel("tf.Cast", kDTypesOfGpu, std::move(kernel));
  return handler.AddKernel("tf.Cast", kDTypesOfWords, std::move(kernel).OnlyIf(&ConvertsToReal));
}

// ---- Registration.

Kernel KernelOf(const ElementwiseFunction& function) {
  if (function.source.text == "a") return MakeKernel<&Share>();
  const std::string_view op = function.source.name;
  if (op == "tf.Equal") return MakeKernel(EqualityKernel{function, /*if_incompatible=*/false});
  if (op == "tf.NotEqual") return MakeKernel(EqualityKernel{function, /*if_incompatible=*/true});
  return MakeKernel(ElementwiseKernel{function});
}

}  // namespace

Status RegisterElementwiseKernels(ShaderOpHandler& handler) {
  const GpuLimits& limits = handler.gpu().limits();
  for (const ElementwiseFunction& function : ElementwiseFunctions()) {
    if (!IsInBuild(function.source.name)) continue;
    const DTypeSet dtypes = DTypesOf(function, limits);
    if (dtypes.IsEmpty()) continue;
    TANDEM_RETURN_IF_ERROR(handler.AddKernel(function.source.name, dtypes, KernelOf(function)));
  }
  const DTypeSet numeric = NumericDTypes(limits);
  const ElementwiseFunction& add = *FindElementwiseFunction("tf.AddV2", DType::kF32);
  TANDEM_RETURN_IF_ERROR(handler.AddKernel("tf.BiasAdd", numeric, MakeKernel(BiasAddKernel{add})));
  TANDEM_RETURN_IF_ERROR(handler.AddKernel("tf.AddN", numeric, MakeKernel<&AddNKernel>()));
  return AddCastKernel(handler);
}

}  // namespace tandem::shader
