// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernel tables, and ops that only the fallback can run.

#include "tandem/kernel_op_handler.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "execute/group_kernels.h"
#include "execute/kernel_op.h"
#include "tandem/core_runtime.h"

namespace tandem {

// The key function, here since users derive from it.
TransferObserver::~TransferObserver() = default;

namespace {

// Whether that is known by now.
bool HasDType(const TensorHandle& handle, DType dtype) {
  return handle.IsValid() && handle.IsMetadataAvailable() && handle.metadata().dtype == dtype;
}

// Runs an op of a fallback on another device: moves the arguments there and the results back, each by an explicit
// transfer (OH-2, EX-13).
class TransferringOp final : public OpImpl {
 public:
  TransferringOp(std::shared_ptr<const OpDef> def, RcRef<const OpImpl> op, const Device& here, const Device& there)
      : OpImpl(op->name(), op->is_removable()),
        def_owner_(std::move(def)),
        def_(*def_owner_),
        signature_(def_),
        op_(std::move(op)),
        here_(here),
        there_(there) {}

  void Invoke(const OpInvocation& invocation) const override {
    // One error for the call, not one for each transfer.
    if (Status active = invocation.exec.CheckActive(); !active.ok()) {
      return FailInvocation(invocation, name(), std::move(active));
    }
    const size_t num_args = invocation.args.size();
    for (size_t i = 0; i < num_args; ++i) {
      TensorHandle& arg = invocation.args[i];
      const Device& host = invocation.exec.host().device();
      // Host inputs are wanted where their content can be read. What is in the right place keeps its representation.
      const Device& wanted = signature_.IsHostInput(i, num_args) ? host : there_;
      if (arg.IsValid() && arg.device() != &wanted) arg = arg.TransferTo(invocation.exec, wanted);
    }
    const uint64_t string_types = FindStringTypes(invocation.args);
    op_->Invoke(invocation);
    for (size_t i = 0; i < invocation.results.size(); ++i) {
      TensorHandle& result = invocation.results[i];
      if (!IsString(result, i, string_types)) result = result.TransferTo(invocation.exec, here_);
    }
  }

 private:
  // The type attributes, as bits by index, that are string for these arguments.
  uint64_t FindStringTypes(std::span<const TensorHandle> args) const {
    uint64_t types = 0;
    for (size_t i = 0; i < std::min(args.size(), def_.inputs.size()); ++i) {
      const int type = def_.inputs[i].type_attr;
      if (type >= 0 && HasDType(args[i], DType::kString)) types |= uint64_t{1} << type;
    }
    return types;
  }
  // Strings stay on the host, whatever device a call is for.
  bool IsString(const TensorHandle& result, size_t i, uint64_t string_types) const {
    if (result.IsMetadataAvailable() || def_.outputs.empty()) return HasDType(result, DType::kString);
    const ArgDef& output = def_.outputs[std::min(i, def_.outputs.size() - 1)];  // of several, the variadic one is last
    return output.dtype == DType::kString || (output.type_attr >= 0 && (string_types >> output.type_attr & 1) != 0);
  }

  const std::shared_ptr<const OpDef> def_owner_;
  const OpDef& def_;
  const OpSignature signature_;
  const RcRef<const OpImpl> op_;
  const Device& here_;
  const Device& there_;
};

static_assert(OpDef::kMaxAttrs <= 64, "the type attributes of an op are bits of one word");

// Whether every call of the op has what the kernel takes, and wants what it gives.
Status CheckFits(const KernelSignature& signature, const OpDef& def) {
  int64_t num_args = 0;
  for (const ArgDef& input : def.inputs) {
    const int count_attr = input.number_attr >= 0 ? input.number_attr : input.type_list_attr;
    num_args += count_attr < 0 ? 1 : def.attrs[static_cast<size_t>(count_attr)].minimum;
  }
  if (signature.num_args > num_args) {
    return Internal("kernel takes ", signature.num_args, " arguments, the op has ",
                    def.HasVariadicInputs() ? "at least " : "", num_args);
  }
  if (signature.num_results < 0) return Status();
  if (def.HasVariadicOutputs()) {
    return Internal("kernel gives ", signature.num_results, " results, the op has a varying number");
  }
  if (static_cast<size_t>(signature.num_results) == def.outputs.size()) return Status();
  return Internal("kernel gives ", signature.num_results, " results, the op has ", def.outputs.size());
}

}  // namespace

KernelOpHandler::KernelOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback, const Device& device,
                                 Policy policy)
    : OpHandler(name, runtime, fallback == nullptr ? &runtime.null_handler() : fallback),
      device_(device),
      policy_(policy) {}

