// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PendingOp: a call of an op that waits: for its inputs' metadata, then for the inputs themselves, then in the work
// queue (EX-8, MD-4).

#ifndef TANDEM_CORE_LIB_EXECUTE_PENDING_OP_H_
#define TANDEM_CORE_LIB_EXECUTE_PENDING_OP_H_

#include <span>
#include <utility>

#include "execute/kernel_call.h"
#include "execute/kernel_op.h"
#include "execute/pending_call.h"
#include "tandem/host_context.h"
#include "tandem/small_array.h"

namespace tandem {

class PendingOp final : public PendingCall {
 public:
  PendingOp(const KernelOp& op, const ExecutionContext& exec, OpAttrsRef attrs)
      : PendingCall(exec, op.name()), op_(RcRef<const KernelOp>::Share(&op)), attrs_(std::move(attrs)) {
    if (exec.host().IsTracing()) called_ = KernelCall::Clock::now();
  }

  // Makes the results and the chain to come; the results' metadata is known if `metadata` is not empty.
  [[nodiscard]] bool MakeResults(const OpInvocation& invocation, std::span<const TensorMetadata> metadata);
  // Before it takes the arguments.
  void Rehearse(std::span<const TensorHandle> args, const KernelOp::Plan& plan,
                std::span<const TensorMetadata> results) const {
    op_->Rehearse(exec(), args, attrs_, plan, results);
  }
  // Takes the caller's arguments and gives it the results; `plan` is given if metadata and dtypes have been checked
  // already. Cannot fail.
  void TakeOver(const OpInvocation& invocation, const KernelOp::Plan* plan);

  PendingOp* AsPendingOp() override { return this; }

 private:
  friend class PendingGroup;
  using MetadataValue = KernelCall::MetadataValue;

  // Starts anew each time that something the op has waited for is there; what has been moved or planned is found so.
  void Advance() override;
  void RunQueued() override { RunKernel(); }
  void DropInputs() override;
  void SetError(const Status& error) override;

  AsyncValue* NextMetadataDependency();
  AsyncValue* NextDependency();
  const AsyncValue* FirstError();
  // Ends the op by the error of an input.
  void FailBy(const AsyncValue& input) { Fail(input.GetError().Through(name(), location())); }
  Status CheckLate();
  Status PlanLate();
  Status CompletePlan();
  void Launch();
  void RunOnFallback();
  // With others that wait for it, if they can be run as one, else alone.
  void RunKernel();
  void RunAlone();
  void Finish(KernelCall& call);
  RcRef<MetadataValue> TakeMetadata(size_t i) {
    return result_metadata_.size() > 0 ? std::move(result_metadata_[i]) : nullptr;
  }

  const RcRef<const KernelOp> op_;
  OpAttrsRef attrs_;
  SmallArray<TensorHandle, kUsualArgs> args_;
  SmallArray<RcRef<TensorValue>, kUsualResults> results_;
  SmallArray<RcRef<MetadataValue>, 1> result_metadata_;  // empty if the metadata is known
  AsyncValueRef<Chain> chain_in_;
  RcRef<ConcreteAsyncValue<Chain>> chain_out_;
  KernelOp::Plan plan_;
  RcRef<AsyncValue> code_;  // what `plan_` waits for, once it does
  bool planned_ = false;
  bool may_join_ = true;  // others
  KernelCall::Clock::time_point called_;
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_PENDING_OP_H_
