// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpHandler: the interface of a device or of a layer over another handler; Op: an op bound to a handler.

#ifndef TANDEM_OP_HANDLER_H_
#define TANDEM_OP_HANDLER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "tandem/chain.h"
#include "tandem/dtype.h"
#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/function_ref.h"
#include "tandem/name_table.h"
#include "tandem/op_attrs.h"
#include "tandem/op_def.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor_handle.h"

namespace tandem {

class CoreRuntime;
class ElementwiseFuser;
class ElementwiseGroup;
class KernelOpHandler;
class OpHandler;

// One call. `args` are consumed (EX-2); `results` are filled (EX-3); `chain` may be null (CH-2).
struct OpInvocation {
  const ExecutionContext& exec;
  std::span<TensorHandle> args;
  const OpAttrsRef& attrs;
  std::span<TensorHandle> results;
  AsyncValueRef<Chain>* chain;
};

// The kernels of an op that its handler was made with, neither added by a library nor in place of removed ones: what
// the handler computes in another way, such as several ops as one, gives the same as these alone.
struct OwnKernels {
  const OpHandler* handler = nullptr;  // null: the op has none, or is not this handler's alone
  std::shared_ptr<const OpDef> def;    // by which the op was resolved
  DTypeSet dtypes;                     // by which they are looked up; kInvalid for ops without a type attribute
};

// What an Op does when called. Immutable after construction, so that any number of threads may invoke it at once.
class TANDEM_EXPORT OpImpl : public RefCounted<OpImpl> {
 public:
  // `name` is the definition's, which lives as long as the registry. An op whose code may go, such as that of an
  // OpLibrary, or which is made of one that is so, `is_removable`: it is dropped when it is outdated and its last call
  // has ended. Others are kept by the handlers that have called them by name.
  explicit OpImpl(std::string_view name, bool is_removable = false) : name_(name), is_removable_(is_removable) {}
  virtual ~OpImpl() = default;
  // Obeys EX, MD, DI and CH of the contract.
  virtual void Invoke(const OpInvocation& invocation) const = 0;
  // Where a call would move argument `i` of `num_args`, a tensor of this dtype on the host, before it computes: for who
  // calls often with one tensor, and moves it once. Null: nowhere, or that depends on the call.
  virtual const Device* WantedDevice(size_t /*i*/, size_t /*num_args*/, DType /*dtype*/) const { return nullptr; }
  // What of it a program may compute together with other ops (PR-5). An op that looks at each call has none.
  virtual OwnKernels own_kernels() const { return {}; }
  std::string_view name() const { return name_; }
  bool is_removable() const { return is_removable_; }

 private:
  friend class RefCounted<OpImpl>;
  friend class OpHandler;
  void Destroy() { delete this; }
  std::string_view name_;
  bool is_removable_;
  mutable std::atomic<bool> is_outdated_{false};  // calls by name resolve the op again
};

// A resolved op (EX-9): may be kept, copied and called from any thread while its runtime lives.
class Op {
 public:
  Op() = default;
  explicit Op(RcRef<const OpImpl> impl) : impl_(std::move(impl)) {}

  void operator()(const ExecutionContext& exec, std::span<TensorHandle> args, const OpAttrsRef& attrs,
                  std::span<TensorHandle> results, AsyncValueRef<Chain>* chain = nullptr) const {
    impl_->Invoke({exec, args, attrs, results, chain});
  }
  void operator()(const OpInvocation& invocation) const { impl_->Invoke(invocation); }

  bool IsValid() const { return static_cast<bool>(impl_); }
  std::string_view name() const { return impl_->name(); }
  const RcRef<const OpImpl>& impl() const { return impl_; }

 private:
  RcRef<const OpImpl> impl_;
};

// Thread-safe. Owned by the runtime it is added to.
class TANDEM_EXPORT OpHandler {
 public:
  // `fallback` is asked for ops this handler lacks; null only for the null handler. Both belong to `runtime`.
  OpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback);
  virtual ~OpHandler();
  OpHandler(const OpHandler&) = delete;
  OpHandler& operator=(const OpHandler&) = delete;

  // Resolves name, metadata function and kernel. One of the three errors of EX-4 if the op cannot run here.
  virtual StatusOr<Op> MakeOp(std::string_view op_name) = 0;

  // Whether this handler itself, rather than its fallback, runs the op for a kernel type of `dtype`, or kInvalid for
  // ops without one. Never, if it is one that looks at each op.
  virtual bool HasKernel(std::string_view op_name, DType dtype) const;

  // This handler, if kernels can be added to it; else null.
  virtual KernelOpHandler* kernel_handler() { return nullptr; }

  // How this handler computes groups of element-wise ops as one; null: it does not, as one that looks at each op.
  virtual const ElementwiseFuser* fuser() const { return nullptr; }
  // A group, made with this handler's fuser, as an op that is in no registry. Unimplemented without a fuser.
  virtual StatusOr<Op> MakeGroupOp(std::shared_ptr<const ElementwiseGroup> group);

  // Visits the ops that this handler runs, or may run, by calling `op_name`: they change when that changes. Default:
  // none. Called with a lock of the runtime: must not add or remove ops.
  virtual void VisitCallers(std::string_view op_name, FunctionRef<void(std::string_view)> visit) const;

  // Resolves by name, from a table after the first time and until the op changes, and invokes.
  void Execute(std::string_view op_name, const OpInvocation& invocation);

  // Where this handler's ops expect their arguments and leave their results; null if it has no device of its own.
  virtual const Device* device() const { return fallback_ == nullptr ? nullptr : fallback_->device(); }

  const std::string& name() const { return name_; }
  CoreRuntime& runtime() const { return runtime_; }
  OpHandler* fallback() const { return fallback_; }

 private:
  friend class CoreRuntime;
  class RemovableOp;
  static void Outdate(const OpImpl& op);
  [[gnu::noinline]] void ResolveAndExecute(std::string_view op_name, const OpInvocation& invocation);
  // The next call by this name resolves it anew.
  void Forget(std::string_view op_name);

  const std::string name_;
  CoreRuntime& runtime_;
  OpHandler* const fallback_;
  NameTable<const OpImpl> resolved_;
  // An op is put into the table if none was forgotten since it was made, and forgotten, under the mutex.
  std::mutex changes_mutex_;
  std::atomic<uint64_t> num_changes_{0};  // how often an op was forgotten
  // Of the runtime's list of all handlers.
  OpHandler* previous_ = nullptr;
  OpHandler* next_ = nullptr;
};

// Makes every result and the chain, if given, one and the same error, drops the arguments and tells the diagnostic
// handler (EX-2, EX-3). `error` gets the op and the call's location where it lacks them.
TANDEM_EXPORT void FailInvocation(const OpInvocation& invocation, std::string_view op_name, Status error);

// The end of every chain of handlers: knows no op, and says why an op cannot run (EX-4).
TANDEM_EXPORT std::unique_ptr<OpHandler> CreateNullOpHandler(CoreRuntime& runtime);

}  // namespace tandem

#endif  // TANDEM_OP_HANDLER_H_
