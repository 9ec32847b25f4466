// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Definitions, kernels and op handlers as C gives them.

#include "plugin_library.h"

#include <algorithm>

#include "plugin_call.h"
#include "tandem/kernel.h"
#include "tandem/op_def.h"

using tandem::FailedPrecondition;
using tandem::InvalidArgument;
using tandem::MakeError;
using tandem::OpHandler;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;

namespace tandem::plugin {

namespace {

// One of `handlers`, or null.
KernelOpHandler* FindIn(const std::vector<KernelOpHandler*>& handlers, const OpHandler* handler) {
  const auto found = std::ranges::find_if(handlers, [handler](const OpHandler* one) { return one == handler; });
  return found == handlers.end() ? nullptr : *found;
}

// The specs of a list that ends with a null, or is one.
template <typename Add>
void ForEachSpec(const char* const* specs, Add add) {
  for (size_t i = 0; specs != nullptr && specs[i] != nullptr; ++i) add(i, std::string_view(specs[i]));
}

constexpr uint64_t kAllDTypes = (uint64_t{1} << kNumDTypes) - 2;

StatusOr<DTypeSet> DTypesOf(uint64_t bits) {
  if ((bits & ~kAllDTypes) != 0) return InvalidArgument("expected dtypes of tandem.h, got the bits ", bits);
  DTypeSet dtypes;
  for (int i = 1; i < kNumDTypes; ++i) {
    if ((bits >> i & 1) != 0) dtypes.Insert(static_cast<DType>(i));
  }
  if (dtypes.IsEmpty()) dtypes.Insert(DType::kInvalid);
  return dtypes;
}

}  // namespace

Status FillLibrary(CoreRuntime& runtime, OpLibrary& library, Code& code, tandem_op_library_init fill, void* user) {
  tandem_plugin plugin(runtime, library, code);
  Status status = FromC(fill(&Api(), &plugin, user));
  if (status.ok()) status = plugin.AddHandlersToRuntime();
  // Its kernels go before a handler that is not the runtime's.
  if (!status.ok()) static_cast<void>(library.Remove());
  return status;
}

}  // namespace tandem::plugin

Status tandem_plugin::Define(const tandem_plugin_op_def& op) {
  const auto user = std::make_shared<const tandem::plugin::User>(op.user, op.destroy);
  if (op.name == nullptr) return InvalidArgument("expected the name of an op, got null");
  if ((op.flags & ~TANDEM_OP_SIDE_EFFECTS) != 0) {
    return InvalidArgument("op ", op.name, ": expected flags of tandem_plugin.h, got ", op.flags);
  }
  tandem::OpDefBuilder builder{std::string_view(op.name)};
  using tandem::plugin::ForEachSpec;
  ForEachSpec(op.inputs, [&](size_t i, std::string_view spec) {
    const bool is_host = i < 32 && (op.host_inputs >> i & 1) != 0;
    is_host ? builder.HostInput(spec) : builder.Input(spec);
  });
  ForEachSpec(op.outputs, [&](size_t, std::string_view spec) { builder.Output(spec); });
  ForEachSpec(op.attrs, [&](size_t, std::string_view spec) { builder.Attr(spec); });
  if (op.doc != nullptr) builder.Doc(std::string_view(op.doc));
  if ((op.flags & TANDEM_OP_SIDE_EFFECTS) != 0) builder.SideEffects();
  if (op.metadata != nullptr) {
    const tandem::plugin::MetadataClosure closure = {op.metadata, user, &runtime_};
    builder.Metadata(&tandem::plugin::CallMetadata, std::make_shared<const tandem::plugin::MetadataClosure>(closure));
  }
  return library_.Define(builder);
}

StatusOr<OpHandler*> tandem_plugin::FindHandler(std::string_view name) const {
  for (const auto& handler : handlers_) {
    if (handler->name() == name) return static_cast<OpHandler*>(handler.get());
  }
  if (OpHandler* const handler = runtime_.FindHandler(name)) return handler;
  return runtime_.HandlerNotFoundError(name);
}

Status tandem_plugin::AddKernel(const tandem_plugin_kernel_def& kernel) {
  const auto user = std::make_shared<const tandem::plugin::User>(kernel.user, kernel.destroy);
  if (kernel.op == nullptr) return InvalidArgument("expected the name of an op, got null");
  if (kernel.run == nullptr) return InvalidArgument("expected a kernel of ", kernel.op, ", got null");
  if (!(kernel.cost >= 0))
    return InvalidArgument("expected a cost of 0 or more for ", kernel.op, ", got ", kernel.cost);
  TANDEM_ASSIGN_OR_RETURN(const tandem::DTypeSet dtypes, tandem::plugin::DTypesOf(kernel.dtypes));
  TANDEM_ASSIGN_OR_RETURN(OpHandler* const handler, FindHandler(kernel.handler == nullptr ? "cpu" : kernel.handler));
  tandem::KernelOpHandler* const kernels = handler->kernel_handler();
  if (kernels == nullptr || kernels->device() != &runtime_.host().device()) {
    return MakeError(StatusCode::kUnimplemented, "expected an op handler with kernels for the host's memory for ",
                     kernel.op, ", got ", std::string_view(handler->name()));
  }
  const tandem::plugin::KernelClosure closure = {kernel.run, library_.in_use(), user};
  tandem::Kernel made(&tandem::plugin::CallKernel, std::make_shared<const tandem::plugin::KernelClosure>(closure),
                      tandem::KernelSignature());
  if (kernel.cost > 0) made = std::move(made).WithCost(kernel.cost);
  return library_.AddKernel(*kernels, kernel.op, dtypes, std::move(made));
}

Status tandem_plugin::AddHandler(std::string_view name, std::string_view fallback) {
  const auto ours = runtime_.GetOrCreateSharedContext<tandem::plugin::PluginHandlers>();
  if (!ours) return Status::OutOfMemory();
  TANDEM_ASSIGN_OR_RETURN(OpHandler* const below, FindHandler(fallback));
  if (OpHandler* const handler = runtime_.FindHandler(name)) {
    if (tandem::plugin::FindIn(ours->handlers, handler) != nullptr && handler->fallback() == below) return Status();
    return MakeError(StatusCode::kAlreadyExists, "expected the name of a new op handler, got ", name);
  }
  if (name.empty()) return InvalidArgument("expected the name of an op handler, got an empty text");
  if (FindHandler(name).ok()) return MakeError(StatusCode::kAlreadyExists, "op handler ", name, " is added already");
  if (below->device() != &runtime_.host().device()) {
    return MakeError(StatusCode::kUnimplemented, "expected a fallback in the host's memory for op handler ", name,
                     ", got ", fallback);
  }
  handlers_.push_back(std::make_unique<tandem::KernelOpHandler>(name, runtime_, below, runtime_.host().device(),
                                                                tandem::KernelOpHandler::Policy()));
  return Status();
}

Status tandem_plugin::SetUnload(tandem_plugin_destroy unload, void* user) {
  if (unload == nullptr) return InvalidArgument("expected a function to call before unloading, got null");
  if (code_.SetUnload(unload, user)) return Status();
  return FailedPrecondition("there is a function to call before unloading already");
}

Status tandem_plugin::AddHandlersToRuntime() {
  const auto ours = runtime_.GetOrCreateSharedContext<tandem::plugin::PluginHandlers>();
  if (!ours) return Status::OutOfMemory();
  for (auto& handler : handlers_) {
    ours->handlers.push_back(handler.get());
    runtime_.AddHandler(std::move(handler));
  }
  return Status();
}
