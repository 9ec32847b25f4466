// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Metadata of handles, transfers, text.

#include "tandem/tensor_handle.h"

#include <chrono>
#include <new>

#include "tandem/host_context.h"

namespace tandem {

const TensorMetadata* TensorHandle::FindMetadata() const {
  if (metadata_.IsValid()) {
    if (metadata_.IsConcrete()) return &metadata_.get();
    return value_.IsConcrete() ? &value_.get().metadata() : nullptr;
  }
  const Tensor* tensor = value_.FindContent();
  return tensor == nullptr ? nullptr : &tensor->metadata();
}

namespace {

constexpr std::string_view kTransferName = "tandem.Transfer";

struct TransferTarget {
  const Device* device;
  const TensorType* type;
};

// Runs one conversion; errors come with name and location and have been told to the diagnostic handler.
AsyncValueRef<Tensor> Convert(const ExecutionContext& exec, const Tensor& tensor, const TransferTarget& target) {
  HostContext& host = exec.host();
  if (tensor.IsA(*target.type) && tensor.device() == target.device) return AsyncValueRef<Tensor>::MakeAvailable(tensor);
  const TensorConversion conversion = host.conversions().Find(tensor.type(), *target.type);
  AsyncValueRef<Tensor> converted;
  Status error;
  const auto started = TraceEvent::Clock::now();
  if (conversion == nullptr) {
    error = MakeError(StatusCode::kUnimplemented, "no conversion from ", tensor.type().name(), " on ",
                      tensor.device()->name(), " to ", target.type->name(), " on ", target.device->name(),
                      ", got ", tensor.metadata());
  } else {
    converted = conversion(exec, tensor, *target.device);
    if (converted.IsError()) error = converted.GetError();
  }
  if (host.IsTracing()) {
    MessageBuilder input;
    input.Append(tensor.metadata());
    MessageBuilder attrs;
    attrs.Append("{from = ", tensor.type().name(), ", to = ", target.type->name(), "}");
    host.tracer().Record({kTransferName, target.device->name(), input.view(), attrs.view(), started, started,
                          TraceEvent::Clock::now()});
  }
  if (error.ok()) return converted;
  return AsyncValueRef<Tensor>::MakeError(host.EmitError(error.WithContext(kTransferName, exec.location())));
}

// A transfer whose source is pending. Cancelled like any pending op.
class PendingTransfer final : public Waiter {
 public:
  PendingTransfer(const ExecutionContext& exec, TensorHandle source, RcRef<IndirectAsyncValue> result,
                  TransferTarget target)
      : exec_(exec), source_(std::move(source)), result_(std::move(result)), target_(target) {}

  void Run() override {
    AsyncValueRef<Tensor> converted = source_.IsError() ? source_.value().CopyRef()
                                                        : Convert(exec_, source_.tensor(), target_);
    source_.reset();
    result_->ForwardTo(std::move(converted).TakeValue());
    delete this;
  }
  void Drop() override { delete this; }

 private:
  const ExecutionContext exec_;
  TensorHandle source_;
  const RcRef<IndirectAsyncValue> result_;
  const TransferTarget target_;
};

}  // namespace

TensorHandle TensorHandle::TransferTo(const ExecutionContext& exec, const Device& device,
                                      const TensorType& type) const {
  if (!IsValid()) {
    return MakeError(exec.host().EmitError(InvalidArgument("expected a tensor, got a null handle")
                                               .WithContext(kTransferName, exec.location())));
  }
  if (IsError()) return CopyRef();
  const TransferTarget target = {&device, &type};
  if (IsAvailable()) {
    if (tensor().IsA(type) && device_ == &device) return CopyRef();
    return TensorHandle(Convert(exec, tensor(), target), &device);
  }
  auto result = MakeRef<IndirectAsyncValue>();
  auto* transfer = result ? new (std::nothrow) PendingTransfer(exec, CopyRef(), result, target) : nullptr;
  if (transfer == nullptr) return MakeError(exec.host().EmitError(Status::OutOfMemory()));
  TensorHandle handle(AsyncValueRef<TensorMetadata>(), AsyncValueRef<Tensor>(RcRef<AsyncValue>(result)), &device);
  if (metadata_.IsValid()) {
    handle.metadata_ = metadata_.CopyRef();
  } else if (IsMetadataAvailable()) {
    handle.metadata_ = AsyncValueRef<TensorMetadata>::MakeAvailable(metadata());
  }
  value_.AndThen(*transfer);
  return handle;
}

void AppendTo(MessageBuilder& out, const TensorHandle& handle) {
  if (!handle.IsValid()) {
    out.Append("null");
    return;
  }
  if (handle.IsError()) {
    out.Append("error: ", handle.GetError().message());
    return;
  }
  if (!handle.IsAvailable()) out.Append("pending");
  if (handle.IsMetadataAvailable()) {
    out.Append(handle.IsAvailable() ? "" : " ", handle.metadata());
  } else {
    out.Append(", metadata pending");
  }
  if (handle.device() != nullptr) out.Append(" on ", handle.device()->name());
}

}  // namespace tandem
