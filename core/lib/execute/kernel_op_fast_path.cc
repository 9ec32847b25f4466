// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The short path of small calls: every check of the general path that they can fail, and nothing else.

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
  if (def.inputs.empty() || def.inputs.size() > kSmallArgs || def.outputs.size() != 1 || def.metadata == nullptr ||
      def.has_side_effects || def.has_host_inputs || def.HasVariadicInputs() || def.HasVariadicOutputs()) {
    return small;
  }
  for (const AttrDef& attr : def.attrs) {
    if (!attr.inferred && !attr.has_default) return small;
  }
  const auto first_of_type = [&](int type_attr) {
    uint8_t i = 0;
    while (i < def.inputs.size() && def.inputs[i].type_attr != type_attr) ++i;
    return i;
  };
  for (uint8_t i = 0; i < def.inputs.size(); ++i) {
    const ArgDef& input = def.inputs[i];
    small.like[i] = input.type_attr < 0 ? i : first_of_type(input.type_attr);
    small.allowed[i] = input.type_attr < 0 ? DTypeSet{input.dtype} : def.attrs[input.type_attr].allowed_dtypes;
  }
  const ArgDef& output = def.outputs[0];
  small.result_dtype = output.dtype;
  if (output.type_attr >= 0) small.result_arg = first_of_type(output.type_attr);
  if (def.kernel_type_attr >= 0) small.kernel_arg = first_of_type(def.kernel_type_attr);
  small.num_args = static_cast<uint8_t>(def.inputs.size());
  // A type that only an attribute gives takes the general path.
  small.applies = !output.any_dtype && small.result_arg < small.num_args && small.kernel_arg < small.num_args;
  return small;
}

bool KernelOp::InvokeSmall(const OpInvocation& invocation) const {
  const ExecutionContext& exec = invocation.exec;
  const size_t num_args = small_.num_args;
  // Within another kernel, that one's end would be taken for this one's.
  if (exec.host().NeedsAttention() || internal::this_thread.run != nullptr || exec.request() != nullptr ||
      invocation.args.size() != num_args || invocation.results.size() != 1 || invocation.chain != nullptr ||
      !invocation.attrs.IsUntouched()) {
    return false;
  }
  const Device* const device = device_;
  const TensorMetadata* args[kSmallArgs];
  int64_t num_elements = 0;
  for (size_t i = 0; i < num_args; ++i) {
    const TensorHandle& arg = invocation.args[i];
    if (arg.device() != device || !arg.IsValid() || !arg.IsConcrete()) return false;
    args[i] = &arg.tensor().metadata();
    num_elements += args[i]->num_elements();
    const DType dtype = args[i]->dtype;
    if (dtype != args[small_.like[i]]->dtype || !small_.allowed[i].Contains(dtype)) return false;
  }
  const DType kernel_dtype = def_.kernel_type_attr < 0 ? DType::kInvalid : args[small_.kernel_arg]->dtype;
  const Kernel& kernel = (*kernels_)[static_cast<size_t>(kernel_dtype)];
  if (!kernel.IsValid() || kernel.cost().estimate != nullptr || kernel.condition() != nullptr) return false;

  auto* result = new (std::nothrow) TensorValue(TensorValue::Constructed{}, device);
  if (result == nullptr) return false;
  auto owned = RcRef<TensorValue>::Take(result);
  TensorMetadata& metadata = result->value().metadata_;
  const DType result_dtype =
      small_.result_dtype != DType::kInvalid ? small_.result_dtype : args[small_.result_arg]->dtype;
  const OpAttrsRef attrs = OpAttrsRef().WithDefaults(def_.defaults.get());
  if (!def_.metadata({{args, num_args}, {}, attrs, {&metadata, 1}, def_.metadata_closure.get()}).ok() ||
      !metadata.IsValid() || metadata.dtype != result_dtype) {
    return false;
  }
  num_elements += metadata.num_elements();
  const double cost = static_cast<double>(num_elements) * kernel.cost().per_element;
  if (cost > kMaxSmallCost || (use_work_queue_ && cost > static_cast<double>(exec.host().inline_cost_limit()))) {
    return false;
  }

  KernelCall call(exec, handler_, def_, invocation.args, attrs, {&result, 1});
  call.RunShort(kernel);
  if (call.IsPlain(0)) [[likely]] {
    result->SetConcreteUnshared();
    invocation.results[0] = TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(std::move(owned))), device);
  } else {
    invocation.results[0] = TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(owned)), device);
    call.FinishResult(0, std::move(owned), nullptr);
  }
  for (TensorHandle& arg : invocation.args) arg.reset();
  return true;
}

}  // namespace tandem
