// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Checked casts to a dtype that is not known yet, as cancellable ops.

#include <atomic>
#include <utility>

#include "pending_ops.h"
#include "tandem/checked_cast.h"
#include "tandem/host_context.h"

namespace tandem {

namespace {

using MetadataValue = ConcreteAsyncValue<TensorMetadata>;

// Waits for the metadata. Whoever moves `is_done_` ends it; everyone who may still call it holds a reference.
class LateCast final : public RefCounted<LateCast>, public Waiter, public CancellableOp {
 public:
  LateCast(const ExecutionContext& exec, std::string_view op, std::string_view name, Tensor from, TensorHandle like,
           RcRef<MetadataValue> metadata, RcRef<TensorValue> tensor)
      : exec_(exec),
        location_(exec.location()),
        op_(op),
        name_(name),
        from_(std::move(from)),
        like_(std::move(like)),
        metadata_(std::move(metadata)),
        tensor_(std::move(tensor)) {}

  void Run() override;
  void Drop() override { RefCounted::DropRef(); }
  void AddRef() override { RefCounted::AddRef(); }
  void DropRef() override { RefCounted::DropRef(); }
  void Cancel(const Status& reason) override;
  const RequestContext* request() const override { return exec_.request(); }

 private:
  friend class RefCounted<LateCast>;
  ~LateCast() = default;

  StatusOr<Tensor> Cast();
  void Fail(const Status& error);
  void Leave();

  ExecutionContext exec_;
  const Location location_;
  const std::string_view op_;
  const std::string_view name_;
  std::atomic<bool> is_done_{false};
  const Tensor from_;
  TensorHandle like_;
  RcRef<MetadataValue> metadata_;
  RcRef<TensorValue> tensor_;
};

// Errors have been told.
StatusOr<Tensor> LateCast::Cast() {
  if (!like_.IsMetadataAvailable()) return like_.metadata_value()->GetError();
  StatusOr<Tensor> cast = CheckedCast(from_, like_.metadata().dtype, name_, exec_.host().allocator());
  if (cast.ok()) return cast;
  return exec_.host().EmitError(cast.status().WithContext(op_, location_));
}

void LateCast::Run() {
  if (is_done_.exchange(true, std::memory_order_acq_rel)) return RefCounted::DropRef();
  StatusOr<Tensor> cast = Cast();
  like_.reset();
  Leave();
  if (cast.ok()) {
    tensor_->Construct(std::move(*cast));
    std::exchange(metadata_, nullptr)->Emplace(tensor_->value().metadata());
    tensor_.release()->SetConcreteAndDropRef();
  } else {
    Fail(cast.status());
  }
  RefCounted::DropRef();
}

void LateCast::Cancel(const Status& reason) {
  if (is_done_.exchange(true, std::memory_order_acq_rel)) return;
  const Status error = reason.WithContext(op_, location_);
  like_.reset();
  Leave();
  Fail(error);
}

void LateCast::Fail(const Status& error) {
  std::exchange(metadata_, nullptr)->SetError(error);
  std::exchange(tensor_, nullptr)->SetError(error);
}

// Nothing of the host is used after this.
void LateCast::Leave() {
  PendingOps& pending = exec_.host().pending_ops();
  pending.Remove(*this);
  exec_ = ExecutionContext(exec_.host(), location_);  // drops the request
  pending.Release(0);
}

}  // namespace

TensorHandle CheckedCastLike(const ExecutionContext& exec, Tensor from, const TensorHandle& like, std::string_view op,
                             std::string_view name) {
  RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  RcRef<TensorValue> tensor = MakeUnconstructed<Tensor>();
  RcRef<LateCast> late;
  if (metadata && tensor) {
    late = MakeRef<LateCast>(exec, op, name, std::move(from), like.CopyRef(), metadata, tensor);
  }
  HostContext& host = exec.host();
  if (!late) {
    return TensorHandle::MakeError(host.EmitError(Status::OutOfMemory().WithContext(op, exec.location())));
  }
  host.pending_ops().Hold();
  if (const Status active = host.pending_ops().Add(*late, exec); !active.ok()) {
    host.pending_ops().Release(0);
    // The call itself meets the same end, and tells it.
    return TensorHandle::MakeError(active.WithContext(op, exec.location()));
  }
  TensorHandle result(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(std::move(metadata))),
                      AsyncValueRef<Tensor>(RcRef<AsyncValue>(std::move(tensor))), &host.device());
  // Cancellation may drop the waiter's reference at any time; this one lasts until it is in.
  const RcRef<AsyncValue> awaited = RcRef<AsyncValue>::Share(like.metadata_value());
  awaited->AndThen(*late.release());
  return result;
}

}  // namespace tandem
