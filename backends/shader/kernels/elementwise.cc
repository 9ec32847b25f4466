// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise kernels: the functions of elementwise_functions.h put to work on whole tensors.

#include <array>
#include <cstddef>
#include <span>

#include "kernels/element_types.h"
#include "kernels/elementwise_composer.h"
#include "kernels/elementwise_functions.h"
#include "kernels/kernels.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

// The operand whose memory the result may take over; -1: none.
int FindForwarded(const KernelFrame& frame) {
  for (size_t i = 0; i < frame.num_args(); ++i) {
    // The shader reads what it writes, as elements of the same type.
    if (frame.arg(i).dtype() == frame.result_metadata(0).dtype && frame.MayTakeOver(i, 0)) return static_cast<int>(i);
  }
  return -1;
}

// Result 0 from all arguments.
struct ElementwiseKernel {
  const ElementwiseFunction& function;

  Status operator()(KernelFrame& frame) const {
    ShaderCall call(frame);
    std::array<const TensorMetadata*, kMaxElementwiseOperands> metadata;
    std::array<GpuBuffer*, kMaxElementwiseOperands + 1> buffers;
    const size_t count = frame.num_args();
    for (size_t i = 0; i < count; ++i) {
      metadata[i] = &frame.arg(i).metadata();
      buffers[i] = call.Argument(i);
    }
    ElementwiseCall elementwise;
    elementwise.operands = {metadata.data(), count};
    elementwise.result = &frame.result_metadata(0);
    elementwise.in_place = FindForwarded(frame);
    if (function.attribute != nullptr) elementwise.alpha = frame.attrs().GetOr(function.attribute, 0.0f);
    const int in_place = elementwise.in_place;
    GpuBuffer* result = in_place < 0 ? call.Result(0) : call.ForwardOrAllocate(0, {static_cast<size_t>(in_place)});
    // The buffers that are only read, and then the result.
    size_t num_buffers = 0;
    for (size_t i = 0; i < count; ++i) {
      if (static_cast<int>(i) != in_place) buffers[num_buffers++] = buffers[i];
    }
    buffers[num_buffers++] = result;
    const bool flag = function.flag != nullptr && frame.attrs().GetOr(function.flag, false);
    const ShaderSource& source = flag ? function.source_if_flag : function.source;
    call.Run(ElementwiseProgram(source, elementwise, call.limits()), {buffers.data(), num_buffers});
    return call.Finish();
  }
};

DTypeSet DTypesOf(Arithmetic arithmetic, const GpuLimits& limits) {
  DTypeSet dtypes;
  if (Includes(arithmetic, Arithmetic::kF32)) dtypes.Insert(DType::kF32);
  if (Includes(arithmetic, Arithmetic::kF16) && limits.has_f16) dtypes.Insert(DType::kF16);
  if (Includes(arithmetic, Arithmetic::kSigned)) dtypes.Insert(DType::kI32);
  if (Includes(arithmetic, Arithmetic::kUnsigned)) dtypes.Insert(DType::kU32);
  if (Includes(arithmetic, Arithmetic::kBool)) dtypes.Insert(DType::kBool);
  if (Includes(arithmetic, Arithmetic::kUntyped)) dtypes.Insert(DType::kInvalid);
  return dtypes;
}

}  // namespace

Status RegisterElementwiseKernels(ShaderOpHandler& handler) {
  for (const ElementwiseFunction& function : ElementwiseFunctions()) {
    TANDEM_RETURN_IF_ERROR(handler.AddKernel(std::string_view(function.source.name),
                                             DTypesOf(function.arithmetic, handler.gpu().limits()),
                                             MakeKernel(ElementwiseKernel{function})));
  }
  return Status();
}

}  // namespace tandem::shader
