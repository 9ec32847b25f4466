// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelOpHandler: an op handler made of a device and a table of kernels; the base of every device's handler.

#ifndef TANDEM_KERNEL_OP_HANDLER_H_
#define TANDEM_KERNEL_OP_HANDLER_H_

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "tandem/elementwise_group.h"
#include "tandem/export.h"
#include "tandem/kernel.h"
#include "tandem/later_kernels.h"
#include "tandem/op_handler.h"

namespace tandem {

// The kernels of one op, by the dtype of its kernel type attribute (OpDef::kernel_type_attr); ops without one use
// DType::kInvalid.
using KernelsByDType = std::array<Kernel, kNumDTypes>;

class GroupKernels;

// Thread-safe.
class TANDEM_EXPORT KernelOpHandler : public OpHandler {
 public:
  // How the device wants its ops to be run.
  struct Policy {
    // Whether long kernels go to the work queue. False for devices that queue by themselves (DI-4).
    bool use_work_queue = true;
    // Whether an op that only the fallback can run may have its arguments moved to the fallback's device and its
    // results back; otherwise arguments on another device are an error (EX-13).
    bool transfer_for_fallback = false;
    // Whether arguments on the host are moved to the device, and host inputs on the device to the host, each by an
    // explicit transfer; otherwise they are an error (EX-13).
    bool take_host_tensors = false;
  };

  // `device` outlives the handler.
  KernelOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback, const Device& device,
                  Policy policy);
  ~KernelOpHandler() override;

  // Adds a kernel for the dtypes. AlreadyExists if one of them has a kernel; FailedPrecondition if the kernel takes
  // what the handler does not provide. The op need not be defined yet; whether the kernel's arguments and results fit
  // the definition is checked when the op is resolved.
  Status AddKernel(std::string_view op_name, DTypeSet dtypes, Kernel kernel);
  // For ops without a type attribute.
  Status AddKernel(std::string_view op_name, Kernel kernel);
  // The same for literals, as nearly all names are: calls that take less code.
  Status AddKernel(const char* op_name, DTypeSet dtypes, Kernel&& kernel);
  Status AddKernel(const char* op_name, Kernel&& kernel);
  // The same for each entry of a table, up to the first error; dtypes that are not `supported` are left out.
  Status AddKernels(std::span<const KernelEntry> entries, DTypeSet supported = DTypeSet::All());

  // Takes the op's kernels for the dtypes away; nothing where there are none. Calls by name see it at once, ops made
  // before keep their kernels (OR-3).
  void RemoveKernels(std::string_view op_name, DTypeSet dtypes);

  // Of the kernels that are there, those for `dtypes_of` an op are not run before their code has come: calls of them
  // are checked, and then stay pending. Once, before ops are made.
  void Postpone(LaterKernels::DTypesOf dtypes_of, std::function<void()> fetch);
  // Null unless kernels were postponed.
  LaterKernels* later_kernels() const { return later_.get(); }
  // Their code is here: from now on they are kernels as all others, and the calls that wait run.
  void PostponedKernelsCame();

  bool HasKernel(std::string_view op_name, DType dtype) const override;

  StatusOr<Op> MakeOp(std::string_view op_name) override;
  StatusOr<Op> MakeGroupOp(std::shared_ptr<const ElementwiseGroup> group) override;
  // An op that this kernel runs for every dtype, whatever kernels the handler has, and that is in no table of it.
  // FailedPrecondition if the kernel takes what the handler does not provide, Internal if it does not fit `def`.
  StatusOr<Op> MakeOpOf(std::shared_ptr<const OpDef> def, const Kernel& kernel);

  // Once, before ops are made, or at any time after PostponeFuser; then calls by name see it at once, and of those by
  // ops that were made before, all but the ones that wait together with a call that it cannot compute.
  void SetFuser(std::unique_ptr<const ElementwiseFuser> fuser);
  // The same for groups of programs alone, not of calls: where there is none yet, and before programs are prepared.
  void SetProgramFuser(std::unique_ptr<const ElementwiseFuser> fuser);
  // For a fuser that is fetched when it would first be of use: `want` is told then, once, on the thread of a call that
  // runs alone for want of it. Before ops are made; takes the place of a fuser that there is.
  void PostponeFuser(std::function<void()> want);
  KernelOpHandler* kernel_handler() override { return this; }
  const ElementwiseFuser* fuser() const override { return fuser_.load(std::memory_order_acquire); }
  // The groups of calls that this handler has run as one; null without a fuser of theirs, here or to come.
  GroupKernels* group_kernels() { return group_kernels_.get(); }

  const Device* device() const override { return &device_; }
  // What the handler provides to its kernels as this; null if it does not. Not for kernels, which take it as a
  // parameter.
  void* FindContext(const KernelContext& context) const;

 protected:
  // Lets kernels take a T& (DI-4a). For the constructors of derived classes, at most kMaxContexts times; `object` lives
  // as long as the handler.
  template <typename T>
  void Provide(T& object) {
    AddContext(T::kKernelContext, &object);
  }
  static constexpr size_t kMaxContexts = 4;

 private:
  void AddContext(const KernelContext& context, void* object);
  Status CheckContexts(std::string_view op_name, const Kernel& kernel) const;
  // Whether ops of the fallback get their arguments, and give their results, by transfers.
  bool TransfersTo(const OpHandler& fallback) const;
  // Of these dtypes, those for which the fuser computes what this handler's own kernels of the op do; all that it
  // might, if it is to come.
  DTypeSet FindFusable(const OpDef& def, DTypeSet own) const;
  StatusOr<Op> MakeFallbackOp(const std::shared_ptr<const OpDef>& def);

  struct Provided {
    const KernelContext* context = nullptr;
    void* object = nullptr;
  };
  // Immutable once an op was resolved from it; a later change makes a new one.
  struct Table {
    std::shared_ptr<KernelsByDType> kernels;
    std::shared_ptr<const KernelsByDType> later;  // whose code is not here yet; mostly null
    bool is_resolved = false;
    bool is_changed = false;  // kernels were removed, so that others may be in their place
    // See OwnKernels. Kernels with code of a library are none.
    DTypeSet FindOwn(const OpDef& def) const;
  };
  KernelsByDType& MutableLocked(Table& table);
  static bool HasKernel(const Table& table, DType dtype);

  const Device& device_;
  const Policy policy_;
  std::unique_ptr<const ElementwiseFuser> owned_fuser_;
  std::atomic<const ElementwiseFuser*> fuser_{nullptr};
  std::unique_ptr<GroupKernels> group_kernels_;
  std::unique_ptr<LaterKernels> later_;
  std::array<Provided, kMaxContexts> provided_;  // null behind the last one
  mutable std::mutex mutex_;
  std::map<std::string, Table, std::less<>> kernels_;
};

}  // namespace tandem

#endif  // TANDEM_KERNEL_OP_HANDLER_H_
