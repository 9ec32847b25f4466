// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Late values as cancellable ops.

#include "execute/late_value.h"

#include <memory>
#include <utility>

#include "execute/pending_call.h"
#include "tandem/host_context.h"

namespace tandem {

namespace {

// The result or the chain that is to come. Ends once, by one of its methods.
struct LateTarget {
  RcRef<TensorValue> tensor;
  RcRef<ConcreteAsyncValue<TensorMetadata>> metadata;
  RcRef<ConcreteAsyncValue<Chain>> chain;

  // Why the concrete `from` cannot be what was announced, or ok.
  Status Check(const AsyncValue& from) const;
  void Fail(const Status& error);
  void Become(RcRef<AsyncValue> from);
};

const Tensor& TensorIn(const AsyncValue& value) { return static_cast<const TensorValue*>(value.Resolved())->value(); }

std::string_view DeviceName(const Device* device) { return device == nullptr ? "no device" : device->name(); }

Status LateTarget::Check(const AsyncValue& from) const {
  if (!tensor) return Status();
  const Tensor& given = TensorIn(from);
  if (!given.HasPayload()) return Internal("kernel gave a tensor without a value");
  // With metadata that is still to come, at most the dtype is known.
  const Tensor& announced = tensor->value();
  const bool fits = metadata ? announced.dtype() == DType::kInvalid || announced.dtype() == given.dtype()
                             : announced.metadata() == given.metadata();
  if (fits && given.device() == announced.device()) return Status();
  MessageBuilder expected;
  metadata ? expected.Append(announced.dtype()) : expected.Append(announced.metadata());
  return Internal("kernel must give ", expected.view(), " on ", DeviceName(announced.device()), ", gave ",
                  given.metadata(), " on ", DeviceName(given.device()));
}

void LateTarget::Fail(const Status& error) {
  if (metadata) std::exchange(metadata, nullptr)->SetError(error);
  if (tensor) std::exchange(tensor, nullptr)->SetError(error);
  if (chain) std::exchange(chain, nullptr)->SetError(error);
}

void LateTarget::Become(RcRef<AsyncValue> from) {
  if (chain) {
    std::exchange(chain, nullptr)->Emplace();
    return;
  }
  const Tensor& given = TensorIn(*from);
  if (metadata) {
    tensor->value() = given;
    std::exchange(metadata, nullptr)->Emplace(given.metadata());
  } else {
    tensor->value().TakePayload(given);
  }
  from.reset();
  tensor.release()->SetConcreteAndDropRef();
}

// The error that `from` ends in, told; or ok.
Status FindError(const LateOrigin& origin, const AsyncValue& from, const LateTarget& to) {
  if (from.IsError() && origin.is_of_call) return from.GetError();
  const Status error = from.IsError() ? from.GetError() : to.Check(from);
  return error.ok() ? error : origin.exec.host().EmitError(error.WithContext(origin.op.name, origin.exec.location()));
}

class LateValue final : public PendingCall {
 public:
  LateValue(const LateOrigin& origin, RcRef<AsyncValue> from, LateTarget to)
      : PendingCall(origin.exec, origin.op.name),
        op_(origin.op.Share()),
        is_of_call_(origin.is_of_call),
        from_(std::move(from)),
        to_(std::move(to)) {
    if (!is_of_call_) BeginElsewhere();
  }

 private:
  void Advance() override;
  void DropInputs() override { from_.reset(); }
  void SetError(const Status& error) override { to_.Fail(error); }

  const std::shared_ptr<const OpDef> op_;
  const bool is_of_call_;
  RcRef<AsyncValue> from_;
  LateTarget to_;
};

void LateValue::Advance() {
  if (!from_->IsAvailable()) return WaitFor(from_.get());
  const Status error = FindError({exec(), *op_, is_of_call_}, *from_, to_);
  if (!error.ok()) return Fail(error);
  RcRef<AsyncValue> from = std::move(from_);
  Leave();
  to_.Become(std::move(from));
  Release();
}

void Forward(const LateOrigin& origin, RcRef<AsyncValue> from, LateTarget to) {
  if (from->IsAvailable()) {
    const Status error = FindError(origin, *from, to);
    return error.ok() ? to.Become(std::move(from)) : to.Fail(error);
  }
  const HostContext& host = origin.exec.host();
  // In this order: who drops the last other reference has ended the value before.
  if (from->IsUnique() && !from->IsAvailable()) {
    return to.Fail(host.EmitError(internal::AbandonedError(origin.op.name, origin.exec.location())));
  }
  auto late = MakeRef<LateValue>(origin, from, to);
  if (!late) {
    return to.Fail(host.EmitError(Status::OutOfMemory().WithContext(origin.op.name, origin.exec.location())));
  }
  // The last references but the late value's own: a taker of the tensor may find it unique.
  from.reset();
  to = LateTarget();
  origin.exec.host().pending_ops().Hold();
  late.release()->Start();
}

}  // namespace

void ForwardTensor(const LateOrigin& origin, AsyncValueRef<Tensor> from, RcRef<TensorValue> to,
                   RcRef<ConcreteAsyncValue<TensorMetadata>> metadata) {
  Forward(origin, std::move(from).TakeValue(), {std::move(to), std::move(metadata), nullptr});
}

void ForwardChain(const LateOrigin& origin, AsyncValueRef<Chain> from, RcRef<ConcreteAsyncValue<Chain>> to) {
  Forward(origin, std::move(from).TakeValue(), {nullptr, nullptr, std::move(to)});
}

}  // namespace tandem
