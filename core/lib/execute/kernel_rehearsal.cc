// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Running the kernel of a call that waits with stand-ins.

#include "tandem/kernel_rehearsal.h"

#include <algorithm>
#include <utility>

#include "execute/kernel_call.h"
#include "execute/kernel_op.h"
#include "tandem/kernel_run.h"

namespace tandem {

constinit const KernelContext KernelRehearsal::kKernelContext = {"what a device makes ahead"};

void KernelOp::Rehearse(const ExecutionContext& exec, std::span<const TensorHandle> args, const OpAttrsRef& attrs,
                        const Plan& plan, std::span<const TensorMetadata> results) const {
  if (rehearsal_ == nullptr || plan.kernel == nullptr || plan.waits || def_.has_side_effects) return;
  bool waits = false;
  bool may_take_over = false;
  for (const TensorHandle& arg : args) {
    const TensorMetadata& metadata = arg.metadata();
    if (arg.IsError() || metadata.dtype == DType::kString) return;
    if (arg.IsConcrete()) continue;
    waits = true;
    may_take_over |= std::ranges::any_of(results, [&](const TensorMetadata& result) {
      return result.dtype == metadata.dtype && result.shape == metadata.shape;
    });
  }
  if (!waits) return;
  RehearseOnce(exec, args, attrs, *plan.kernel, results, /*is_taken_over=*/false);
  if (may_take_over) RehearseOnce(exec, args, attrs, *plan.kernel, results, /*is_taken_over=*/true);
}

void KernelOp::RehearseOnce(const ExecutionContext& exec, std::span<const TensorHandle> args, const OpAttrsRef& attrs,
                            const Kernel& kernel, std::span<const TensorMetadata> results, bool is_taken_over) const {
  SmallArray<TensorHandle, kUsualArgs> handles;
  SmallArray<RcRef<TensorValue>, kUsualResults> values;
  SmallArray<TensorValue*, kUsualResults> places;
  if (!handles.Init(args.size()) || !values.Init(results.size()) || !places.Init(results.size())) return;
  for (size_t i = 0; i < args.size(); ++i) {
    // Host inputs are there by now, or there would be no plan; what is to be moved to the device will be pending.
    if (args[i].IsConcrete() && (args[i].device() == device_ || signature_.IsHostInput(i, args.size()))) {
      handles[i] = args[i].CopyRef();
      continue;
    }
    Tensor tensor = rehearsal_->StandIn(args[i].metadata(), is_taken_over && !args[i].IsConcrete());
    if (!tensor.storage()) return;
    handles[i] = TensorHandle::MakeAvailable(std::move(tensor));
    if (handles[i].IsError()) return;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    values[i] = MakeRef<TensorValue>(TensorValue::Constructed{}, results[i], device_);
    if (!values[i]) return;
    places[i] = values[i].get();
  }
  const KernelRun run(exec);
  KernelCall call(exec, handler_, def_, handles.span(), attrs, places.span());
  static_cast<void>(kernel.Run(call));
}

}  // namespace tandem
