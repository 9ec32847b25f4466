// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LoadOpHandler: op handlers that are in modules of their own, loaded when they are asked for, so that one program
// serves machines with and without what they need.

#ifndef TANDEM_OP_HANDLER_MODULE_H_
#define TANDEM_OP_HANDLER_MODULE_H_

#include <string_view>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/host_tensors.h"
#include "tandem/op_attrs.h"
#include "tandem/op_handler.h"
#include "tandem/status.h"
#include "tandem/version.h"

namespace tandem {

// Loads a module, has it make its op handler and adds that to the runtime, which owns it; the module stays in the
// process. `module` is a name, such as "vulkan", for the file libtandem_vulkan.so.0.1 beside the library, with the
// library's own version at its end, or, if it has a slash, the path of a file. `fallback` runs the ops that the handler
// has no kernel for (OH-2); null: such calls are errors. `settings` are the module's own; see tandem/vulkan.h for those
// of "vulkan".
//
// NotFound if there is no such module, or no device for it; FailedPrecondition if the module is of another version, is
// none, or the program links the static library; InvalidArgument for settings that the module does not know;
// Unimplemented in WebAssembly. Thread-safe.
TANDEM_EXPORT StatusOr<OpHandler*> LoadOpHandler(CoreRuntime& runtime, std::string_view module,
                                                 OpHandler* fallback = nullptr, const OpAttrsRef& settings = {});

// What a module has: makes the handler and adds it to the runtime.
using CreateOpHandler = StatusOr<OpHandler*> (*)(CoreRuntime& runtime, OpHandler* fallback, const OpAttrsRef& settings);

// Reads settings for a module, each by its name. What is not there leaves the value alone; integers and text are taken
// as OpAttrs has them.
//
//   TANDEM_RETURN_IF_ERROR(HandlerSettings(settings).Read("device", device).Read("memory_limit", limit).Finish());
class HandlerSettings {
 public:
  explicit HandlerSettings(const OpAttrsRef& settings) : settings_(settings) {}

  template <AttrValue T>
  HandlerSettings& Read(std::string_view name, T& value) {
    const std::span<const AttrEntry> entries = settings_.entries();
    for (size_t i = 0; i < entries.size() && i < kMost; ++i) {
      if (entries[i].name != name) continue;
      known_ |= uint64_t{1} << i;
      if (error_.ok() && !internal::GetAttr(&entries[i], &value)) {
        error_ = InvalidArgument("expected the setting ", name, " as ", AttrTypeName(AttrTypeOf<T>::value), ", got ",
                                 entries[i].is_array ? "a list of " : "", AttrTypeName(entries[i].type));
      }
    }
    return *this;
  }
  // An error for the first setting of another type, or else for one that was not read.
  Status Finish() const {
    const std::span<const AttrEntry> entries = settings_.entries();
    for (size_t i = 0; i < entries.size() && error_.ok(); ++i) {
      const bool is_known = i < kMost && (known_ >> i & 1) != 0;
      if (!is_known) return InvalidArgument("expected settings that the handler has, got ", entries[i].name);
    }
    return settings_.out_of_memory() ? Status::OutOfMemory() : error_;
  }

 private:
  static constexpr size_t kMost = 64;
  const OpAttrsRef& settings_;
  uint64_t known_ = 0;  // a bit for each entry
  Status error_;
};

namespace internal {

// What goes between a library and a module. The members up to `file` never change, so that a module of any version can
// refuse a library of any other.
struct OpHandlerModuleCall {
  const char* version;           // of the library
  const TensorType* dense_host;  // the library's; another one in the module means that there are two libraries
  const char* file;              // of the module, without its folder
  CoreRuntime* runtime;
  OpHandler* fallback;
  const OpAttrsRef* settings;
  OpHandler* handler = nullptr;  // the result, if `error` is ok
  Status error;
};
using OpHandlerModuleEntry = void (*)(OpHandlerModuleCall* call);
inline constexpr char kOpHandlerModuleSymbol[] = "tandem_op_handler_module";

// In the module, whose own version and kDenseHost these are.
inline void AnswerOpHandlerModuleCall(OpHandlerModuleCall& call, CreateOpHandler create) {
  if (std::string_view(call.version) != TANDEM_VERSION_STRING) {
    call.error =
        FailedPrecondition("expected ", call.file, " of version ", call.version, ", got ", TANDEM_VERSION_STRING);
  } else if (call.dense_host != &kDenseHost) {
    call.error = FailedPrecondition(
        "expected a program that links the shared library, got one that has another copy of Tandem in it");
  } else {
    const StatusOr<OpHandler*> made = create(*call.runtime, call.fallback, *call.settings);
    made.ok() ? static_cast<void>(call.handler = *made) : static_cast<void>(call.error = made.status());
  }
}

}  // namespace internal

// The module's entry, once in a module: `create` is a CreateOpHandler.
#define TANDEM_OP_HANDLER_MODULE(create)                                                                  \
  extern "C" TANDEM_EXPORT void tandem_op_handler_module(::tandem::internal::OpHandlerModuleCall* call);  \
  extern "C" TANDEM_EXPORT void tandem_op_handler_module(::tandem::internal::OpHandlerModuleCall* call) { \
    ::tandem::internal::AnswerOpHandlerModuleCall(*call, create);                                         \
  }                                                                                                       \
  static_assert(true)

}  // namespace tandem

#endif  // TANDEM_OP_HANDLER_MODULE_H_
