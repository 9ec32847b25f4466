// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Moving a tensor to another device or representation (TH-6): at once if the tensor is there and the conversion does
// not take time of its own, else as a pending op, which waits for the one and then for the other.

#include <optional>
#include <utility>

#include "execute/pending_call.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/tensor_handle.h"

namespace tandem {

namespace {

using MetadataValue = ConcreteAsyncValue<TensorMetadata>;
using Clock = TraceEvent::Clock;

constexpr std::string_view kTransferName = "tandem.Transfer";

struct Target {
  const Device* device;
  const TensorType* type;

  // Strings are in their one representation where other tensors are dense on the host.
  bool IsMetBy(const Tensor& tensor) const {
    return tensor.device() == device && (tensor.IsA(*type) || (tensor.IsA(kStringHost) && type == &kDenseHost));
  }
};

// Completes an error and tells the diagnostic handler.
Status TellError(const ExecutionContext& exec, const Status& error) {
  return exec.host().EmitError(error.WithContext(kTransferName, exec.location()));
}

// One transfer as traces and observers see it.
struct Passage {
  Passage(const Tensor& tensor, const Target& target)
      : from_type(tensor.type().name()),
        from_device(tensor.device()->name()),
        to_type(target.type->name()),
        to_device(target.device->name()) {}

  void AppendAttrs(MessageBuilder& out) const {
    out.Append("{from = ", from_type, " on ", from_device, ", to = ", to_type, " on ", to_device, "}");
  }

  std::string_view from_type, from_device, to_type, to_device;
  Clock::time_point called, started;  // none if it is not traced
};

// Records a traced passage that has ended.
void Trace(HostContext& host, const Passage& passage, const TensorMetadata& metadata) {
  if (passage.started == Clock::time_point()) return;
  MessageBuilder input;
  input.Append(metadata);
  MessageBuilder attrs;
  passage.AppendAttrs(attrs);
  host.tracer().Record(
      {kTransferName, passage.to_device, input.view(), attrs.view(), passage.called, passage.started, Clock::now()});
}

// Starts the conversion, which `passage` is told of; it was asked for at `called`, or just now. Errors have not been
// told yet.
AsyncValueRef<Tensor> Convert(const ExecutionContext& exec, const Tensor& tensor, const Target& target,
                              Clock::time_point called, Passage& passage) {
  if (target.IsMetBy(tensor)) return AsyncValueRef<Tensor>::MakeAvailable(tensor);
  HostContext& host = exec.host();
  const TensorConversion conversion = host.conversions().Find(tensor.type(), *target.type);
  if (conversion == nullptr) {
    return AsyncValueRef<Tensor>::MakeError(
        MakeError(StatusCode::kUnimplemented, "expected a registered conversion, got ", tensor.metadata(), " as ",
                  tensor.type().name(), " on ", tensor.device()->name(), " to become ", target.type->name(), " on ",
                  target.device->name()));
  }
  if (host.IsTracing()) {
    passage.started = Clock::now();
    passage.called = called == Clock::time_point() ? passage.started : called;
  }
  AsyncValueRef<Tensor> converted = conversion(exec, tensor, *target.device);
  if (!converted.IsValid()) {
    return AsyncValueRef<Tensor>::MakeError(Internal("conversion must give a value, gave a null reference"));
  }
  // In this order: who drops the last other reference has ended the value before.
  if (converted.value()->IsUnique() && !converted.IsAvailable()) {
    return AsyncValueRef<Tensor>::MakeError(internal::AbandonedError(kTransferName, exec.location()));
  }
  return converted;
}

// Ok if the available value is what was asked for; else an error, which has been told.
Status CheckConverted(const ExecutionContext& exec, const AsyncValueRef<Tensor>& converted,
                      const TensorMetadata& metadata, const Target& target) {
  if (converted.IsError()) return TellError(exec, converted.GetError());
  const Tensor& tensor = *converted;
  if (tensor.metadata() == metadata && target.IsMetBy(tensor)) return Status();
  return TellError(exec, Internal("conversion must give ", metadata, " as ", target.type->name(), " on ",
                                  target.device->name(), ", gave ", tensor.metadata()));
}

class PendingTransfer final : public PendingCall {
 public:
  // Either `source` is pending, or `converted` is and `source` null; then `passage` is that conversion's.
  PendingTransfer(const ExecutionContext& exec, const Target& target, TensorHandle source,
                  AsyncValueRef<Tensor> converted, const Passage* passage)
      : PendingCall(exec, kTransferName),
        target_(target),
        source_(std::move(source)),
        converted_(std::move(converted)) {
    if (passage != nullptr) {
      passage_ = *passage;
    } else if (exec.host().IsTracing()) {
      called_ = Clock::now();
    }
  }

  // Makes the result to come; its metadata is known if `metadata` is not null. Null if memory is exhausted.
  TensorHandle MakeResult(const TensorMetadata* metadata);

 private:
  void Advance() override;
  void DropInputs() override {
    source_.reset();
    converted_.reset();
  }
  void SetError(const Status& error) override {
    if (result_metadata_) std::exchange(result_metadata_, nullptr)->SetError(error);
    std::exchange(result_, nullptr)->SetError(error);
  }
  void Deliver();

