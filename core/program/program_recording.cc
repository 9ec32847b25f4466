// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How calls come into the log.

#include "program_recording.h"

#include <algorithm>

namespace tandem {

namespace {

// Not even begun, or failed at once: nothing of it is left, whatever comes.
bool HasFailed(const OpInvocation& invocation) {
  const bool has_value = std::any_of(invocation.results.begin(), invocation.results.end(),
                                     [](const TensorHandle& result) { return result.IsValid() && !result.IsError(); });
  const AsyncValueRef<Chain>* const chain = invocation.chain;
  return !has_value && (chain == nullptr || !chain->IsValid() || chain->IsError());
}

// Whether the transfer gives what tensors usually are on a device.
bool IsToDense(const Device& device, std::string_view attrs) {
  MessageBuilder to;
  to.Append("to = ", device.dense_type().name(), " on ", device.name(), "}");
  return attrs.ends_with(to.view());
}

}  // namespace

uint32_t RecordedContent::Find(const TensorHandle& tensor) const {
  const AsyncValue& value = *tensor.value().value();
  const uint32_t found = known.Find(value);
  if (found != KnownValues::kNone || !value.IsAvailable() || value.Resolved() == &value) return found;
  return known.Find(*value.Resolved());
}

bool RecordedContent::Reserve(size_t num_operands, size_t num_results, KnownValues::Entries& dropped) {
  const uint64_t num_values = uint64_t{values.size()} + num_operands + num_results + 1;
  if (num_values >= kEffect || uint64_t{operands.size()} + num_operands > UINT32_MAX) return false;
  return values.Reserve(static_cast<size_t>(num_values)) && constants.Reserve(constants.size() + num_operands) &&
         operands.Reserve(operands.size() + num_operands) && calls.Reserve(calls.size() + 1) &&
         outside.Reserve(outside.size() + 1) && known.Reserve(num_operands + num_results + 1, dropped);
}

uint32_t RecordedContent::AddValue(AsyncValue& value, RecordedValue::Kind kind, size_t index) {
  const auto number = static_cast<uint32_t>(values.size());
  static_cast<void>(values.Append({kind, static_cast<uint32_t>(index)}));
  if (known.Find(value) == KnownValues::kNone) known.Insert(value, number);
  return number;
}

uint32_t RecordedContent::AddConstant(const TensorHandle& tensor) {
  static_cast<void>(constants.Append({tensor.CopyRef(), TensorHandle()}));
  return AddValue(*tensor.value().value(), RecordedValue::Kind::kConstant, constants.size() - 1);
}

bool Recording::Begin(const OpInvocation& invocation, CallInProgress& call) {
  const std::span<const TensorHandle> args = invocation.args;
  // Fails.
  if (!std::all_of(args.begin(), args.end(), [](const TensorHandle& arg) { return arg.IsValid(); })) return false;
  const std::span<const AttrEntry> attrs = invocation.attrs.entries();
  if (!attrs.empty()) call.attrs = FrozenOpAttrs::Create(attrs);
  if ((!attrs.empty() && !call.attrs) || !call.operands.Init(args.size()) || !call.others.Init(args.size())) {
    FailForMemory();
    return false;
  }
  AsyncValue* const chain = invocation.chain == nullptr ? nullptr : invocation.chain->value();
  const std::lock_guard lock(mutex_);
  if (has_stopped_) return false;
  for (size_t i = 0; i < args.size(); ++i) {
    call.operands[i] = content_.Find(args[i]);
    if (call.operands[i] == KnownValues::kNone) call.others[i] = args[i].CopyRef();
  }
  if (chain != nullptr && !chain->IsAvailable() && content_.known.Find(*chain) == KnownValues::kNone) {
    call.outside = RcRef<AsyncValue>::Share(chain);
  }
  return true;
}

void Recording::End(CallInProgress& call, const OpInvocation& invocation) {
  if (HasFailed(invocation)) return;
  KnownValues::Entries dropped;
  bool has_memory = true;
  {
    const std::lock_guard lock(mutex_);
    if (!has_stopped_) has_memory = AppendCall(call, invocation, dropped);
  }
  if (!has_memory) FailForMemory();
}

bool Recording::AppendCall(CallInProgress& call, const OpInvocation& invocation, KnownValues::Entries& dropped) {
  const size_t num_operands = call.operands.size();
  const std::span<const TensorHandle> results = invocation.results;
  if (!content_.Reserve(num_operands, results.size(), dropped)) return false;
  RecordedCall recorded;
  recorded.op = call.op;
  recorded.handler = call.handler;
  recorded.attrs = std::move(call.attrs);
  recorded.takes_chain = invocation.chain != nullptr;
  recorded.first_operand = static_cast<uint32_t>(content_.operands.size());
  recorded.num_operands = static_cast<uint32_t>(num_operands);
  for (size_t i = 0; i < num_operands; ++i) {
    uint32_t operand = call.operands[i];
    // It may be known by now: as an argument before this one, or by another thread.
    if (operand == KnownValues::kNone) operand = content_.Find(call.others[i]);
    if (operand == KnownValues::kNone) operand = content_.AddConstant(call.others[i]);
    static_cast<void>(content_.operands.Append(operand));
  }
  recorded.first_result = static_cast<uint32_t>(content_.values.size());
  recorded.num_results = static_cast<uint32_t>(results.size());
  for (const TensorHandle& result : results) {
    content_.AddValue(*result.value().value(), RecordedValue::Kind::kResult, content_.calls.size());
  }
  if (call.has_effects && invocation.chain != nullptr && invocation.chain->IsValid()) {
    recorded.effect = RcRef<AsyncValue>::Share(invocation.chain->value());
    // An error may be one value with others.
    if (!recorded.effect->IsError() && content_.known.Find(*recorded.effect) == KnownValues::kNone) {
      content_.known.Insert(*recorded.effect, RecordedContent::kEffect);
    }
  }
  if (call.outside) static_cast<void>(content_.outside.Append(std::move(call.outside)));
  static_cast<void>(content_.calls.Append(std::move(recorded)));
  return true;
}

void Recording::IgnoreTransfer(const TensorHandle& result) {
  if (result.IsError()) return;
  bool has_memory = true;
  {
    const std::lock_guard lock(mutex_);
    if (!has_stopped_) has_memory = content_.ignored.Append(result.value().value()) != nullptr;
  }
  if (!has_memory) FailForMemory();
}

void Recording::OnTransfer(const TensorHandle& source, const TensorHandle& result, std::string_view attrs) {
  if (previous_) previous_->OnTransfer(source, result, attrs);
  KnownValues::Entries dropped;
  bool has_memory = true;
  {
    const std::lock_guard lock(mutex_);
    if (has_stopped_) return;
    GrowingArray<const AsyncValue*>& ignored = content_.ignored;
    const AsyncValue** const found = std::find(ignored.begin(), ignored.end(), result.value().value());
    if (found != ignored.end()) {
      *found = ignored.back();
      static_cast<void>(ignored.TakeLast());
      return;
    }
    if (result.IsError() || result.device() == nullptr) return;
    const uint32_t known = content_.Find(source);
    // Of a tensor that is not known, the result would be as good a constant.
    if (known == KnownValues::kNone) return;
    has_memory = AppendTransfer(known, result, IsToDense(*result.device(), attrs), dropped);
  }
  if (!has_memory) FailForMemory();
}

bool Recording::AppendTransfer(uint32_t source, const TensorHandle& result, bool is_to_dense,
                               KnownValues::Entries& dropped) {
  if (!content_.Reserve(1, 1, dropped)) return false;
  RecordedCall recorded;
  recorded.is_to_dense = is_to_dense;
  recorded.target = result.device();
  recorded.first_operand = static_cast<uint32_t>(content_.operands.size());
  recorded.num_operands = 1;
  static_cast<void>(content_.operands.Append(source));
  recorded.num_results = 1;
  recorded.first_result =
      content_.AddValue(*result.value().value(), RecordedValue::Kind::kResult, content_.calls.size());
  static_cast<void>(content_.calls.Append(std::move(recorded)));
  return true;
}

Status Recording::AddInput(const TensorHandle& input) {
  KnownValues::Entries dropped;
  {
    const std::lock_guard lock(mutex_);
    if (is_out_of_memory_) return Status::OutOfMemory();
    if (has_stopped_) return FailedPrecondition("expected a recording that has not stopped, got one that has");
    const uint32_t known = content_.Find(input);
    if (known != KnownValues::kNone) {
      const RecordedValue& value = content_.values[known];
      if (value.kind == RecordedValue::Kind::kInput) {
        return InvalidArgument("expected a tensor that is no input yet, got input ", value.index);
      }
      return InvalidArgument("expected an input before it is used, got a tensor that a recorded call ",
                             value.kind == RecordedValue::Kind::kConstant ? "took" : "gave");
    }
    if (content_.Reserve(0, 1, dropped)) {
      AsyncValue& value = *input.value().value();
      content_.AddValue(value, RecordedValue::Kind::kInput, content_.num_inputs++);
      if (!value.IsAvailable()) static_cast<void>(content_.outside.Append(RcRef<AsyncValue>::Share(&value)));
      return Status();
    }
  }
  FailForMemory();
  return Status::OutOfMemory();
}

void Recording::Stop() {
  const std::lock_guard lock(mutex_);
  has_stopped_ = true;
}

void Recording::FailForMemory() {
  {
    const std::lock_guard lock(mutex_);
    if (has_stopped_) return;
    has_stopped_ = is_out_of_memory_ = true;
  }
  Clear();
}

bool Recording::is_out_of_memory() const {
  const std::lock_guard lock(mutex_);
  return is_out_of_memory_;
}

void Recording::Clear() {
  RecordedContent dropped;
  const std::lock_guard lock(mutex_);
  std::swap(dropped, content_);
}

}  // namespace tandem
