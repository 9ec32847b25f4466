// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Late values as cancellable ops.

#include "late_value.h"

#include <atomic>
#include <new>
#include <utility>

#include "pending_ops.h"
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

// Waits for the source. Whoever moves `is_done_` ends it; everyone who may still call it holds a reference.
class LateValue final : public RefCounted<LateValue>, public Waiter, public CancellableOp {
 public:
  LateValue(const LateOrigin& origin, RcRef<AsyncValue> from, LateTarget to)
      : exec_(origin.exec),
        location_(origin.exec.location()),
        op_(origin.op),
        is_of_call_(origin.is_of_call),
        from_(std::move(from)),
        to_(std::move(to)) {}

  static void Start(const LateOrigin& origin, RcRef<AsyncValue> from, LateTarget to);

  void Run() override;
  void Drop() override { RefCounted::DropRef(); }
  void AddRef() override { RefCounted::AddRef(); }
  void DropRef() override { RefCounted::DropRef(); }
  void Cancel(const Status& reason) override;
  const RequestContext* request() const override { return exec_.request(); }

 private:
  friend class RefCounted<LateValue>;
  ~LateValue() = default;

  // The error that `from` ends in, told; or ok.
  static Status FindError(const LateOrigin& origin, const AsyncValue& from, const LateTarget& to);
  void Leave();

  ExecutionContext exec_;
  const Location location_;
  const std::string_view op_;
  const bool is_of_call_;
  std::atomic<bool> is_done_{false};
  RcRef<AsyncValue> from_;
  LateTarget to_;
};

Status LateValue::FindError(const LateOrigin& origin, const AsyncValue& from, const LateTarget& to) {
  if (from.IsError() && origin.is_of_call) return from.GetError();
  const Status error = from.IsError() ? from.GetError() : to.Check(from);
  return error.ok() ? error : origin.exec.host().EmitError(error.WithContext(origin.op, origin.exec.location()));
}

void LateValue::Start(const LateOrigin& origin, RcRef<AsyncValue> from, LateTarget to) {
  if (from->IsAvailable()) {
    const Status error = FindError(origin, *from, to);
    return error.ok() ? to.Become(std::move(from)) : to.Fail(error);
  }
  const HostContext& host = origin.exec.host();
  // In this order: who drops the last other reference has ended the value before.
  if (from->IsUnique() && !from->IsAvailable()) {
    return to.Fail(host.EmitError(internal::AbandonedError(origin.op, origin.exec.location())));
  }
  auto late = RcRef<LateValue>::Take(new (std::nothrow) LateValue(origin, from, to));
  if (!late) {
    return to.Fail(host.EmitError(Status::OutOfMemory().WithContext(origin.op, origin.exec.location())));
  }
  PendingOps& pending = origin.exec.host().pending_ops();
  pending.Hold();
  const int64_t busy = origin.is_of_call ? 0 : Progress::kElsewhere;
  pending.progress().Begin(busy);
  if (const Status active = pending.Add(*late, origin.exec); !active.ok()) {
    pending.progress().End(busy);
    pending.Release(0);
    return to.Fail(host.EmitError(active.WithContext(origin.op, origin.exec.location())));
  }
  // The last references but the late value's own: a taker of the tensor may find it unique.
  to = LateTarget();
  AsyncValue& awaited = *from;
  LateValue& waiter = *late.release();
  // Cancellation may drop its reference to the source at any time; this one lasts until the waiter is in.
  awaited.AndThen(waiter);
}

void LateValue::Run() {
  if (is_done_.exchange(true, std::memory_order_acq_rel)) return RefCounted::DropRef();
  const Progress::Scope scope(exec_.host().pending_ops().progress());
  const Status error = FindError({exec_, op_, is_of_call_}, *from_, to_);
  RcRef<AsyncValue> from = std::move(from_);
  Leave();
  error.ok() ? to_.Become(std::move(from)) : to_.Fail(error);
  RefCounted::DropRef();
}

void LateValue::Cancel(const Status& reason) {
  if (is_done_.exchange(true, std::memory_order_acq_rel)) return;
  const Status error = reason.WithContext(op_, location_);
  from_.reset();
  Leave();
  to_.Fail(error);
}

// Nothing of the host is used after this.
void LateValue::Leave() {
  PendingOps& pending = exec_.host().pending_ops();
  pending.Remove(*this);
  exec_ = ExecutionContext(exec_.host(), location_);  // drops the request
  Progress& progress = pending.progress();
  const bool is_of_call = is_of_call_;
  pending.Release(0);
  if (!is_of_call) progress.End(Progress::kElsewhere);
}

}  // namespace

void ForwardTensor(const LateOrigin& origin, AsyncValueRef<Tensor> from, RcRef<TensorValue> to,
                   RcRef<ConcreteAsyncValue<TensorMetadata>> metadata) {
  LateValue::Start(origin, std::move(from).TakeValue(), {std::move(to), std::move(metadata), nullptr});
}

void ForwardChain(const LateOrigin& origin, AsyncValueRef<Chain> from, RcRef<ConcreteAsyncValue<Chain>> to) {
  LateValue::Start(origin, std::move(from).TakeValue(), {nullptr, nullptr, std::move(to)});
}

}  // namespace tandem
