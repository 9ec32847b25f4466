// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which waiting calls are computed as one, and how they end.

#include "execute/pending_group.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <new>
#include <span>
#include <utility>

#include "execute/pending_ops.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_op_handler.h"

namespace tandem {

namespace {

// A group takes longer than its calls alone if their results have fewer elements than that together.
constexpr int64_t kWorthIt = int64_t{1} << 15;
// Where one has fewer, who else could be in the group is not looked for, which would take a part of the time.
constexpr int64_t kWorthLooking = int64_t{1} << 12;
// From here on the head takes some 50 us, and less than a tenth of its time is enough for a caller to issue the next
// call: one in JavaScript needs some 10 us where the caches are full of tensors. That of a million elements waits 15
// us, as long as it takes to wake a thread.
constexpr int64_t kWorthWaiting = int64_t{1} << 18;
constexpr int64_t kElementsPerNanosecondOfWaiting = 66;
constexpr int64_t kMostWaiting = 30'000;  // ns
// No more at a time on a thread that must not be kept for long: some 20 ms.
constexpr int64_t kMostWhereNobodyMayBlock = int64_t{1} << 25;

bool IsEarlier(const PendingOp& a, const PendingOp& b) { return static_cast<int32_t>(a.number() - b.number()) < 0; }

}  // namespace

bool PendingGroup::HasCandidates(PendingOp& head) {
  bool found = false;
  int left = kMaxVisited;
  const auto visit = [&](Waiter& waiter) {
    found = waiter.AsPendingOp() != nullptr;
    return !found && --left > 0;
  };
  head.results_[0]->VisitWaiters(visit);
  if (!found && head.is_continuation()) ContinuationGuard::VisitNext(head, visit);
  return found;
}

bool PendingGroup::IsLikely(PendingOp& head) {
  const int64_t elements = NumElements(head);
  if (!head.may_join_ || !head.exec().host().fuses() || elements < kWorthIt / 2) return false;
  PendingOp* next = nullptr;
  head.results_[0]->VisitWaiters([&](Waiter& waiter) {
    next = waiter.AsPendingOp();
    return next == nullptr;
  });
  if (next == nullptr || !next->TryClaim()) return false;
  const bool fits = next->planned_ && next->op_->CanFuse(next->plan_) && NumElements(*next) == elements;
  next->Unclaim();
  return fits;
}

bool PendingGroup::TryRun(PendingOp& head) {
  if (!head.may_join_ || !head.exec().host().fuses()) return false;
  const int64_t elements = NumElements(head);
  if (elements < kWorthLooking) return false;
  if (kHasThreads && head.is_queued() && elements >= kWorthWaiting) {
    const int64_t moment = std::min<int64_t>(elements / kElementsPerNanosecondOfWaiting, kMostWaiting);
    head.exec().host().pending_ops().AwaitLull(head.exec().work_queue(), std::chrono::nanoseconds(moment));
  }
  if (!HasCandidates(head)) return false;
  const std::unique_ptr<PendingGroup> group(new (std::nothrow) PendingGroup(head));
  return group != nullptr && group->Run();
}

bool PendingGroup::Run() {
  Collect();
  RcRef<const GroupKernel> kernel;
  while (num_members_ > 1) {
    FindOutputs();
    kernel = IsWorthIt() && HasRoom() ? FindKernel() : nullptr;
    if (!kernel) {
      // None of them tries again.
      for (size_t i = 0; i < num_members_; ++i) members_[i].call->may_join_ = false;
      Truncate(1);
    } else if (Begin()) {
      break;
    }
  }
  if (num_members_ <= 1) return false;
  TakeInputs();
  RunAsOne(std::move(kernel));
  return true;
}

void PendingGroup::Collect() {
  if (!AddMember({&head_, kNone})) return;
  if (!head_.exec().work_queue().MayBlock()) {
    max_members_ =
        static_cast<size_t>(std::clamp<int64_t>(kMostWhereNobodyMayBlock / NumElements(head_), 2, kMaxCalls));
  }
  AddCandidates(0);
  if (head_.is_continuation()) AddCandidates(kNone);
  for (int num_rejected = 0; num_candidates_ > 0 && num_members_ < max_members_ && num_rejected < kMaxRejected;) {
    const Candidate candidate = candidates_[--num_candidates_];
    if (!candidate.call->TryClaim()) continue;
    if (AddMember(candidate)) {
      AddCandidates(static_cast<uint8_t>(num_members_ - 1));
    } else {
      candidate.call->Unclaim();
      ++num_rejected;
    }
  }
}

void PendingGroup::AddCandidates(uint8_t waits_for) {
  int left = kMaxVisited;
  const auto visit = [&](Waiter& waiter) {
    if (PendingOp* const call = waiter.AsPendingOp()) AddCandidate(*call, waits_for);
    return --left > 0;
  };
  if (waits_for == kNone) {
    ContinuationGuard::VisitNext(head_, visit);
  } else {
    ResultOf(waits_for)->VisitWaiters(visit);
  }
}

void PendingGroup::AddCandidate(PendingOp& call, uint8_t waits_for) {
  size_t place = num_candidates_;
  while (place > 0 && IsEarlier(*candidates_[place - 1].call, call)) --place;
  if (num_candidates_ == kMaxCandidates) {
    if (place == 0) return;  // the latest has no place
    std::move(candidates_.begin() + 1, candidates_.begin() + place, candidates_.begin());
    candidates_[place - 1] = {&call, waits_for};
    return;
  }
  std::move_backward(candidates_.begin() + place, candidates_.begin() + num_candidates_,
                     candidates_.begin() + num_candidates_ + 1);
  candidates_[place] = {&call, waits_for};
  ++num_candidates_;
}

bool PendingGroup::AddMember(const Candidate& candidate) {
  Member member;
  member.call = candidate.call;
  member.waits_for = candidate.waits_for;
  if (!Fits(*member.call) || !FindOperands(member)) return false;
  for (const uint8_t of : member.of) {
    if (of != kNone) ++members_[of].num_refs;
  }
  if (member.waits_for != kNone) ++members_[member.waits_for].num_waiters;
  members_[num_members_++] = member;
  return true;
}

bool PendingGroup::Fits(const PendingOp& call) const {
  if (!call.planned_ || !call.op_->CanFuse(call.plan_) || call.args_.size() > kMaxOperands || call.chain_out_) {
    return false;
  }
  if (call.chain_in_.IsValid() && !call.chain_in_.IsConcrete()) return false;
  const TensorMetadata& result = call.results_[0]->value().metadata();
  if (result.dtype == DType::kString) return false;
  if (&call == &head_) return true;
  return &call.op_->handler() == &head_.op_->handler() && call.exec().request() == head_.exec().request() &&
         &call.exec().work_queue() == &head_.exec().work_queue() &&
         result.shape == head_.results_[0]->value().shape() && (!call.plan_.is_long || head_.is_queued());
}

bool PendingGroup::FindOperands(Member& member) const {
  member.of.fill(kNone);
  const Device* const device = member.call->op_->device();
  for (size_t i = 0; i < member.call->args_.size(); ++i) {
    const TensorHandle& arg = member.call->args_[i];
    if (arg.device() != device) return false;
    if (arg.IsConcrete()) {
      if (!arg.tensor().IsA(device->dense_type()) && !arg.tensor().IsA(kScalarHost)) return false;
      continue;
    }
    size_t of = num_members_;
    while (of > 0 && ResultOf(of - 1) != arg.value().value()) --of;
    if (of == 0) return false;
    member.of[i] = static_cast<uint8_t>(of - 1);
  }
  return true;
}

void PendingGroup::Truncate(size_t count) {
  while (num_members_ > count) {
    const Member& last = members_[--num_members_];
    for (const uint8_t of : last.of) {
      if (of != kNone) --members_[of].num_refs;
    }
    if (last.waits_for != kNone) --members_[last.waits_for].num_waiters;
    last.call->Unclaim();
  }
}

void PendingGroup::FindOutputs() {
  outputs_ = uint32_t{1} << (num_members_ - 1);
  for (size_t i = 0; i + 1 < num_members_; ++i) {
    const Member& member = members_[i];
    if (!ResultOf(i)->IsKnownOnlyBy(member.num_refs, member.num_waiters)) outputs_ |= uint32_t{1} << i;
  }
}

bool PendingGroup::IsWorthIt() const { return NumElements(head_) >= kWorthIt / static_cast<int64_t>(num_members_); }

bool PendingGroup::HasRoom() const {
  if (!head_.is_queued()) return true;
  // For as much as the head alone takes the host has been asked.
  int64_t bytes = 0;
  for (size_t i = 0; i < num_members_; ++i) {
    if ((outputs_ >> i & 1) != 0) bytes += members_[i].call->bytes();
  }
  return bytes <= head_.bytes() || head_.exec().host().MayBegin(bytes);
}

RcRef<const GroupKernel> PendingGroup::FindKernel() {
  FindInputs();
  const GroupForm form = {{calls_.data(), num_members_}, num_inputs_, outputs_};
  RcRef<const GroupKernel> kernel = head_.op_->handler().group_kernels()->Find(form);
  if (!kernel) return nullptr;
  std::array<const TensorMetadata*, kMaxInputs> metadata;
  for (size_t i = 0; i < num_inputs_; ++i) metadata[i] = &sources_[i]->tensor().metadata();
  return kernel->group->Infer({metadata.data(), num_inputs_}) ? std::move(kernel) : nullptr;
}

void PendingGroup::FindInputs() {
  num_inputs_ = 0;
  for (size_t i = 0; i < num_members_; ++i) {
    const PendingOp& call = *members_[i].call;
    calls_[i] = {&call.op_->shared_def(), &call.attrs_, static_cast<uint32_t>(call.args_.size()), {}};
    for (size_t k = 0; k < call.args_.size(); ++k) {
      if (members_[i].of[k] != kNone) continue;
      const AsyncValue* const value = call.args_[k].value().value();
      uint32_t input = 0;
      while (input < num_inputs_ && sources_[input]->value().value() != value) ++input;
      if (input == num_inputs_) sources_[num_inputs_++] = &call.args_[k];
      calls_[i].operands[k] = input;
    }
  }
  for (size_t i = 0; i < num_members_; ++i) {
    for (size_t k = 0; k < calls_[i].num_operands; ++k) {
      if (members_[i].of[k] != kNone) calls_[i].operands[k] = num_inputs_ + members_[i].of[k];
    }
  }
}

bool PendingGroup::Begin() {
  for (size_t i = 1; i < num_members_; ++i) {
    if (members_[i].call->BeginClaimed()) continue;
    Truncate(i);
    return false;
  }
  return true;
}

// Each input by one reference, so that the kernel may take over the memory of one that nobody else has.
void PendingGroup::TakeInputs() {
  for (size_t i = 0; i < num_members_; ++i) {
    for (size_t k = 0; k < calls_[i].num_operands; ++k) {
      if (members_[i].of[k] != kNone) continue;
      TensorHandle& arg = members_[i].call->args_[k];
      TensorHandle& input = inputs_[calls_[i].operands[k]];
      if (input.IsValid()) {
        arg.reset();
      } else {
        input = std::move(arg);
      }
    }
  }
}

void PendingGroup::GiveInputsBack() {
  for (size_t i = 0; i < num_members_; ++i) {
    for (size_t k = 0; k < calls_[i].num_operands; ++k) {
      if (members_[i].of[k] == kNone) members_[i].call->args_[k] = inputs_[calls_[i].operands[k]].CopyRef();
    }
  }
  for (size_t i = 0; i < num_inputs_; ++i) inputs_[i].reset();
}

void PendingGroup::RunAsOne(RcRef<const GroupKernel> kernel) {
  std::array<TensorValue*, kMaxCalls> results;
  size_t num_results = 0;
  for (size_t i = 0; i < num_members_; ++i) {
    if ((outputs_ >> i & 1) != 0) results[num_results++] = members_[i].call->results_[0].get();
  }
  const OpAttrsRef attrs;
  Status error;
  bool is_stopped = false;
  bool is_plain = false;
  {
    KernelCall call(head_.exec(), head_.op_->handler(), kernel->op->def(), {inputs_.data(), num_inputs_}, attrs,
                    {results.data(), num_results});
    call.RunAsOne(kernel->op->group_kernel(), head_.called_);
    error = call.status();
    is_stopped = call.was_stopped();
    is_plain = call.IsPlain();
  }
  kernel.reset();  // before the host may be gone
  if (is_plain) return Finish();
  GiveInputsBack();
  for (size_t i = 0; i < num_results; ++i) results[i]->value().DropPayload();
  error.ok() ? RunOneByOne() : FailAll(error, is_stopped);
}

// As PendingOp::Finish, for all.
void PendingGroup::Finish() {
  for (size_t i = 0; i < num_members_; ++i) members_[i].call->DropInputs();
  for (size_t i = 0; i < num_inputs_; ++i) inputs_[i].reset();
  for (size_t i = 0; i < num_members_; ++i) {
    if ((outputs_ >> i & 1) == 0) members_[i].call->results_[0].reset();
  }
  for (size_t i = 0; i < num_members_; ++i) members_[i].call->Leave();
  for (size_t i = 0; i < num_members_; ++i) {
    PendingOp& call = *members_[i].call;
    if ((outputs_ >> i & 1) != 0) KernelCall::Publish(std::move(call.results_[0]), call.TakeMetadata(0));
  }
  for (size_t i = 0; i < num_members_; ++i) members_[i].call->Release();
}

void PendingGroup::RunOneByOne() {
  for (size_t i = 0; i < num_members_; ++i) {
    PendingOp& call = *members_[i].call;
    const Status active = call.exec().CheckActive();
    if (const AsyncValue* const failed = call.FirstError()) {
      call.FailBy(*failed);
    } else if (!active.ok()) {
      call.Fail(active.WithContext(call.name(), call.location()));
    } else {
      call.RunAlone();
    }
  }
}

void PendingGroup::FailAll(const Status& error, bool is_told) {
  for (size_t i = 0; i < num_members_; ++i) {
    PendingOp& call = *members_[i].call;
    if (is_told) {
      call.Fail(error.WithContext(call.name(), call.location()));
    } else if (const AsyncValue* const failed = call.FirstError()) {
      call.FailBy(*failed);
    } else {
      call.Fail(call.Tell(error));
    }
  }
}

}  // namespace tandem
