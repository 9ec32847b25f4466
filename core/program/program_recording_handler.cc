// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Op handlers over others, which tell the recording in progress of each call.

#include "program_recording_handler.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "tandem/host_context.h"

namespace tandem {

namespace {

// Hears of what a recorded call transfers.
class CallObserver final : public TransferObserver {
 public:
  CallObserver(RcRef<Recording> recording, RcRef<TransferObserver> outer)
      : recording_(std::move(recording)), outer_(std::move(outer)) {}

  void OnTransfer(const TensorHandle& source, const TensorHandle& result, std::string_view attrs) override {
    if (outer_) outer_->OnTransfer(source, result, attrs);
    recording_->IgnoreTransfer(result);
  }

 private:
  const RcRef<Recording> recording_;
  const RcRef<TransferObserver> outer_;  // null if the call had none
};

class RecordingOp final : public OpImpl {
 public:
  RecordingOp(RcRef<const OpImpl> op, const OpHandler& delegate, bool has_effects, RcRef<RecordingState> state)
      : OpImpl(op->name(), op->is_removable()),
        op_(std::move(op)),
        delegate_(delegate),
        has_effects_(has_effects),
        state_(std::move(state)) {}

  void Invoke(const OpInvocation& invocation) const override {
    const RcRef<Recording> recording = state_->Active();
    if (!recording) return op_->Invoke(invocation);
    CallInProgress call = {.op = name(), .handler = &delegate_, .has_effects = has_effects_};
    if (!recording->Begin(invocation, call)) return op_->Invoke(invocation);
    const ExecutionContext& exec = invocation.exec;
    RcRef<TransferObserver> observer =
        MakeRef<CallObserver>(recording, RcRef<TransferObserver>::Share(exec.transfer_observer()));
    if (!observer) {
      recording->FailForMemory();
      return op_->Invoke(invocation);
    }
    op_->Invoke({exec.WithTransferObserver(std::move(observer)), invocation.args, invocation.attrs, invocation.results,
                 invocation.chain});
    recording->End(call, invocation);
  }

 private:
  const RcRef<const OpImpl> op_;
  const OpHandler& delegate_;
  const bool has_effects_;
  const RcRef<RecordingState> state_;
};

class RecordingOpHandler final : public OpHandler {
 public:
  RecordingOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& delegate, RcRef<RecordingState> state)
      : OpHandler(name, runtime, &delegate), state_(std::move(state)) {}

  StatusOr<Op> MakeOp(std::string_view op_name) override {
    TANDEM_ASSIGN_OR_RETURN(Op op, fallback()->MakeOp(op_name));
    const std::shared_ptr<const OpDef> def = runtime().registry().FindShared(op_name);
    const bool has_effects = def != nullptr && def->has_side_effects;
    RcRef<const OpImpl> recording = MakeRef<const RecordingOp>(op.impl(), *fallback(), has_effects, state_);
    if (!recording) return Status::OutOfMemory();
    return Op(std::move(recording));
  }

 private:
  const RcRef<RecordingState> state_;
};

}  // namespace

RcRef<Recording> RecordingState::Active() const {
  if (!is_active_.load(std::memory_order_acquire)) [[likely]]
    return nullptr;
  const std::lock_guard lock(mutex_);
  return active_;
}

StatusOr<RcRef<Recording>> RecordingState::Begin(CoreRuntime& runtime) {
  const std::lock_guard lock(mutex_);
  if (active_) {
    return FailedPrecondition("expected no recording of this runtime in progress, got one that has not stopped");
  }
  RcRef<Recording> recording = MakeRef<Recording>(runtime.host().FindTransferObserver());
  if (!recording) return Status::OutOfMemory();
  // Before any call: what calls transfer is heard of twice.
  runtime.host().SetTransferObserver(recording);
  active_ = recording;
  is_active_.store(true, std::memory_order_release);
  return recording;
}

void RecordingState::End(CoreRuntime& runtime, Recording& recording) {
  RcRef<Recording> ended;
  const std::lock_guard lock(mutex_);
  if (active_.get() != &recording) return;
  is_active_.store(false, std::memory_order_release);
  ended = std::move(active_);
  ended->Stop();
  // An observer that came later stays; it may pass on what it hears.
  if (runtime.host().FindTransferObserver().get() == &recording) {
    runtime.host().SetTransferObserver(ended->previous());
  }
}

bool RecordingState::IsRecording(const OpHandler& handler) const {
  return std::any_of(handlers_.begin(), handlers_.end(),
                     [&](const Handler& known) { return known.handler == &handler; });
}

StatusOr<OpHandler*> RecordingState::HandlerOver(CoreRuntime& runtime, OpHandler& delegate) {
  if (&delegate.runtime() != &runtime) {
    return InvalidArgument("expected an op handler of the recorder's runtime, got ", std::string_view(delegate.name()),
                           " of another");
  }
  const std::lock_guard lock(mutex_);
  if (IsRecording(delegate)) return &delegate;
  for (const OpHandler* below = delegate.fallback(); below != nullptr; below = below->fallback()) {
    if (!IsRecording(*below)) continue;
    return InvalidArgument("expected an op handler whose calls are not recorded, got ",
                           std::string_view(delegate.name()), " over ", std::string_view(below->name()));
  }
  const auto found = std::find_if(handlers_.begin(), handlers_.end(),
                                  [&](const Handler& known) { return known.delegate == &delegate; });
  if (found != handlers_.end()) return found->handler;
  const std::string name = "record:" + delegate.name();
  std::unique_ptr<OpHandler> made(new (std::nothrow)
                                      RecordingOpHandler(name, runtime, delegate, RcRef<RecordingState>::Share(this)));
  if (made == nullptr) return Status::OutOfMemory();
  handlers_.push_back({runtime.AddHandler(std::move(made)), &delegate});
  return handlers_.back().handler;
}

const OpHandler* RecordingState::FindDelegate(const Device& device) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(handlers_.begin(), handlers_.end(),
                                  [&](const Handler& known) { return known.delegate->device() == &device; });
  return found == handlers_.end() ? nullptr : found->delegate;
}

}  // namespace tandem