KernelOpHandler::~KernelOpHandler() = default;

void KernelOpHandler::SetProgramFuser(std::unique_ptr<const ElementwiseFuser> fuser) {
  owned_fuser_ = std::move(fuser);
  fuser_.store(owned_fuser_.get(), std::memory_order_release);
}

void KernelOpHandler::SetFuser(std::unique_ptr<const ElementwiseFuser> fuser) {
  SetProgramFuser(std::move(fuser));
  const bool is_late = group_kernels_ != nullptr;
  if (!is_late) group_kernels_ = std::make_unique<GroupKernels>(*this);
  group_kernels_->Begin();
  if (!is_late) return;
  std::vector<std::string_view> names;  // which live as long as the table
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [op_name, table] : kernels_) names.push_back(op_name);
  }
  for (const std::string_view op_name : names) runtime().OpChanged(op_name);
}

void KernelOpHandler::PostponeFuser(std::function<void()> want) {
  fuser_.store(nullptr, std::memory_order_release);
  group_kernels_ = std::make_unique<GroupKernels>(*this, std::move(want));
}

void KernelOpHandler::AddContext(const KernelContext& context, void* object) {
  Provided* const place = std::ranges::find(provided_, nullptr, &Provided::context);
  assert(place != provided_.end());
  *place = {&context, object};
}

void* KernelOpHandler::FindContext(const KernelContext& context) const {
  const Provided* const found = std::ranges::find(provided_, &context, &Provided::context);
  return found == provided_.end() ? nullptr : found->object;
}

Status KernelOpHandler::CheckContexts(std::string_view op_name, const Kernel& kernel) const {
  const KernelContext* const* contexts = kernel.signature().contexts;
  for (; contexts != nullptr && *contexts != nullptr; ++contexts) {
    if (FindContext(**contexts) != nullptr) continue;
    return FailedPrecondition("a kernel of ", op_name, " takes ", (*contexts)->name, ", which op handler ",
                              std::string_view(name()), " does not provide");
  }
  return Status();
}

Status KernelOpHandler::AddKernel(std::string_view op_name, DTypeSet dtypes, Kernel kernel) {
  TANDEM_RETURN_IF_ERROR(CheckContexts(op_name, kernel));
  {
    const std::lock_guard lock(mutex_);
    auto found = kernels_.find(op_name);
    if (found == kernels_.end()) found = kernels_.emplace(op_name, Table()).first;
    Table& table = found->second;
    for (int i = 0; i < kNumDTypes && table.kernels != nullptr; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (!dtypes.Contains(dtype) || !HasKernel(table, dtype)) continue;
      return MakeError(StatusCode::kAlreadyExists, "op handler ", std::string_view(name()),
                       " must have one kernel per dtype, got a second one of ", op_name, " for ", dtype);
    }
    KernelsByDType& kernels = MutableLocked(table);
    for (int i = 0; i < kNumDTypes; ++i) {
      if (dtypes.Contains(static_cast<DType>(i))) kernels[i] = kernel;
    }
  }
  runtime().OpChanged(op_name);
  return Status();
}

KernelsByDType& KernelOpHandler::MutableLocked(Table& table) {
  if (table.kernels == nullptr) {
    table.kernels = std::make_shared<KernelsByDType>();
  } else if (table.is_resolved) {
    table.kernels = std::make_shared<KernelsByDType>(*table.kernels);
  }
  table.is_resolved = false;
  return *table.kernels;
}

void KernelOpHandler::RemoveKernels(std::string_view op_name, DTypeSet dtypes) {
  KernelsByDType removed;  // closures end without the lock
  {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(op_name);
    if (found == kernels_.end()) return;
    KernelsByDType& kernels = MutableLocked(found->second);
    for (int i = 0; i < kNumDTypes; ++i) {
      if (dtypes.Contains(static_cast<DType>(i))) std::swap(kernels[i], removed[i]);
    }
    if (found->second.later != nullptr) {
      auto later = std::make_shared<KernelsByDType>(*found->second.later);
      for (int i = 0; i < kNumDTypes; ++i) {
        if (dtypes.Contains(static_cast<DType>(i))) (*later)[i] = Kernel();
      }
      found->second.later = std::move(later);
    }
    found->second.is_changed = true;
  }
  runtime().OpChanged(op_name);
}

