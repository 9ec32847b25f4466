// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What stands behind a tandem_plugin: an op library while its own function fills it.

#ifndef TANDEM_BINDINGS_PLUGIN_PLUGIN_LIBRARY_H_
#define TANDEM_BINDINGS_PLUGIN_PLUGIN_LIBRARY_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shared_library.h"
#include "tandem/core_runtime.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/op_library.h"
#include "tandem_plugin.h"

namespace tandem::plugin {

// Of a plug-in: its shared library, null if it is part of the program, and what is called before that goes.
class Code {
 public:
  explicit Code(std::shared_ptr<const SharedLibrary> library) : library_(std::move(library)) {}
  ~Code() {
    if (unload_ != nullptr) unload_(user_);
  }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  // Before others use it. False if there is one.
  bool SetUnload(tandem_plugin_destroy unload, void* user) {
    if (unload_ != nullptr) return false;
    unload_ = unload;
    user_ = user;
    return true;
  }

 private:
  const std::shared_ptr<const SharedLibrary> library_;
  tandem_plugin_destroy unload_ = nullptr;
  void* user_ = nullptr;
};

// The op handlers of a runtime that plug-ins have added.
class PluginHandlers final : public SharedContext {
 public:
  std::vector<KernelOpHandler*> handlers;  // guarded by who fills libraries, one at a time
};

// Has `fill` add to `library`. What it added before it failed is the library's to remove; new op handlers can be found
// after success alone. One library of a runtime at a time.
Status FillLibrary(CoreRuntime& runtime, OpLibrary& library, Code& code, tandem_op_library_init fill, void* user);

}  // namespace tandem::plugin

// While the function runs.
struct tandem_plugin {
 public:
  tandem_plugin(tandem::CoreRuntime& runtime, tandem::OpLibrary& library, tandem::plugin::Code& code)
      : runtime_(runtime), library_(library), code_(code) {}
  tandem_plugin(const tandem_plugin&) = delete;
  tandem_plugin& operator=(const tandem_plugin&) = delete;

  tandem::Status Define(const tandem_plugin_op_def& op);
  tandem::Status AddKernel(const tandem_plugin_kernel_def& kernel);
  tandem::Status AddHandler(std::string_view name, std::string_view fallback);
  tandem::Status SetUnload(tandem_plugin_destroy unload, void* user);
  // Makes the new op handlers findable, all or none.
  tandem::Status AddHandlersToRuntime();

 private:
  tandem::StatusOr<tandem::OpHandler*> FindHandler(std::string_view name) const;

  tandem::CoreRuntime& runtime_;
  tandem::OpLibrary& library_;
  tandem::plugin::Code& code_;
  std::vector<std::unique_ptr<tandem::KernelOpHandler>> handlers_;
};

#endif  // TANDEM_BINDINGS_PLUGIN_PLUGIN_LIBRARY_H_
