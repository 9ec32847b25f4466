// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The way of a result from its source to its caller.

#include "checked_result.h"

#include <utility>

#include "tandem/host_context.h"
#include "tandem/host_tensors.h"

namespace tandem {

TensorHandle CheckedResult::MakeResult() {
  if (source_.IsMetadataAvailable()) {
    result_ = MakeRef<TensorValue>(TensorValue::Constructed{}, source_.metadata(), source_.device());
  } else {
    result_metadata_ = MakeUnconstructed<TensorMetadata>();
    if (result_metadata_) result_ = MakeUnconstructed<Tensor>();
  }
  if (!result_) return TensorHandle();
  return TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(result_metadata_)),
                      AsyncValueRef<Tensor>(RcRef<AsyncValue>(result_)), source_.device());
}

void CheckedResult::Begin() {
  exec().host().pending_ops().Hold();
  // Cancelling has told the diagnostic handler of the op itself.
  Start(/*bytes=*/0, /*is_silent=*/true);
}

void CheckedResult::SetError(const Status& error) {
  if (result_metadata_) std::exchange(result_metadata_, nullptr)->SetError(error);
  if (result_) std::exchange(result_, nullptr)->SetError(error);
}

void CheckedResult::PublishMetadata() {
  const Tensor* const content = source_.value().FindContent();
  result_->Construct(source_.metadata(), content == nullptr ? source_.device() : content->device());
  std::exchange(result_metadata_, nullptr)->Emplace(source_.metadata());
}

void CheckedResult::Advance() {
  const bool is_available = source_.IsAvailable();
  if (source_.IsError()) return Fail(source_.GetError());
  if (result_metadata_ && source_.IsMetadataAvailable()) PublishMetadata();
  if (!is_available) return WaitFor(result_metadata_ ? source_.metadata_value() : source_.value().value());
  if (AsyncValue* missing = Prepare()) return WaitFor(missing);
  if (IsLong()) return Enqueue();
  Finish();
}

void CheckedResult::Finish() {
  const Status error = Check();
  if (!error.ok()) return Fail(error);
  RcRef<TensorValue> result = std::move(result_);
  if (result) result->value().TakePayload(source_.tensor());
  // The result's references are now the only ones; and what is on a device is dropped while the device is there.
  DropInputs();
  Leave();
  if (result) result.release()->SetConcreteAndDropRef();
  Release();
}

bool IsReadable(const Tensor& tensor) { return IsHostType(tensor.type()); }

bool IsFetchable(const ExecutionContext& exec, const Tensor& tensor) {
  return IsReadable(tensor) || exec.host().conversions().Find(tensor.type(), kDenseHost) != nullptr;
}

bool IsLongCheck(const ExecutionContext& exec, int64_t num_elements) {
  return num_elements > exec.host().inline_cost_limit();
}

}  // namespace tandem