Status KernelOpHandler::AddKernels(std::span<const KernelEntry> entries, DTypeSet supported) {
  for (const KernelEntry& entry : entries) {
    if (entry.function == nullptr) continue;
    const DTypeSet dtypes = entry.dtypes.IsEmpty() ? DTypeSet{DType::kInvalid} : entry.dtypes & supported;
    if (dtypes.IsEmpty()) continue;
    Kernel kernel = Kernel(entry.function, entry.signature).WithCost(entry.cost);
    TANDEM_RETURN_IF_ERROR(AddKernel(std::string_view(entry.op_name), dtypes, std::move(kernel)));
  }
  return Status();
}

Status KernelOpHandler::AddKernel(std::string_view op_name, Kernel kernel) {
  return AddKernel(op_name, DTypeSet{DType::kInvalid}, std::move(kernel));
}

Status KernelOpHandler::AddKernel(const char* op_name, DTypeSet dtypes, Kernel&& kernel) {
  return AddKernel(std::string_view(op_name), dtypes, std::move(kernel));
}

Status KernelOpHandler::AddKernel(const char* op_name, Kernel&& kernel) {
  return AddKernel(std::string_view(op_name), std::move(kernel));
}

bool KernelOpHandler::HasKernel(std::string_view op_name, DType dtype) const {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(op_name);
  return found != kernels_.end() && HasKernel(found->second, dtype);
}

bool KernelOpHandler::HasKernel(const Table& table, DType dtype) {
  const auto i = static_cast<size_t>(dtype);
  return (*table.kernels)[i].IsValid() || (table.later != nullptr && (*table.later)[i].IsValid());
}

void KernelOpHandler::Postpone(LaterKernels::DTypesOf dtypes_of, std::function<void()> fetch) {
  const std::lock_guard lock(mutex_);
  assert(later_ == nullptr);
  later_ = std::make_unique<LaterKernels>(std::move(fetch));
  for (auto& [op_name, table] : kernels_) {
    const DTypeSet dtypes = dtypes_of(op_name);
    if (dtypes.IsEmpty()) continue;
    auto later = std::make_shared<KernelsByDType>();
    KernelsByDType& kernels = MutableLocked(table);
    for (int i = 0; i < kNumDTypes; ++i) {
      if (dtypes.Contains(static_cast<DType>(i))) std::swap(kernels[i], (*later)[i]);
    }
    if (std::ranges::any_of(*later, &Kernel::IsValid)) table.later = std::move(later);
  }
}

void KernelOpHandler::PostponedKernelsCame() {
  if (later_ == nullptr || later_->IsHere()) return;
  std::vector<std::string_view> changed;  // names live as long as the table
  {
    const std::lock_guard lock(mutex_);
    for (auto& [op_name, table] : kernels_) {
      if (table.later == nullptr) continue;
      KernelsByDType& kernels = MutableLocked(table);
      for (int i = 0; i < kNumDTypes; ++i) {
        if ((*table.later)[i].IsValid()) kernels[i] = (*table.later)[i];
      }
      table.later.reset();
      changed.push_back(op_name);
    }
  }
  for (const std::string_view op_name : changed) runtime().OpChanged(op_name);
  later_->Come();
}

