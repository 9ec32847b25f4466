// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Running a kernel, and what its results and its chain become (DI-2, DI-3, DI-5).

#include "execute/kernel_call.h"

#include "execute/late_value.h"
#include "tandem/host_context.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/kernel_run.h"

namespace tandem {

// An error in any case if the run was stopped, which the diagnostic handler has heard of.
Status KernelCall::RunUntilStopped(const Kernel& kernel) {
  const KernelRun run(exec());
  run_ = &run;
  Status status = kernel.Run(*this);
  run_ = nullptr;
  if (!run.was_stopped()) [[likely]]
    return status;
  FreeLate();
  is_told_ = true;
  return run.Reason();
}

void KernelCall::Run(const Kernel& kernel, Clock::time_point called) {
  RunAsOne(kernel, called);
  if (!status_.ok()) [[unlikely]]
    status_ = status_.WithContext(def().name, exec().location());
}

void KernelCall::RunAsOne(const Kernel& kernel, Clock::time_point called) {
  const bool is_traced = host().IsTracing();
  const Clock::time_point started = is_traced ? Clock::now() : Clock::time_point();
  status_ = RunUntilStopped(kernel);
  if (!is_traced) [[likely]]
    return;
  const Clock::time_point ended = Clock::now();
  MessageBuilder inputs;
  for (size_t i = 0; i < num_args(); ++i) inputs.Append(i == 0 ? "" : ", ", arg(i).metadata());
  MessageBuilder attributes;
  attributes.Append(attrs());
  host().tracer().Record({def().name, handler().device()->name(), inputs.view(), attributes.view(),
                          called == Clock::time_point() ? started : called, started, ended});
}

bool KernelCall::IsPlain() const {
  bool is_plain = status_.ok() && late_ == nullptr && !late_lost_ && !chain_.IsValid();
  for (const TensorValue* result : results_) is_plain = is_plain && result->value().HasPayload();
  return is_plain;
}

Status KernelCall::Tell(const Status& error) const {
  return host().EmitError(error.WithContext(def().name, exec().location()));
}

void KernelCall::TellOnce(const Status& error) {
  if (std::exchange(is_told_, true)) return;
  static_cast<void>(host().EmitError(error));
}

void KernelCall::FinishResult(size_t i, RcRef<TensorValue> value, RcRef<MetadataValue> metadata) {
  Late* const late = FindLate(i);
  Status error;
  if (late != nullptr && !late->error.ok()) {
    error = Tell(late->error);
  } else if (!status_.ok() || late_lost_) {
    error = status_.ok() ? Status::OutOfMemory().WithContext(def().name, exec().location()) : status_;
    TellOnce(error);
  } else if (late != nullptr) {
    return ForwardTensor({exec(), def(), /*is_of_call=*/false}, std::move(late->value), std::move(value),
                         std::move(metadata));
  } else if (!value->value().HasPayload()) {
    error = Tell(Internal("kernel gave no value for result ", i));
  }
  if (error.ok()) return Publish(std::move(value), std::move(metadata));
  if (metadata) metadata->SetError(error);
  value->SetError(error);
}

void KernelCall::FinishChain(RcRef<ConcreteAsyncValue<Chain>> chain) {
  if (!status_.ok()) {
    TellOnce(status_);
    chain->SetError(status_);
  } else if (chain_.IsValid()) {
    ForwardChain({exec(), def(), /*is_of_call=*/false}, std::move(chain_), std::move(chain));
  } else {
    chain->Emplace();
  }
}

AsyncValueRef<Chain> KernelCall::ChainAfter(AsyncValueRef<Chain> before) {
  // The effect is done, as is what `before` stands for.
  if (status_.ok() && !chain_.IsValid() && before.IsValid()) return before;
  RcRef<ConcreteAsyncValue<Chain>> chain = MakeUnconstructed<Chain>();
  if (!chain) {
    TellOnce(status_.ok() ? Status::OutOfMemory().WithContext(def().name, exec().location()) : status_);
    return AsyncValueRef<Chain>(OutOfMemoryAsyncValue());
  }
  AsyncValueRef<Chain> after{RcRef<AsyncValue>(chain)};
  FinishChain(std::move(chain));
  return after;
}

}  // namespace tandem
