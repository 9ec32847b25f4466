// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The short path of small calls: every check of the general path that they can fail, and nothing else.

#include <algorithm>
#include <new>

#include "base/this_thread.h"
#include "execute/kernel_call.h"
#include "execute/kernel_op.h"
#include "tandem/core_runtime.h"

namespace tandem {

namespace {
// What takes longer, in about nanoseconds, must be stoppable (CA-4).
constexpr double kMaxSmallCost = 500'000;
}  // namespace

KernelOp::Small KernelOp::DescribeSmall(const OpDef& def) {
  Small small;
  const size_t num_inputs = def.inputs.size();
  if (num_inputs == 0 || num_inputs > kSmallArgs || def.outputs.size() != 1 || def.metadata == nullptr ||
      def.has_side_effects || def.HasVariadicOutputs()) {
    return small;
  }
  const auto first_of_type = [&](int type_attr) {
    uint8_t i = 0;
    while (i < num_inputs && def.inputs[i].type_attr != type_attr) ++i;
    return i;
  };
  for (uint8_t i = 0; i < num_inputs; ++i) {
    const ArgDef& input = def.inputs[i];
    if (input.IsVariadic()) {
      // One sequence, of one type; what stands before it and after it keeps its place.
      if (small.min_sequence != 0 || input.number_attr < 0 || input.host_input) return Small();
      const AttrDef& count = def.attrs[input.number_attr];
      small.sequence = i;
      small.min_sequence = static_cast<uint8_t>(count.has_minimum ? std::clamp<int64_t>(count.minimum, 1, 255) : 1);
    }
    small.like[i] = input.type_attr < 0 ? i : first_of_type(input.type_attr);
    small.allowed[i] = input.type_attr < 0 ? DTypeSet{input.dtype} : def.attrs[input.type_attr].allowed_dtypes;
    small.is_host[i] = input.host_input;
  }
  const ArgDef& output = def.outputs[0];
  small.result_dtype = output.dtype;
  if (output.type_attr >= 0) {
    small.result_arg = first_of_type(output.type_attr);
    if (small.result_arg == num_inputs) small.result_attr = output.type_attr;
  }
  if (def.kernel_type_attr >= 0) small.kernel_arg = first_of_type(def.kernel_type_attr);
  small.num_inputs = static_cast<uint8_t>(num_inputs);
  for (const AttrDef& attr : def.attrs) small.needs_attrs |= !attr.inferred && !attr.has_default;
  small.applies = !output.any_dtype && small.kernel_arg < num_inputs;
  return small;
}

inline bool KernelOp::DescribeSmallResult(const OpAttrsRef& attrs, const SmallArgs& args, DType* dtype) const {
  if (small_.result_attr >= 0) return attrs.Get(def_.attrs[static_cast<size_t>(small_.result_attr)].name, dtype);
  *dtype = small_.result_dtype != DType::kInvalid ? small_.result_dtype : args.first[small_.result_arg]->dtype;
  return true;
}

inline bool KernelOp::InspectSmall(const TensorHandle& arg, size_t input, size_t position, SmallArgs& args) const {
  if (arg.device() != device_ || !arg.IsValid() || !arg.IsConcrete()) return false;
  const Tensor& tensor = arg.tensor();
  const TensorMetadata& metadata = tensor.metadata();
  args.metadata[position] = &metadata;
  if (args.first[input] == nullptr) args.first[input] = &metadata;
  if (metadata.dtype != args.first[small_.like[input]]->dtype || !small_.allowed[input].Contains(metadata.dtype)) {
    return false;
  }
  if (!def_.has_host_inputs) return true;
  const bool is_host = small_.is_host[input];
  args.values[position] = is_host ? &tensor : nullptr;
  return !is_host || tensor.IsA(kDenseHost) || tensor.IsA(kScalarHost) || tensor.IsA(kStringHost);
}

inline bool KernelOp::InspectSmall(std::span<const TensorHandle> handles, SmallArgs& args) const {
  const size_t num_inputs = small_.num_inputs;
  if (small_.min_sequence == 0) {
    if (handles.size() != num_inputs) return false;
    for (size_t i = 0; i < num_inputs; ++i) {
      args.first[i] = nullptr;
      if (!InspectSmall(handles[i], i, i, args)) return false;
    }
    return true;
  }
  if (handles.size() > kSmallArgs || handles.size() + 1 < num_inputs + small_.min_sequence) return false;
  const size_t length = handles.size() + 1 - num_inputs;
  size_t position = 0;
  for (size_t i = 0; i < num_inputs; ++i) {
    args.first[i] = nullptr;
    const size_t end = position + (i == small_.sequence ? length : 1);
    for (; position < end; ++position) {
      if (!InspectSmall(handles[position], i, position, args)) return false;
    }
  }
  return true;
}

bool KernelOp::InvokeSmall(const OpInvocation& invocation) const {
  const ExecutionContext& exec = invocation.exec;
  // Within another kernel, that one's end would be taken for this one's.
  if (exec.host().NeedsAttention() || internal::this_thread.run != nullptr || exec.request() != nullptr ||
      invocation.results.size() != 1 || invocation.chain != nullptr) {
    return false;
  }
  const bool has_attrs = !invocation.attrs.IsUntouched();
  if ((has_attrs || small_.needs_attrs) && !signature_.Accepts(invocation.attrs)) return false;
  SmallArgs args;
  if (!InspectSmall(invocation.args, args)) return false;
  const std::span<const TensorMetadata* const> metadata_of_args(args.metadata, invocation.args.size());
  const DType kernel_dtype = def_.kernel_type_attr < 0 ? DType::kInvalid : args.first[small_.kernel_arg]->dtype;
  const Kernel& kernel = (*kernels_)[static_cast<size_t>(kernel_dtype)];
  if (!kernel.IsValid()) return false;

  auto* result = new (std::nothrow) TensorValue(TensorValue::Constructed{}, device_);
  if (result == nullptr) return false;
  auto owned = RcRef<TensorValue>::Take(result);
  TensorMetadata& metadata = result->value().metadata_;
  const BorrowedOpAttrs borrowed(invocation.attrs, def_.defaults.get());
  const OpAttrsRef& attrs = borrowed.ref();
  DType result_dtype = DType::kInvalid;
  if (!DescribeSmallResult(attrs, args, &result_dtype)) return false;
  metadata.dtype = result_dtype;
  const std::span<const Tensor* const> values(args.values, def_.has_host_inputs ? invocation.args.size() : 0);
  if (!def_.metadata({metadata_of_args, values, attrs, {&metadata, 1}, def_.metadata_closure.get()}).ok() ||
      !metadata.IsValid() || metadata.dtype != result_dtype) {
    return false;
  }
  if (kernel.condition() != nullptr && !kernel.condition()(metadata_of_args, attrs, {&metadata, 1})) return false;
  const double cost = EstimateCost(kernel, metadata_of_args, {&metadata, 1});
  if (cost > kMaxSmallCost || (use_work_queue_ && cost > static_cast<double>(exec.host().inline_cost_limit()))) {
    return false;
  }

  KernelCall call(exec, handler_, def_, invocation.args, attrs, {&result, 1});
  if (kernel.cost().estimate == nullptr && !def_.has_host_inputs) [[likely]] {
    call.RunShort(kernel);
  } else {
    call.Run(kernel, {});  // may need memory while it runs, which a KernelRun tells where to get
  }
  if (call.IsPlain(0)) [[likely]] {
    result->SetConcreteUnshared();
    invocation.results[0] = TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(std::move(owned))), device_);
  } else {
    invocation.results[0] = TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(owned)), device_);
    call.FinishResult(0, std::move(owned), nullptr);
  }
  for (TensorHandle& arg : invocation.args) arg.reset();
  return true;
}

}  // namespace tandem
