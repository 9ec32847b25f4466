// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Checked casts to a dtype that is not known yet, as cancellable ops.

#include <memory>
#include <utility>

#include "execute/pending_call.h"
#include "tandem/checked_cast.h"
#include "tandem/host_context.h"

namespace tandem {

namespace {

using MetadataValue = ConcreteAsyncValue<TensorMetadata>;

class LateCast final : public PendingCall {
 public:
  LateCast(const ExecutionContext& exec, const OpDef& op, std::string_view name, Tensor from, TensorHandle like,
           RcRef<MetadataValue> metadata, RcRef<TensorValue> tensor)
      : PendingCall(exec, op.name),
        op_(op.Share()),
        name_(name),
        from_(std::move(from)),
        like_(std::move(like)),
        metadata_(std::move(metadata)),
        tensor_(std::move(tensor)) {}

 private:
  void Advance() override;
  void DropInputs() override { like_.reset(); }
  void SetError(const Status& error) override {
    std::exchange(metadata_, nullptr)->SetError(error);
    std::exchange(tensor_, nullptr)->SetError(error);
  }
  StatusOr<Tensor> Cast();

  const std::shared_ptr<const OpDef> op_;  // for its texts
  const std::string_view name_;            // of the argument
  const Tensor from_;
  TensorHandle like_;
  RcRef<MetadataValue> metadata_;
  RcRef<TensorValue> tensor_;
};

// Errors have been told.
StatusOr<Tensor> LateCast::Cast() {
  if (!like_.IsMetadataAvailable()) return like_.metadata_value()->GetError();
  StatusOr<Tensor> cast = CheckedCast(from_, like_.metadata().dtype, name_, exec().host().allocator());
  if (cast.ok()) return cast;
  return Tell(cast.status());
}

void LateCast::Advance() {
  if (!like_.IsMetadataAvailable() && !like_.metadata_value()->IsAvailable()) return WaitFor(like_.metadata_value());
  StatusOr<Tensor> cast = Cast();
  if (!cast.ok()) return Fail(cast.status());
  like_.reset();
  Leave();
  tensor_->Construct(std::move(*cast));
  std::exchange(metadata_, nullptr)->Emplace(tensor_->value().metadata());
  tensor_.release()->SetConcreteAndDropRef();
  Release();
}

}  // namespace

TensorHandle CheckedCastLike(const ExecutionContext& exec, Tensor from, const TensorHandle& like, const OpDef& op,
                             std::string_view name) {
  RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  RcRef<TensorValue> tensor = MakeUnconstructed<Tensor>();
  RcRef<LateCast> late;
  if (metadata && tensor) {
    late = MakeRef<LateCast>(exec, op, name, std::move(from), like.CopyRef(), metadata, tensor);
  }
  HostContext& host = exec.host();
  if (!late) {
    return TensorHandle::MakeError(host.EmitError(Status::OutOfMemory().WithContext(op.name, exec.location())));
  }
  TensorHandle result(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(std::move(metadata))),
                      AsyncValueRef<Tensor>(RcRef<AsyncValue>(std::move(tensor))), &host.device());
  host.pending_ops().Hold();
  // A host or a request that is cancelled ends the call itself, too, which tells it.
  late.release()->Start(/*bytes=*/0, /*is_silent=*/true);
  return result;
}

}  // namespace tandem
