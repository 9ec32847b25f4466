// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CoreRuntime: op definitions, op handlers and the host they share; the place op calls enter.

#ifndef TANDEM_CORE_RUNTIME_H_
#define TANDEM_CORE_RUNTIME_H_

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tandem/export.h"
#include "tandem/host_context.h"
#include "tandem/op_handler.h"
#include "tandem/op_registry.h"
#include "tandem/ref_counted.h"

namespace tandem {

// What a part of the system keeps for a runtime: an object of a class derived from this, at most one of each class.
class TANDEM_EXPORT SharedContext : public RefCounted<SharedContext> {
 public:
  virtual ~SharedContext();
};

// Thread-safe. Several may live in a process (WQ-3). Tensor handles may outlive their runtime, but then may only be
// destroyed; pending ops are cancelled by the destructor.
class TANDEM_EXPORT CoreRuntime {
 public:
  explicit CoreRuntime(HostContext::Options options);
  ~CoreRuntime();
  CoreRuntime(const CoreRuntime&) = delete;
  CoreRuntime& operator=(const CoreRuntime&) = delete;

  HostContext& host() { return host_; }
  OpRegistry& registry() { return registry_; }

  // Takes ownership and makes the handler findable by its name. The first registration of a name wins: a later one
  // is kept alive, and works where it is used directly, but is not findable (OH-5).
  OpHandler* AddHandler(std::unique_ptr<OpHandler> handler);
  // Makes a handler of this runtime findable by a further name, unless the name is taken (OH-5): whether it was free.
  bool AddHandlerName(std::string_view name, OpHandler& handler);
  // Null if there is none.
  OpHandler* FindHandler(std::string_view name) const;
  // NotFound, which lists the names that there are.
  Status HandlerNotFoundError(std::string_view name) const;
  // Always there (OH-2).
  OpHandler& null_handler() { return *null_handler_; }

  // The runtime's object of the class, made by its default constructor for whoever asks first. Null if memory is
  // exhausted. The runtime's own reference goes after its op handlers.
  template <typename T>
  RcRef<T> GetOrCreateSharedContext() {
    static_assert(std::is_base_of_v<SharedContext, T>);
    RcRef<SharedContext> found = GetOrCreateSharedContext(
        &kSharedContextKey<T>, [] { return static_cast<SharedContext*>(new (std::nothrow) T); });
    return RcRef<T>::Take(static_cast<T*>(found.release()));
  }

  // Has the next call of the op by its name resolve it anew, on every handler: its definition or kernels have changed
  // (OR-3). Ops made before stay as they are. Op handlers call it.
  void OpChanged(std::string_view op_name);

  // Executes an op by name. See the contract's section EX. `op_handler` null is an InvalidArgument error.
  void Execute(std::string_view op_name, OpHandler* op_handler, Location loc, std::span<TensorHandle> arguments,
               const OpAttrsRef& attrs, std::span<TensorHandle> results, AsyncValueRef<Chain>* chain = nullptr) {
    Execute(ExecutionContext(host_, loc), op_name, op_handler, arguments, attrs, results, chain);
  }
  void Execute(const ExecutionContext& exec, std::string_view op_name, OpHandler* op_handler,
               std::span<TensorHandle> arguments, const OpAttrsRef& attrs, std::span<TensorHandle> results,
               AsyncValueRef<Chain>* chain = nullptr);

  // Resolves an op once, for calling it many times (EX-9).
  StatusOr<Op> MakeOp(std::string_view op_name, OpHandler* op_handler);

 private:
  friend class OpHandler;
  template <typename T>
  static constexpr char kSharedContextKey = 0;  // its address stands for the class
  RcRef<SharedContext> GetOrCreateSharedContext(const void* key, SharedContext* (*make)());
  void Attach(OpHandler& handler);
  void Detach(OpHandler& handler);

  HostContext host_;
  OpRegistry registry_;
  OpHandler* null_handler_;
  mutable std::mutex mutex_;
  std::map<const void*, RcRef<SharedContext>> shared_contexts_;
  std::vector<std::unique_ptr<OpHandler>> handlers_;  // in order of addition
  std::map<std::string, OpHandler*, std::less<>> handler_names_;
  // All of the runtime's, linked, whether added or not.
  std::mutex attached_mutex_;
  OpHandler* attached_ = nullptr;
};

}  // namespace tandem

#endif  // TANDEM_CORE_RUNTIME_H_
