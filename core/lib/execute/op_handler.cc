// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls by name, and calls that fail.

#include "tandem/op_handler.h"

#include "tandem/core_runtime.h"
#include "tandem/host_context.h"

namespace tandem {

void FailInvocation(const OpInvocation& invocation, std::string_view op_name, Status error) {
  error = invocation.exec.host().EmitError(error.WithContext(op_name, invocation.exec.location()));
  const AsyncValueRef<Tensor> value = AsyncValueRef<Tensor>::MakeError(std::move(error));
  for (TensorHandle& result : invocation.results) result = TensorHandle(value.CopyRef(), nullptr);
  if (invocation.chain != nullptr) *invocation.chain = AsyncValueRef<Chain>(RcRef<AsyncValue>::Share(value.value()));
  for (TensorHandle& arg : invocation.args) arg.reset();
}

OpHandler::OpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback)
    : name_(name), runtime_(runtime), fallback_(fallback) {
  runtime_.Attach(*this);
}

OpHandler::~OpHandler() { runtime_.Detach(*this); }

void OpHandler::Execute(std::string_view op_name, const OpInvocation& invocation) {
  const OpImpl* op = resolved_.Find(op_name);
  if (op == nullptr || op->is_outdated_.load(std::memory_order_acquire)) [[unlikely]] {
    op = ResolveSlow(op_name, invocation);
    if (op == nullptr) return;
  }
  op->Invoke(invocation);
}

const OpImpl* OpHandler::ResolveSlow(std::string_view op_name, const OpInvocation& invocation) {
  for (;;) {
    const uint64_t num_changes = num_changes_.load(std::memory_order_acquire);
    const StatusOr<Op> made = MakeOp(op_name);
    if (!made.ok()) {
      FailInvocation(invocation, op_name, made.status());
      return nullptr;
    }
    const auto is_outdated = [](const OpImpl& op) { return op.is_outdated_.load(std::memory_order_acquire); };
    const OpImpl* op = resolved_.Insert(made->impl(), is_outdated);
    if (op == nullptr) {
      FailInvocation(invocation, op_name, Status::OutOfMemory());
      return nullptr;
    }
    // What has changed since may be this op, which nobody has found in the table.
    if (num_changes_.load(std::memory_order_acquire) == num_changes) return op;
    op->is_outdated_.store(true, std::memory_order_release);
  }
}

void OpHandler::Forget(std::string_view op_name) {
  num_changes_.fetch_add(1, std::memory_order_acq_rel);
  if (const OpImpl* op = resolved_.Find(op_name)) op->is_outdated_.store(true, std::memory_order_release);
}

}  // namespace tandem
