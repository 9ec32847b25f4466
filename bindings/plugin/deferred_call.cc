// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Deferred calls count as pending ops of their host, so that it outlives them.

#include "deferred_call.h"

#include <atomic>
#include <new>
#include <utility>

#include "execute/pending_ops.h"
#include "tandem/async_value.h"
#include "tandem/chain.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"

namespace tandem::plugin {

Status CheckResult(size_t index, const TensorMetadata& known, const TensorMetadata& given, bool is_known) {
  const bool has_dtype = known.dtype == DType::kInvalid || known.dtype == given.dtype;
  if (has_dtype && (!is_known || known.shape == given.shape)) return Status();
  if (is_known) return Internal("kernel must give result ", index, " as ", known, ", gave ", given);
  return Internal("kernel must give result ", index, " as ", known.dtype, ", gave ", given);
}

Status StringsAreSet(size_t index) {
  return InvalidArgument("result ", index, " is of strings, which are not allocated but set");
}

Status AllocateDescribed(std::optional<Tensor>* described, size_t index, HostAllocator& allocator, void** data) {
  if (described == nullptr || !described[index].has_value()) {
    return FailedPrecondition("result ", index, " must be described before it is allocated");
  }
  Tensor& result = *described[index];
  if (result.dtype() == DType::kString) return StringsAreSet(index);
  TANDEM_RETURN_IF_ERROR(AllocateDenseIn(result, allocator));
  *data = result.mutable_data();
  return Status();
}

StatusOr<Tensor> MakeStringResult(const TensorMetadata& metadata, size_t index,
                                  std::span<const std::string_view> strings, HostContext& host) {
  if (metadata.dtype != DType::kString) {
    return InvalidArgument("expected a result of strings, result ", index, " is ", metadata);
  }
  if (static_cast<uint64_t>(metadata.num_elements()) != strings.size()) {
    return InvalidArgument("expected ", metadata.num_elements(), " strings for result ", index, ", got ",
                           strings.size());
  }
  return MakeString(metadata.shape, strings, host.device(), host.allocator());
}

namespace {

// Thread-safe to ask whether it is cancelled; the rest is for one thread at a time. A task of the host's queue in the
// end, since the thread that finishes it may be in the plug-in, whose code the last call in use keeps.
class DeferredCall final : public tandem_plugin_call, public Task {
 public:
  explicit DeferredCall(KernelFrame& frame)
      : tandem_plugin_call(frame.num_args(), frame.num_results()),
        exec_(frame.exec()),
        def_(frame.def().Share()),
        attrs_(frame.attrs().Freeze()),
        epoch_(host().pending_ops().epoch()) {}
  // Takes over what the frame has. The frame's results are this call's from here on.
  Status Init(KernelFrame& frame, std::shared_ptr<const void> in_use);

  const OpAttrsRef& attrs() const override { return attrs_; }
  const TensorMetadata& InputMetadata(size_t index) const override { return inputs_[index]->metadata(); }
  StatusOr<const Tensor*> Input(size_t index) override {
    return expanded_.Get(*inputs_[index], index, num_inputs, host().allocator());
  }
  TensorMetadata ResultMetadata(size_t index) const override {
    return made_[index].has_value() ? made_[index]->metadata() : results_[index].known;
  }
  Status Describe(size_t index, const TensorMetadata& metadata) override;
  Status Allocate(size_t index, std::optional<size_t> input, void** data) override;
  Status SetStrings(size_t index, std::span<const std::string_view> strings) override;
  Status Set(size_t index, const Tensor& tensor) override;
  Status Fail(size_t index, Status error) override {
    results_[index].error = std::move(error);
    return Status();
  }
  Status Defer(tandem_plugin_call**) override { return FailedPrecondition("the call is deferred already"); }
  bool IsCancelled() override;
  bool IsExact() const override { return host().is_exact(); }
  void Finish(Status error) override;
  void Run() override { delete this; }

 private:
  struct Result {
    Producer<Tensor> producer;
    TensorMetadata known;
    Status error;
  };

  HostContext& host() const { return exec_.host(); }
  Status Reason() const;
  void FinishResult(size_t index, const Status& error);

