// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Handlers by name, and the entry of op calls.

#include "tandem/core_runtime.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tandem {

SharedContext::~SharedContext() = default;

CoreRuntime::CoreRuntime(HostContext::Options options) : host_(std::move(options)) {
  null_handler_ = AddHandler(CreateNullOpHandler(*this));
}

CoreRuntime::~CoreRuntime() {
  // What is pending refers to handlers and definitions, so it ends before they do.
  host_.Shutdown();
  // A handler may use those added before it.
  while (!handlers_.empty()) handlers_.pop_back();
}

void CoreRuntime::Attach(OpHandler& handler) {
  const std::lock_guard lock(attached_mutex_);
  handler.next_ = attached_;
  if (attached_ != nullptr) attached_->previous_ = &handler;
  attached_ = &handler;
}

void CoreRuntime::Detach(OpHandler& handler) {
  const std::lock_guard lock(attached_mutex_);
  (handler.previous_ == nullptr ? attached_ : handler.previous_->next_) = handler.next_;
  if (handler.next_ != nullptr) handler.next_->previous_ = handler.previous_;
}

void CoreRuntime::OpChanged(std::string_view op_name) {
  std::vector<std::string> changed = {std::string(op_name)};
  const std::lock_guard lock(attached_mutex_);
  for (size_t i = 0; i < changed.size(); ++i) {
    const std::string name = changed[i];
    for (OpHandler* handler = attached_; handler != nullptr; handler = handler->next_) {
      handler->Forget(name);
      handler->VisitCallers(name, [&changed](std::string_view caller) {
        if (std::ranges::find(changed, caller) == changed.end()) changed.emplace_back(caller);
      });
    }
  }
}

OpHandler* CoreRuntime::AddHandler(std::unique_ptr<OpHandler> handler) {
  const std::lock_guard lock(mutex_);
  handlers_.push_back(std::move(handler));
  OpHandler* const added = handlers_.back().get();
  handler_names_.try_emplace(added->name(), added);
  return added;
}

bool CoreRuntime::AddHandlerName(std::string_view name, OpHandler& handler) {
  const std::lock_guard lock(mutex_);
  return handler_names_.try_emplace(std::string(name), &handler).second;
}

OpHandler* CoreRuntime::FindHandler(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = handler_names_.find(name);
  return found == handler_names_.end() ? nullptr : found->second;
}

Status CoreRuntime::HandlerNotFoundError(std::string_view name) const {
  MessageBuilder names;
  const std::lock_guard lock(mutex_);
  for (const auto& [known, handler] : handler_names_) names.Append(names.view().empty() ? "" : ", ", known);
  return MakeError(StatusCode::kNotFound, "expected the name of an op handler, one of ", names.view(), ", got ", name);
}

RcRef<SharedContext> CoreRuntime::GetOrCreateSharedContext(const void* key, SharedContext* (*make)()) {
  const std::lock_guard lock(mutex_);
  RcRef<SharedContext>& context = shared_contexts_[key];
  if (!context) context = RcRef<SharedContext>::Take(make());
  return context;
}

void CoreRuntime::Execute(const ExecutionContext& exec, std::string_view op_name, OpHandler* op_handler,
                          std::span<TensorHandle> arguments, const OpAttrsRef& attrs, std::span<TensorHandle> results,
                          AsyncValueRef<Chain>* chain) {
  const OpInvocation invocation = {exec, arguments, attrs, results, chain};
  if (op_handler == nullptr) [[unlikely]] {
    return FailInvocation(invocation, op_name, InvalidArgument("expected an op handler, got null"));
  }
  op_handler->Execute(op_name, invocation);
}

StatusOr<Op> CoreRuntime::MakeOp(std::string_view op_name, OpHandler* op_handler) {
  if (op_handler == nullptr) {
    return InvalidArgument("expected an op handler, got null").WithContext(op_name, Location());
  }
  StatusOr<Op> op = op_handler->MakeOp(op_name);
  if (op.ok()) return op;
  return op.status().WithContext(op_name, Location());
}

}  // namespace tandem