StatusOr<Op> KernelOpHandler::MakeOp(std::string_view op_name) {
  std::shared_ptr<const OpDef> def = runtime().registry().FindShared(op_name);
  if (def == nullptr) return runtime().registry().NotFoundError(op_name);
  std::shared_ptr<const KernelsByDType> kernels;
  std::shared_ptr<const KernelsByDType> later;
  DTypeSet own;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(op_name);
    if (found != kernels_.end() &&
        (found->second.later != nullptr || std::ranges::any_of(*found->second.kernels, &Kernel::IsValid))) {
      found->second.is_resolved = true;
      kernels = found->second.kernels;
      later = found->second.later;
      own = found->second.FindOwn(*def);
    }
  }
  StatusOr<Op> fallback_op = MakeFallbackOp(def);
  // Other errors are no answer to whether the fallback has the op.
  if (!fallback_op.ok() && fallback_op.status().code() != StatusCode::kUnimplemented) return fallback_op;
  const bool transfers = fallback_op.ok() && TransfersTo(*fallback());
  if (kernels == nullptr && transfers) {
    // So that calls are checked here, before anything is transferred (MD-6).
    kernels = std::make_shared<const KernelsByDType>();
  }
  if (kernels == nullptr) {
    if (fallback_op.ok()) return fallback_op;
    return MakeError(StatusCode::kUnimplemented, "op handler ", std::string_view(name()), " has no kernel for this op");
  }
  for (const Kernel& kernel : *kernels) {
    if (kernel.IsValid()) TANDEM_RETURN_IF_ERROR(CheckFits(kernel.signature(), *def));
  }
  for (int i = 0; i < kNumDTypes && later != nullptr; ++i) {
    if ((*later)[i].IsValid()) TANDEM_RETURN_IF_ERROR(CheckFits((*later)[i].signature(), *def));
  }
  RcRef<const OpImpl> fallback_impl;
  if (fallback_op.ok()) fallback_impl = fallback_op->impl();
  const DTypeSet fusable = FindFusable(*def, own);
  RcRef<const KernelOp> op = MakeRef<const KernelOp>(*this, std::move(def), std::move(kernels),
                                                     std::move(fallback_impl), policy_, own, fusable, std::move(later));
  if (!op) return Status::OutOfMemory();
  return Op(std::move(op));
}

DTypeSet KernelOpHandler::Table::FindOwn(const OpDef& def) const {
  DTypeSet own;
  if (is_changed || def.code != nullptr) return own;
  for (int i = 0; i < kNumDTypes; ++i) {
    const Kernel& kernel = (*kernels)[i];
    if (kernel.IsValid() && !kernel.has_code()) own.Insert(static_cast<DType>(i));
  }
  return own;
}

DTypeSet KernelOpHandler::FindFusable(const OpDef& def, DTypeSet own) const {
  DTypeSet fusable;
  // The results of devices that queue by themselves may come later than their kernels return.
  if (group_kernels_ == nullptr || !policy_.use_work_queue || def.kind != OpKind::kElementwise ||
      def.outputs.size() != 1) {
    return fusable;
  }
  const ElementwiseFuser* const fuser = this->fuser();
  if (fuser == nullptr) return own;
  if (!fuser->CanFuse(def, OpAttrsRef())) return fusable;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (own.Contains(dtype) && fuser->CanFuse(def, dtype)) fusable.Insert(dtype);
  }
  return fusable;
}

StatusOr<Op> KernelOpHandler::MakeGroupOp(std::shared_ptr<const ElementwiseGroup> group) {
  const ElementwiseFuser* const fuser = this->fuser();
  return fuser == nullptr ? OpHandler::MakeGroupOp(std::move(group)) : fuser->MakeOp(*this, std::move(group));
}

StatusOr<Op> KernelOpHandler::MakeOpOf(std::shared_ptr<const OpDef> def, const Kernel& kernel) {
  TANDEM_RETURN_IF_ERROR(CheckContexts(def->name, kernel));
  TANDEM_RETURN_IF_ERROR(CheckFits(kernel.signature(), *def));
  auto kernels = std::make_shared<KernelsByDType>();
  kernels->fill(kernel);
  RcRef<const KernelOp> op = MakeRef<const KernelOp>(*this, std::move(def), std::move(kernels), nullptr, policy_);
  if (!op) return Status::OutOfMemory();
  return Op(std::move(op));
}

bool KernelOpHandler::TransfersTo(const OpHandler& fallback) const {
  const Device* there = fallback.device();
  return there != nullptr && there != &device_ && policy_.transfer_for_fallback;
}

StatusOr<Op> KernelOpHandler::MakeFallbackOp(const std::shared_ptr<const OpDef>& def) {
  TANDEM_ASSIGN_OR_RETURN(Op op, fallback()->MakeOp(def->name));
  if (!TransfersTo(*fallback())) return op;
  RcRef<const OpImpl> transferring = MakeRef<const TransferringOp>(def, op.impl(), device_, *fallback()->device());
  if (!transferring) return Status::OutOfMemory();
  return Op(std::move(transferring));
}

}  // namespace tandem