  std::shared_ptr<const void> in_use_;  // ends last
  const ExecutionContext exec_;
  const std::shared_ptr<const OpDef> def_;  // has the defaults of the attributes
  const OpAttrsRef attrs_;
  const uint32_t epoch_;
  std::unique_ptr<std::optional<Tensor>[]> inputs_;
  ExpandedInputs expanded_;
  std::unique_ptr<Result[]> results_;
  std::unique_ptr<std::optional<Tensor>[]> made_;  // what a result is described as, and later is
  Producer<Chain> chain_;
  std::atomic<bool> was_stopped_{false};  // whether IsCancelled said yes
};

Status DeferredCall::Init(KernelFrame& frame, std::shared_ptr<const void> in_use) {
  inputs_.reset(new (std::nothrow) std::optional<Tensor>[num_inputs]);
  results_.reset(new (std::nothrow) Result[num_results]);
  made_.reset(new (std::nothrow) std::optional<Tensor>[num_results]);
  if (inputs_ == nullptr || results_ == nullptr || made_ == nullptr || attrs_.out_of_memory()) {
    return Status::OutOfMemory();
  }
  if (def_->has_side_effects) {
    chain_ = Producer<Chain>::Make();
    if (!chain_) return Status::OutOfMemory();
  }
  for (size_t i = 0; i < num_results; ++i) {
    results_[i].producer = Producer<Tensor>::Make();
    if (!results_[i].producer) return Status::OutOfMemory();
    results_[i].known = frame.result_metadata(i);
    if (def_->metadata != nullptr) made_[i].emplace(results_[i].known, &host().device());
  }
  for (size_t i = 0; i < num_inputs; ++i) inputs_[i].emplace(frame.arg(i));
  for (size_t i = 0; i < num_results; ++i) frame.SetResult(i, results_[i].producer.ref());
  if (chain_) frame.SetChain(chain_.ref());
  in_use_ = std::move(in_use);
  host().pending_ops().Hold();
  return Status();
}

Status DeferredCall::Describe(size_t index, const TensorMetadata& metadata) {
  const bool is_known = def_->metadata != nullptr;
  TANDEM_RETURN_IF_ERROR(CheckResult(index, results_[index].known, metadata, is_known));
  if (!is_known) made_[index].emplace(metadata, &host().device());
  return Status();
}

Status DeferredCall::Allocate(size_t index, std::optional<size_t>, void** data) {
  return AllocateDescribed(made_.get(), index, host().allocator(), data);
}

Status DeferredCall::SetStrings(size_t index, std::span<const std::string_view> strings) {
  TANDEM_ASSIGN_OR_RETURN(Tensor made, MakeStringResult(ResultMetadata(index), index, strings, host()));
  made_[index].emplace(std::move(made));
  return Status();
}

Status DeferredCall::Set(size_t index, const Tensor& tensor) {
  TANDEM_RETURN_IF_ERROR(CheckResult(index, results_[index].known, tensor.metadata(), def_->metadata != nullptr));
  made_[index].emplace(tensor);
  return Status();
}

bool DeferredCall::IsCancelled() {
  if (was_stopped_.load(std::memory_order_relaxed)) return true;
  if (exec_.CheckActive().ok() && host().pending_ops().epoch() == epoch_ && host().MayGoOn()) return false;
  was_stopped_.store(true, std::memory_order_relaxed);
  return true;
}

// Why the plug-in was told to end; an error in any case.
Status DeferredCall::Reason() const {
  TANDEM_RETURN_IF_ERROR(exec_.CheckActive());
  // By the host, which has been restarted since, or which may not go on.
  return Status::Error(StatusCode::kCancelled, "cancelled while it ran");
}

void DeferredCall::FinishResult(size_t index, const Status& error) {
  Result& result = results_[index];
  std::optional<Tensor>& made = made_[index];
  if (!error.ok()) return result.producer.SetError(error);
  if (!result.error.ok()) return result.producer.SetError(result.error);
  if (made.has_value() && made->HasPayload()) return result.producer.Emplace(std::move(*made));
  result.producer.SetError(Internal("kernel gave no value for result ", index));
}

void DeferredCall::Finish(Status error) {
  // Waiters may take over inputs that nobody else refers to.
  inputs_.reset();
  // A plug-in that was told to end may give anything, as kernels that run may: that is discarded (CA-4).
  if (was_stopped_.load(std::memory_order_relaxed)) error = Reason();
  for (size_t i = 0; i < num_results; ++i) FinishResult(i, error);
  if (chain_) error.ok() ? chain_.Emplace() : chain_.SetError(error);
  // The host waits for what is held, and then for its queue: nothing of it is used after that.
  PendingOps& pending = host().pending_ops();
  host().work_queue().AddTask(static_cast<Task&>(*this));
  pending.Release(0);
}

}  // namespace

StatusOr<tandem_plugin_call*> MakeDeferredCall(KernelFrame& frame, std::shared_ptr<const void> in_use) {
  std::unique_ptr<DeferredCall> call(new (std::nothrow) DeferredCall(frame));
  if (call == nullptr) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(call->Init(frame, std::move(in_use)));
  return call.release();
}

}  // namespace tandem::plugin
