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

void OpHandler::Execute(std::string_view op_name, const OpInvocation& invocation) {
  const OpImpl* op = resolved_.Find(op_name);
  if (op == nullptr) [[unlikely]] {
    op = ResolveSlow(op_name, invocation);
    if (op == nullptr) return;
  }
  op->Invoke(invocation);
}

const OpImpl* OpHandler::ResolveSlow(std::string_view op_name, const OpInvocation& invocation) {
  StatusOr<Op> made = MakeOp(op_name);
  if (!made.ok()) {
    FailInvocation(invocation, op_name, made.status());
    return nullptr;
  }
  const OpImpl* op = resolved_.Insert(made->impl());
  if (op == nullptr) FailInvocation(invocation, op_name, Status::OutOfMemory());
  return op;
}

}  // namespace tandem
