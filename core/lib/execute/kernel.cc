// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What kernels ask of their frame: memory for results, forwarding, work in parallel.

#include "tandem/kernel.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "defs/op_signature.h"
#include "tandem/device.h"
#include "tandem/host_context.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/kernel_run.h"
#include "tandem/parallel_for.h"

namespace tandem {

// Out of line, since programs have hundreds of calls.
Kernel::Kernel(Function function, std::shared_ptr<const void> closure, KernelSignature signature)
    : function_(function), closure_(std::move(closure)), signature_(signature) {}
Kernel::Kernel(Function function, KernelSignature signature) : function_(function), signature_(signature) {}
Kernel::Kernel(Function function, int num_args, int num_results)
    : function_(function), signature_{static_cast<int16_t>(num_args), static_cast<int16_t>(num_results)} {}
Kernel::Kernel(const Kernel&) = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(const Kernel& other) { return *this = Kernel(other); }
Kernel& Kernel::operator=(Kernel&& other) noexcept {
  // Member by member the old code would go before the old closure.
  Kernel old(std::move(*this));
  function_ = other.function_;
  code_ = std::move(other.code_);
  closure_ = std::move(other.closure_);
  cost_ = other.cost_;
  condition_ = other.condition_;
  signature_ = other.signature_;
  return *this;
}
Kernel::~Kernel() = default;

Kernel&& Kernel::WithCost(CostModel cost) && {
  cost_ = cost;
  return std::move(*this);
}
Kernel&& Kernel::WithCost(float per_element) && { return std::move(*this).WithCost(CostModel{per_element, nullptr}); }
Kernel&& Kernel::OnlyIf(Condition condition) && {
  condition_ = condition;
  return std::move(*this);
}
Kernel&& Kernel::WithCode(std::shared_ptr<const void> code) && {
  code_ = std::move(code);
  return std::move(*this);
}

namespace {
// About the cost of handing a piece of work to another thread and hearing of its end, in nanoseconds of native code,
// which is what costs are estimated for: WebAssembly takes two to three times as long.
#ifdef __wasm__
constexpr double kWorthSplitting = 8'000;
#else
constexpr double kWorthSplitting = 20'000;
#endif
// The same where a thread is looking for work.
constexpr double kWorthSharing = kWorthSplitting / 4;
}  // namespace

bool KernelFrame::AllocateDenseResult(size_t i) {
  Status status = AllocateDenseIn(results_[i]->value(), host().allocator());
  if (status.ok()) [[likely]]
    return true;
  SetError(i, std::move(status));
  return false;
}

void* KernelFrame::AllocateResult(size_t i) {
  return AllocateDenseResult(i) ? results_[i]->value().mutable_data() : nullptr;
}

bool KernelFrame::MayTakeOver(size_t arg, size_t i) const {
  const AsyncValue& value = *args_[arg].value().value();
  if (!value.IsUnique() || value.Resolved() != &value) return false;
  const Tensor& result = results_[i]->value();
  const Tensor& tensor = args_[arg].tensor();
  const RcRef<TensorStorage>& storage = tensor.storage();
  return storage && storage->IsUnique() && !storage->is_external() && tensor.device() == result.device() &&
         tensor.IsA(tensor.device()->dense_type()) && DTypeSize(tensor.dtype()) == DTypeSize(result.dtype()) &&
         tensor.shape() == result.shape();
}

void* KernelFrame::ForwardOrAllocateResult(size_t i, std::initializer_list<size_t> candidates) {
  Tensor& result = results_[i]->value();
  if (result.metadata().byte_size() > Tensor::kInlineBytes) {
    for (size_t candidate : candidates) {
      if (!MayTakeOver(candidate, i)) continue;
      const Tensor& source = args_[candidate].tensor();
      source.storage()->DropForms();
      result.UseStorage(kDenseHost, const_cast<void*>(source.data()), source.storage());
      return result.mutable_data();
    }
  }
  return AllocateResult(i);
}

StatusOr<Tensor> KernelFrame::NewResult(size_t i, std::initializer_list<size_t> candidates) {
  const Tensor& result = results_[i]->value();
  for (const size_t candidate : candidates) {
    const Tensor& from = arg(candidate);
    // Devices may have bool in another size than its dtype's.
    const bool same_layout = (from.dtype() == DType::kBool) == (result.dtype() == DType::kBool);
    if (!same_layout || !MayTakeOver(candidate, i)) continue;
    from.storage()->DropForms();
    return Tensor(result.metadata(), from.device(), from.type(), const_cast<void*>(from.data()), from.storage());
  }
  return result.device()->AllocateDense(result.metadata(), exec_, def_.name);
}

void* KernelFrame::FindContext(const KernelContext& context) const { return handler_.FindContext(context); }

void KernelFrame::SetResult(size_t i, Tensor tensor) {
  Tensor& result = results_[i]->value();
  if (def_.metadata != nullptr) {
    if (tensor.metadata() == result.metadata()) [[likely]]
      return result.TakePayload(std::move(tensor));
    return SetError(i,
                    Internal("kernel must give result ", i, " as ", result.metadata(), ", gave ", tensor.metadata()));
  }
  if (result.dtype() != DType::kInvalid && result.dtype() != tensor.dtype()) {
    return SetError(i, Internal("kernel must give result ", i, " as ", result.dtype(), ", gave ", tensor.metadata()));
  }
  result = std::move(tensor);
}

void KernelFrame::SetResult(size_t i, AsyncValueRef<Tensor> value) {
  // Null is what a kernel has when memory for a value of its own could not be had.
  if (!value.IsValid()) return SetError(i, Internal("kernel gave no value for result ", i));
  AddLate(i, Status(), std::move(value));
}

void KernelFrame::SetError(size_t i, Status error) { AddLate(i, std::move(error), {}); }

void KernelFrame::AddLate(size_t i, Status error, AsyncValueRef<Tensor> value) {
  auto* late = new (std::nothrow) Late{i, std::move(error), std::move(value), late_};
  late_lost_ |= late == nullptr;
  if (late != nullptr) late_ = late;
}

KernelFrame::Late* KernelFrame::FindLate(size_t i) const {
  Late* late = late_;
  while (late != nullptr && late->result != i) late = late->next;
  return late;
}

void KernelFrame::FreeLate() {
  while (late_ != nullptr) delete std::exchange(late_, late_->next);
}

bool KernelFrame::ParallelFor(int64_t n, double cost_per_item, FunctionRef<void(int64_t, int64_t)> fn) const {
  if (n <= 0) return true;
  const double cost = cost_per_item * static_cast<double>(n);
  const bool is_shared = cost > 2 * kWorthSharing && exec_.work_queue().RequestHelper();
  const double worth = is_shared ? kWorthSharing : kWorthSplitting;
  if (cost <= 2 * worth) {
    // What a kernel does after it was stopped may rely on what it would have done before.
    if (run_ != nullptr && run_->was_stopped()) return false;
    fn(0, n);
    return true;
  }
  const double items = std::ceil(worth / std::max(cost_per_item, 1e-6));
  return tandem::ParallelFor(exec_.work_queue(), n, static_cast<int64_t>(std::min(items, static_cast<double>(n))), fn);
}

Status KernelFrame::CheckActive() const {
  if (run_ == nullptr) return exec_.CheckActive();
  return KernelRun::IsStopped() ? run_->Reason() : Status();
}

namespace internal {

Status CheckDense(const KernelFrame& frame, size_t i) {
  if (IsExpandable(frame.arg(i))) [[likely]]
    return Status();
  return OpSignature(frame.def()).NotDense(i, frame.num_args(), frame.arg(i));
}

Status ExpandToDense(KernelFrame& frame, const Tensor** dense, std::optional<Tensor>& expanded) {
  if ((*dense)->IsA(kDenseHost)) return Status();
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, ToDense(**dense, frame.host().allocator()));
  expanded.emplace(std::move(tensor));
  *dense = &*expanded;
  return Status();
}

Status CheckOnDevice(const KernelFrame& frame, size_t i) {
  const Tensor& tensor = frame.arg(i);
  const Device& device = *frame.handler().device();
  if (tensor.device() == &device && tensor.IsA(device.dense_type())) [[likely]]
    return Status();
  return InvalidArgument("argument ", i, " (", OpSignature(frame.def()).InputName(i, frame.num_args()),
                         ") must be a dense tensor on ", device.name(), ", got ", tensor.metadata(), " as ",
                         tensor.type().name(), " on ", tensor.device()->name());
}

Status CheckReadable(const KernelFrame& frame, size_t i) {
  const Tensor& tensor = frame.arg(i);
  if (tensor.IsA(kDenseHost) || tensor.IsA(kScalarHost) || tensor.IsA(kStringHost)) [[likely]]
    return Status();
  return OpSignature(frame.def()).NotDense(i, frame.num_args(), tensor);
}

}  // namespace internal

Status KernelParameter<VariadicArgs>::Take(KernelFrame& frame, size_t& next, bool& expands) {
  first = std::exchange(next, frame.num_args());
  expands = true;
  for (size_t i = first; i < frame.num_args(); ++i) TANDEM_RETURN_IF_ERROR(internal::CheckDense(frame, i));
  return Status();
}

Status KernelParameter<VariadicArgs>::Expand(KernelFrame& frame) {
  const size_t size = frame.num_args() - first;
  if (!tensors.Init(size)) return Status::OutOfMemory();
  for (size_t i = 0; i < size; ++i) {
    tensors[i] = &frame.arg(first + i);
    if (tensors[i]->IsA(kDenseHost)) continue;
    if (expanded == nullptr) expanded.reset(new (std::nothrow) std::optional<Tensor>[size]);
    if (expanded == nullptr) return Status::OutOfMemory();
    TANDEM_RETURN_IF_ERROR(internal::ExpandToDense(frame, &tensors[i], expanded[i]));
  }
  return Status();
}

}  // namespace tandem
