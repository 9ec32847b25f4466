// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls of metadata functions and kernels of plug-ins.

#include "plugin_call.h"

#include <new>
#include <utility>

#include "deferred_call.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_run.h"

using tandem::FailedPrecondition;
using tandem::Status;

namespace {
Status OnlyInKernels() { return FailedPrecondition("only a kernel has results to fill, this is a metadata function"); }
}  // namespace

Status tandem_plugin_call::Allocate(size_t, std::optional<size_t>, void**) { return OnlyInKernels(); }
Status tandem_plugin_call::SetStrings(size_t, std::span<const std::string_view>) { return OnlyInKernels(); }
Status tandem_plugin_call::Set(size_t, const tandem::Tensor&) { return OnlyInKernels(); }
Status tandem_plugin_call::Fail(size_t, Status) { return OnlyInKernels(); }
Status tandem_plugin_call::Defer(tandem_plugin_call**) { return OnlyInKernels(); }
bool tandem_plugin_call::ParallelFor(int64_t count, double, tandem::FunctionRef<void(int64_t, int64_t)> range) {
  if (count > 0) range(0, count);
  return !IsCancelled();
}

namespace tandem::plugin {

Status FromC(tandem_status* error) {
  if (error == nullptr) return Status();
  const tandem_code code = tandem_status_code(error);
  const bool is_known = code > TANDEM_OK && code <= TANDEM_DATA_LOSS;
  Status status = MakeError(is_known ? static_cast<StatusCode>(code) : StatusCode::kUnknown,
                            std::string_view(tandem_status_message(error)));
  tandem_status_release(error);
  return status;
}

StatusOr<const Tensor*> ExpandedInputs::Expand(const Tensor& tensor, size_t index, size_t num_inputs,
                                               HostAllocator& allocator) {
  if (expanded_ == nullptr) expanded_.reset(new (std::nothrow) std::optional<Tensor>[num_inputs]);
  if (expanded_ == nullptr) return Status::OutOfMemory();
  std::optional<Tensor>& expanded = expanded_[index];
  if (!expanded.has_value()) {
    TANDEM_ASSIGN_OR_RETURN(Tensor dense, ToDense(tensor, allocator));
    expanded.emplace(std::move(dense));
  }
  return &*expanded;
}

namespace {

class MetadataCall final : public tandem_plugin_call {
 public:
  MetadataCall(const MetadataFrame& frame, HostContext& host)
      : tandem_plugin_call(frame.args.size(), frame.results.size()), frame_(frame), host_(host) {}

  const OpAttrsRef& attrs() const override { return frame_.attrs; }
  const TensorMetadata& InputMetadata(size_t index) const override { return *frame_.args[index]; }
  StatusOr<const Tensor*> Input(size_t index) override {
    const Tensor* const value = index < frame_.values.size() ? frame_.values[index] : nullptr;
    if (value == nullptr) return value;
    return expanded_.Get(*value, index, num_inputs, host_.allocator());
  }
  TensorMetadata ResultMetadata(size_t index) const override { return frame_.results[index]; }
  Status Describe(size_t index, const TensorMetadata& metadata) override {
    frame_.results[index] = metadata;  // whose dtype is checked against the definition for all metadata functions
    return Status();
  }

 private:
  const MetadataFrame& frame_;
  HostContext& host_;
  ExpandedInputs expanded_;
};

class KernelCall final : public tandem_plugin_call {
 public:
  KernelCall(KernelFrame& frame, const KernelClosure& closure)
      : tandem_plugin_call(frame.num_args(), frame.num_results()), frame_(frame), closure_(closure) {}

  const OpAttrsRef& attrs() const override { return frame_.attrs(); }
  const TensorMetadata& InputMetadata(size_t index) const override { return frame_.arg(index).metadata(); }
  StatusOr<const Tensor*> Input(size_t index) override {
    const Tensor& input = frame_.arg(index);
    if (!input.IsA(kDenseHost)) TANDEM_RETURN_IF_ERROR(internal::CheckReadable(frame_, index));
    return expanded_.Get(input, index, num_inputs, frame_.host().allocator());
  }
  TensorMetadata ResultMetadata(size_t index) const override {
    return made_ != nullptr && made_[index].has_value() ? made_[index]->metadata() : frame_.result_metadata(index);
  }
  Status Describe(size_t index, const TensorMetadata& metadata) override;
  Status Allocate(size_t index, std::optional<size_t> input, void** data) override;
  Status SetStrings(size_t index, std::span<const std::string_view> strings) override;
  Status Fail(size_t index, Status error) override {
    TANDEM_RETURN_IF_ERROR(CheckNotDeferred());
    frame_.SetError(index, std::move(error));
    return Status();
  }
  Status Defer(tandem_plugin_call** later) override;
  bool IsCancelled() override { return KernelRun::IsStopped(); }
  bool IsExact() const override { return frame_.host().is_exact(); }
  bool ParallelFor(int64_t count, double cost, FunctionRef<void(int64_t, int64_t)> range) override {
    return frame_.ParallelFor(count, cost, range);
  }

