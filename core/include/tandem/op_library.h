// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpLibrary: definitions and kernels that come together and go together.

#ifndef TANDEM_OP_LIBRARY_H_
#define TANDEM_OP_LIBRARY_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/chain.h"
#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/kernel_op_handler.h"

namespace tandem {

// Ops of one origin, such as a shared library or a script, in a runtime that outlives this, as do its handlers (OR-3).
// Thread-safe.
class TANDEM_EXPORT OpLibrary {
 public:
  // `code` is what metadata functions and kernels need to stay loaded, such as the handle of a shared library. It is
  // dropped after the last call of them, and after the last op made of them and whatever they were closures over.
  explicit OpLibrary(CoreRuntime& runtime, std::shared_ptr<const void> code = nullptr);
  // Removes all, and waits for nothing.
  ~OpLibrary();
  OpLibrary(const OpLibrary&) = delete;
  OpLibrary& operator=(const OpLibrary&) = delete;

  // As OpRegistry::Register and KernelOpHandler::AddKernel; FailedPrecondition after Remove. What was added before
  // another call failed stays until Remove.
  Status Define(const OpDefBuilder& builder);
  Status AddKernel(KernelOpHandler& handler, std::string_view op_name, DTypeSet dtypes, Kernel kernel);
  Status AddKernel(KernelOpHandler& handler, std::string_view op_name, Kernel kernel);

  // What keeps the library in use, as a call of it does: for what is to outlive a kernel, such as work of its own. Null
  // after Remove. Not to be dropped by the code of the library.
  std::shared_ptr<const void> in_use();

  // Takes everything away: calls by name see it at once; those that run or are pending end as they would have, and ops
  // made before go on. The result is available when none of these is left and `code` has been dropped, on the thread
  // that did it; wait for it by HostContext::Await, but not in a kernel of the library. Later calls give the same.
  AsyncValueRef<Chain> Remove();

 private:
  struct Added {
    KernelOpHandler* handler;
    std::string op_name;
    DTypeSet dtypes;
  };

  CoreRuntime& runtime_;
  std::mutex mutex_;
  // Kept by what is added; null after Remove.
  std::shared_ptr<const void> in_use_;
  AsyncValueRef<Chain> unused_;
  std::vector<std::string> defined_;
  std::vector<Added> added_;
};

}  // namespace tandem

#endif  // TANDEM_OP_LIBRARY_H_