  const Target target_;
  TensorHandle source_;              // null once it has been converted
  AsyncValueRef<Tensor> converted_;  // null until then
  std::optional<Passage> passage_;   // of the conversion, likewise
  RcRef<TensorValue> result_;
  RcRef<MetadataValue> result_metadata_;  // null once the metadata is known
  Clock::time_point called_;
};

TensorHandle PendingTransfer::MakeResult(const TensorMetadata* metadata) {
  if (metadata != nullptr) {
    result_ = MakeRef<TensorValue>(TensorValue::Constructed{}, *metadata, target_.device);
  } else {
    result_metadata_ = MakeUnconstructed<TensorMetadata>();
    if (result_metadata_) result_ = MakeUnconstructed<Tensor>();
  }
  if (!result_) return TensorHandle();
  return TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(result_metadata_)),
                      AsyncValueRef<Tensor>(RcRef<AsyncValue>(result_)), target_.device);
}

void PendingTransfer::Advance() {
  if (source_.IsValid()) {
    const bool is_available = source_.IsAvailable();
    if (source_.IsError()) return Fail(source_.GetError());
    if (result_metadata_ && source_.IsMetadataAvailable()) {
      result_->Construct(source_.metadata(), target_.device);
      std::exchange(result_metadata_, nullptr)->Emplace(source_.metadata());
    }
    if (!is_available) return WaitFor(result_metadata_ ? source_.metadata_value() : source_.value().value());
    passage_.emplace(source_.tensor(), target_);
    converted_ = Convert(exec(), source_.tensor(), target_, called_, *passage_);
    source_.reset();
  }
  if (!converted_.IsAvailable()) {
    BeginElsewhere();
    return WaitFor(converted_.value());
  }
  Trace(exec().host(), *passage_, result_->value().metadata());
  Deliver();
}

void PendingTransfer::Deliver() {
  const AsyncValueRef<Tensor> converted = std::move(converted_);
  const Status error = CheckConverted(exec(), converted, result_->value().metadata(), target_);
  if (!error.ok()) return Fail(error);
  Leave();
  result_->value().TakePayload(*converted);
  result_.release()->SetConcreteAndDropRef();
  Release();
}

// Issues what cannot be done at once. `source` is a valid handle; `converted` is null if it has not been converted yet.
TensorHandle TransferLater(const ExecutionContext& exec, const TensorHandle& source, AsyncValueRef<Tensor> converted,
                           const Target& target, const Passage* passage) {
  const TensorMetadata* metadata = source.IsMetadataAvailable() ? &source.metadata() : nullptr;
  const int64_t bytes = metadata == nullptr ? 0 : PendingOps::CountBytes({metadata, 1});
  PendingOps& pending = exec.host().pending_ops();
  if (Status admitted = pending.Admit(exec, bytes); !admitted.ok()) {
    return TensorHandle::MakeError(TellError(exec, admitted));
  }
  TensorHandle waits_for = converted.IsValid() ? TensorHandle() : source.CopyRef();
  auto transfer = MakeRef<PendingTransfer>(exec, target, std::move(waits_for), std::move(converted), passage);
  TensorHandle result;
  if (transfer) result = transfer->MakeResult(metadata);
  if (!result.IsValid()) {
    pending.Release(bytes);
    return TensorHandle::MakeError(TellError(exec, Status::OutOfMemory()));
  }
  transfer.release()->Start(bytes);
  return result;
}

// What is neither an error nor there already.
TensorHandle Transfer(const ExecutionContext& exec, const TensorHandle& source, const Target& target) {
  Status active = exec.host().CheckActive();
  if (active.ok() && exec.request() != nullptr) active = exec.request()->CheckActive();
  if (!active.ok()) return TensorHandle::MakeError(TellError(exec, active));
  if (!source.IsConcrete()) return TransferLater(exec, source, {}, target, nullptr);
  Passage passage(source.tensor(), target);
  AsyncValueRef<Tensor> converted = Convert(exec, source.tensor(), target, {}, passage);
  if (!converted.IsAvailable()) return TransferLater(exec, source, std::move(converted), target, &passage);
  Trace(exec.host(), passage, source.metadata());
  Status error = CheckConverted(exec, converted, source.metadata(), target);
  return error.ok() ? TensorHandle(std::move(converted), target.device) : TensorHandle::MakeError(std::move(error));
}

void Tell(TransferObserver& observer, const TensorHandle& source, const TensorHandle& result, const Target& target) {
  MessageBuilder attrs;
  attrs.Append("{from = ");
  if (source.IsConcrete()) attrs.Append(source.tensor().type().name(), " on ");
  attrs.Append(source.device() == nullptr ? "no device" : source.device()->name(), ", to = ", target.type->name(),
               " on ", target.device->name(), "}");
  observer.OnTransfer(source, result, attrs.view());
}

}  // namespace

TensorHandle TensorHandle::TransferTo(const ExecutionContext& exec, const Device& device,
                                      const TensorType& type) const {
  if (!IsValid()) return MakeError(TellError(exec, InvalidArgument("expected a tensor, got a null handle")));
  if (IsError()) return CopyRef();
  const Target target = {&device, &type};
  if (IsConcrete() && target.IsMetBy(tensor())) return CopyRef();
  TensorHandle result = Transfer(exec, *this, target);
  if (exec.transfer_observer() != nullptr) [[unlikely]]
    Tell(*exec.transfer_observer(), *this, result, target);
  if (const RcRef<TransferObserver> observer = exec.host().FindTransferObserver()) [[unlikely]]
    Tell(*observer, *this, result, target);
  return result;
}

}  // namespace tandem