  // Gives the results that the frame does not have yet.
  void SetMade();

 private:
  bool HasMetadataFunction() const { return frame_.def().metadata != nullptr; }
  Status CheckNotDeferred() const {
    return is_deferred_ ? FailedPrecondition("the call is deferred: its results are those of the later call")
                        : Status();
  }

  KernelFrame& frame_;
  const KernelClosure& closure_;
  ExpandedInputs expanded_;
  // Of an op without a metadata function, what its results are described as, and later are.
  std::unique_ptr<std::optional<Tensor>[]> made_;
  bool is_deferred_ = false;
};

Status KernelCall::Describe(size_t index, const TensorMetadata& metadata) {
  TANDEM_RETURN_IF_ERROR(CheckNotDeferred());
  if (HasMetadataFunction()) return CheckResult(index, frame_.result_metadata(index), metadata, /*is_known=*/true);
  TANDEM_RETURN_IF_ERROR(CheckResult(index, frame_.result_metadata(index), metadata, /*is_known=*/false));
  if (made_ == nullptr) made_.reset(new (std::nothrow) std::optional<Tensor>[num_results]);
  if (made_ == nullptr) return Status::OutOfMemory();
  made_[index].emplace(metadata, &frame_.host().device());
  return Status();
}

Status KernelCall::Allocate(size_t index, std::optional<size_t> input, void** data) {
  TANDEM_RETURN_IF_ERROR(CheckNotDeferred());
  if (!HasMetadataFunction()) return AllocateDescribed(made_.get(), index, frame_.host().allocator(), data);
  if (frame_.result_metadata(index).dtype == DType::kString) return StringsAreSet(index);
  *data = input.has_value() ? frame_.ForwardOrAllocateResult(index, {*input}) : frame_.AllocateResult(index);
  return *data == nullptr ? Status::OutOfMemory() : Status();
}

Status KernelCall::SetStrings(size_t index, std::span<const std::string_view> strings) {
  TANDEM_RETURN_IF_ERROR(CheckNotDeferred());
  TANDEM_ASSIGN_OR_RETURN(Tensor made, MakeStringResult(ResultMetadata(index), index, strings, frame_.host()));
  frame_.SetResult(index, std::move(made));
  if (made_ != nullptr) made_[index].reset();
  return Status();
}

Status KernelCall::Defer(tandem_plugin_call** later) {
  TANDEM_RETURN_IF_ERROR(CheckNotDeferred());
  for (size_t i = 0; i < num_inputs; ++i) TANDEM_RETURN_IF_ERROR(internal::CheckReadable(frame_, i));
  TANDEM_ASSIGN_OR_RETURN(*later, MakeDeferredCall(frame_, closure_.in_use));
  is_deferred_ = true;
  return Status();
}

void KernelCall::SetMade() {
  for (size_t i = 0; made_ != nullptr && i < num_results; ++i) {
    if (made_[i].has_value() && made_[i]->HasPayload()) frame_.SetResult(i, std::move(*made_[i]));
  }
}

}  // namespace

Status CallMetadata(const MetadataFrame& frame) {
  const auto& closure = *static_cast<const MetadataClosure*>(frame.closure);
  MetadataCall call(frame, closure.runtime->host());
  return FromC(closure.function(&Api(), &call, closure.user->get()));
}

Status CallKernel(const void* closure, KernelFrame& frame) {
  const auto& kernel = *static_cast<const KernelClosure*>(closure);
  KernelCall call(frame, kernel);
  TANDEM_RETURN_IF_ERROR(FromC(kernel.function(&Api(), &call, kernel.user->get())));
  call.SetMade();
  return Status();
}

}  // namespace tandem::plugin
