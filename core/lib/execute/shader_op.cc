// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Who makes kernels of shaders is found by the handler, of which no type information is needed.

#include "tandem/shader_op.h"

#include <memory>
#include <mutex>
#include <utility>

#include "tandem/core_runtime.h"

namespace tandem {

namespace {

// The op handlers of a runtime that run shaders. Thread-safe.
class ShaderOpHandlers final : public SharedContext {
 public:
  struct Entry {
    KernelOpHandler* handler = nullptr;
    ShaderKernelMaker* maker = nullptr;
  };

  void Add(const Entry& entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(entry);
  }
  void Remove(const KernelOpHandler& handler) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&handler](const Entry& entry) { return entry.handler == &handler; });
  }
  // Null members if it runs no shaders.
  Entry Find(const OpHandler& handler) const {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (static_cast<const OpHandler*>(entry.handler) == &handler) return entry;
    }
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace

bool AddShaderOpHandler(KernelOpHandler& handler, ShaderKernelMaker& maker) {
  const auto handlers = handler.runtime().GetOrCreateSharedContext<ShaderOpHandlers>();
  if (handlers) handlers->Add({&handler, &maker});
  return static_cast<bool>(handlers);
}

void RemoveShaderOpHandler(KernelOpHandler& handler) {
  const auto handlers = handler.runtime().GetOrCreateSharedContext<ShaderOpHandlers>();
  if (handlers) handlers->Remove(handler);
}

Status AddShaderKernel(OpLibrary& library, OpHandler& handler, std::string_view op_name, const ShaderKernel& kernel) {
  CoreRuntime& runtime = handler.runtime();
  const auto handlers = runtime.GetOrCreateSharedContext<ShaderOpHandlers>();
  if (!handlers) return Status::OutOfMemory();
  const auto [kernels, maker] = handlers->Find(handler);
  if (maker == nullptr) {
    return MakeError(StatusCode::kUnimplemented, "expected an op handler that runs shaders for ", op_name, ", got ",
                     std::string_view(handler.name()));
  }
  const std::shared_ptr<const OpDef> def = runtime.registry().FindShared(op_name);
  if (def == nullptr) return runtime.registry().NotFoundError(op_name);
  auto made = maker->MakeShaderKernel(*def, kernel);
  if (!made.ok()) return MakeError(made.status().code(), "op ", op_name, ": ", made.status().message());
  return library.AddKernel(*kernels, op_name, made->dtypes, std::move(made->kernel));
}

}  // namespace tandem
