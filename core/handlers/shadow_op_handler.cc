// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls that go to two handlers.

#include "tandem/shadow_op_handler.h"

#include <algorithm>
#include <utility>

#include "defs/op_signature.h"
#include "shadow_comparison.h"
#include "tandem/host_context.h"

namespace tandem {

namespace {

class ShadowOp final : public OpImpl {
 public:
  // `reference` is null for an op that is not compared, for the reason `skip`.
  ShadowOp(RcRef<const OpImpl> primary, RcRef<const OpImpl> reference, ShadowSkip skip, const Device* there,
           std::shared_ptr<const OpDef> def, RcRef<Shadow> shadow)
      : OpImpl(primary->name(), primary->is_removable() || (reference && reference->is_removable())),
        primary_(std::move(primary)),
        reference_(std::move(reference)),
        skip_(skip),
        there_(there),
        def_(std::move(def)),
        signature_(*def_),
        shadow_(std::move(shadow)) {}

  void Invoke(const OpInvocation& invocation) const override {
    const int64_t number = shadow_->NextCall();
    const size_t num_results = invocation.results.size();
    shadow_->BeginComparisons(num_results);
    if (!reference_) shadow_->CountSkipped(skip_, num_results);
    if (!reference_ || num_results == 0) return primary_->Invoke(invocation);

    auto call = MakeRef<ShadowCall>(shadow_, def_, invocation, number);
    SmallArray<TensorHandle, 4> args;
    SmallArray<TensorHandle, 2> expected;
    if (!call || !call->Init(invocation.args) || !args.Init(invocation.args.size()) || !expected.Init(num_results)) {
      shadow_->CountSkipped(ShadowSkip::kOutOfMemory, num_results);
      if (shadow_->fails()) return FailInvocation(invocation, name(), Status::OutOfMemory());
      return primary_->Invoke(invocation);
    }
    AsyncValueRef<Chain> chain;
    if (invocation.chain != nullptr) chain = invocation.chain->CopyRef();
    primary_->Invoke(invocation);
    // One error for a wrong call, not one for each handler.
    if (std::ranges::all_of(invocation.results, [](const TensorHandle& result) { return result.IsError(); })) {
      return shadow_->CountSkipped(ShadowSkip::kPrimaryFailed, num_results);
    }
    for (size_t i = 0; i < args.size(); ++i) args[i] = Fetch(invocation.exec, call->args(), i);
    reference_->Invoke({invocation.exec, args.span(), invocation.attrs, expected.span(),
                        invocation.chain == nullptr ? nullptr : &chain});
    for (size_t i = 0; i < num_results; ++i) {
      invocation.results[i] =
          CompareResults(invocation.exec, call, i, std::move(invocation.results[i]), std::move(expected[i]));
    }
  }

 private:
  // Argument `i` where the reference takes it.
  TensorHandle Fetch(const ExecutionContext& exec, std::span<const TensorHandle> args, size_t i) const {
    const TensorHandle& arg = args[i];
    const Device* const wanted = signature_.IsHostInput(i, args.size()) ? &exec.host().device() : there_;
    const bool is_string = arg.IsMetadataAvailable() && arg.metadata().dtype == DType::kString;
    if (wanted == nullptr || arg.device() == wanted || is_string) return arg.CopyRef();
    return arg.TransferTo(exec, *wanted);
  }

  const RcRef<const OpImpl> primary_;
  const RcRef<const OpImpl> reference_;
  const ShadowSkip skip_;
  const Device* const there_;
  const std::shared_ptr<const OpDef> def_;
  const OpSignature signature_;
  const RcRef<Shadow> shadow_;
};

class ShadowOpHandler final : public OpHandler {
 public:
  ShadowOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& primary, OpHandler& reference,
                  RcRef<Shadow> shadow)
      : OpHandler(name, runtime, &primary), reference_(reference), shadow_(std::move(shadow)) {}

  StatusOr<Op> MakeOp(std::string_view op_name) override {
    TANDEM_ASSIGN_OR_RETURN(Op primary, fallback()->MakeOp(op_name));
    std::shared_ptr<const OpDef> def = runtime().registry().FindShared(op_name);
    if (def == nullptr) return runtime().registry().NotFoundError(op_name);
    RcRef<const OpImpl> reference;
    if (!def->has_side_effects) {
      StatusOr<Op> op = reference_.MakeOp(op_name);
      if (!op.ok() && op.status().code() != StatusCode::kUnimplemented) return op;
      if (op.ok()) reference = op->impl();
    }
    const ShadowSkip skip = def->has_side_effects ? ShadowSkip::kSideEffects : ShadowSkip::kNoKernel;
    RcRef<const OpImpl> op = MakeRef<const ShadowOp>(primary.impl(), std::move(reference), skip, reference_.device(),
                                                     std::move(def), shadow_);
    if (!op) return Status::OutOfMemory();
    return Op(std::move(op));
  }

 private:
  OpHandler& reference_;
  const RcRef<Shadow> shadow_;
};

}  // namespace

std::unique_ptr<OpHandler> CreateShadowOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& primary,
                                                 OpHandler& reference, ShadowOptions options) {
  return std::make_unique<ShadowOpHandler>(name, runtime, primary, reference, MakeRef<Shadow>(std::move(options)));
}

}  // namespace tandem
