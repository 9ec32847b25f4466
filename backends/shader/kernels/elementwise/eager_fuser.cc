// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// When calls are noted: before every command that is not one of them.

#include "kernels/elementwise/eager_fuser.h"

#include <memory>
#include <new>
#include <utility>

#include "tandem/shader/shader_op_handler.h"

namespace tandem::shader {

EagerFuser::~EagerFuser() {
  LateCalls::Outcome outcome;
  const std::lock_guard lock(mutex_);
  late_.Clear(outcome);
}

void EagerFuser::NoteLocked(LateCalls::Outcome& outcome) {
  late_.Note(outcome);
  num_late_.store(0, std::memory_order_release);
}

Status EagerFuser::Tell(const LateCalls::Outcome& outcome) const {
  for (size_t i = 0; i < outcome.num_failures; ++i) {
    const auto& [batch, error] = outcome.failures[i];
    listener_->OnBatchesFailed(batch, batch, error);
  }
  return outcome.num_failures == 0 ? Status() : outcome.failures[0].error;
}

Status EagerFuser::Note() {
  if (IsEmpty()) return Status();
  LateCalls::Outcome outcome;
  {
    const std::lock_guard lock(mutex_);
    NoteLocked(outcome);
  }
  return Tell(outcome);
}

void EagerFuser::DropUnheld() {
  if (IsEmpty()) return;
  LateCalls::Outcome outcome;
  const std::lock_guard lock(mutex_);
  late_.DropUnheld(outcome);
}

void EagerFuser::PutOff(ShaderCall& call, const EagerCall& late) {
  const ShaderCall::Step* const launch = call.OnlyLaunch();
  if (launch == nullptr) return;
  const StatusOr<bool> is_added = Add(late, *launch, call.origin());
  if (!is_added.ok()) return call.Fail(is_added.status());
  if (*is_added) call.LeaveLaunch();
}

StatusOr<bool> EagerFuser::Add(const EagerCall& call, const ShaderCall::Step& step, const CommandOrigin& origin) {
  LateCalls::Outcome outcome;
  bool is_added = false;
  bool is_full = false;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_added = late_.Add(call, step, origin);
    if (!is_added && late_.size() > 0) {
      is_full = late_.size() == LateCalls::kMaxCalls;
      NoteLocked(outcome);
      is_added = outcome.num_failures == 0 && late_.Add(call, step, origin);
    }
    is_first = late_.size() == 1;
    num_late_.store(late_.size(), std::memory_order_release);
  }
  // The device may begin.
  if (is_full) queue_.Flush();
  if (is_first) queue_.RequestFlush();
  TANDEM_RETURN_IF_ERROR(Tell(outcome));
  return is_added;
}

bool EagerFuser::IssueLate() {
  if (IsEmpty()) return false;
  static_cast<void>(Note());  // the results have the error
  return true;
}

StatusOr<BufferId> EagerFuser::CreateBuffer(uint64_t bytes, const CommandOrigin& origin) {
  return queue_.CreateBuffer(bytes, origin);
}

void EagerFuser::DestroyBuffer(BufferId buffer) {
  if (!IsEmpty()) {
    const std::lock_guard lock(mutex_);
    if (late_.Uses(buffer)) return late_.Destroy(buffer);
  }
  queue_.DestroyBuffer(buffer);
}

AsyncValueRef<RcRef<Pipeline>> EagerFuser::CreatePipeline(ShaderText text) {
  return queue_.CreatePipeline(std::move(text));
}

StatusOr<uint64_t> EagerFuser::Dispatch(const Pipeline& pipeline, std::span<const BufferRange> buffers,
                                        std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                                        const CommandOrigin& origin) {
  TANDEM_RETURN_IF_ERROR(Note());
  return queue_.Dispatch(pipeline, buffers, parameters, workgroups, origin);
}

StatusOr<uint64_t> EagerFuser::Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                                      const CommandOrigin& origin) {
  bool is_used = false;
  if (!IsEmpty()) {
    const std::lock_guard lock(mutex_);
    is_used = late_.Uses(to);
  }
  // Into other memory, numbers of the host may come between calls.
  if (is_used) TANDEM_RETURN_IF_ERROR(Note());
  return queue_.Upload(to, data, bytes, std::move(owner), origin);
}

StatusOr<uint64_t> EagerFuser::Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset,
                                    uint64_t bytes, const CommandOrigin& origin) {
  TANDEM_RETURN_IF_ERROR(Note());
  return queue_.Copy(from, from_offset, to, to_offset, bytes, origin);
}

void EagerFuser::Download(BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) {
  static_cast<void>(Note());  // who reads a result that has failed learns it from the listener
  queue_.Download(from, offset, to, bytes, std::move(done));
}

void EagerFuser::WhenDone(Done done) {
  static_cast<void>(Note());
  queue_.WhenDone(std::move(done));
}

void EagerFuser::Flush() {
  static_cast<void>(Note());
  queue_.Flush();
}

void EnableCallFusion(ShaderOpHandler& handler) {
  EnableProgramFusion(handler);
  ShaderDevice& device = handler.gpu();
  ShaderQueue& queue = device.queue();
  if (queue.call_delayer() != nullptr) return;
  const auto& fuser = static_cast<const ShaderFuser&>(*handler.fuser());
  std::unique_ptr<EagerFuser> front(new (std::nothrow) EagerFuser(queue, device, fuser));
  if (front != nullptr) device.PutInFront(std::move(front));
}

}  // namespace tandem::shader
