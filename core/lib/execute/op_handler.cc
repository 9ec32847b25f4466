// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls by name, and calls that fail.

#include "tandem/op_handler.h"

#include <utility>

#include "tandem/core_runtime.h"
#include "tandem/elementwise_group.h"
#include "tandem/host_context.h"

namespace tandem {

void FailInvocation(const OpInvocation& invocation, std::string_view op_name, Status error) {
  error = invocation.exec.host().EmitError(error.WithContext(op_name, invocation.exec.location()));
  const AsyncValueRef<Tensor> value = AsyncValueRef<Tensor>::MakeError(std::move(error));
  for (TensorHandle& result : invocation.results) result = TensorHandle(value.CopyRef(), nullptr);
  if (invocation.chain != nullptr) *invocation.chain = AsyncValueRef<Chain>(RcRef<AsyncValue>::Share(value.value()));
  for (TensorHandle& arg : invocation.args) arg.reset();
}

// An op in the table of a handler that can be taken out of it, though whoever finds it there holds no reference: calls
// are counted, and the last one to end after the op was outdated drops it.
class OpHandler::RemovableOp final : public OpImpl {
 public:
  RemovableOp(OpHandler& handler, RcRef<const OpImpl> op)
      : OpImpl(op->name(), /*is_removable=*/true), handler_(handler), op_(std::move(op).release()) {}
  ~RemovableOp() override { Drop(); }

  void Invoke(const OpInvocation& invocation) const override {
    const bool is_closed = (calls_.fetch_add(1, std::memory_order_acq_rel) & kClosed) != 0;
    if (!is_closed) [[likely]]
      op_.load(std::memory_order_relaxed)->Invoke(invocation);
    if (calls_.fetch_sub(1, std::memory_order_acq_rel) == (kClosed | 1)) Drop();
    if (is_closed) handler_.Execute(name(), invocation);
  }

  void Close() const {
    if (calls_.fetch_or(kClosed, std::memory_order_acq_rel) == 0) Drop();
  }

 private:
  static constexpr uint32_t kClosed = uint32_t{1} << 31;

  // More than once, where calls come that find it closed.
  void Drop() const {
    if (const OpImpl* op = op_.exchange(nullptr, std::memory_order_acq_rel)) op->DropRef();
  }

  OpHandler& handler_;
  mutable std::atomic<uint32_t> calls_{0};
  mutable std::atomic<const OpImpl*> op_;
};

OpHandler::OpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback)
    : name_(name), runtime_(runtime), fallback_(fallback) {
  runtime_.Attach(*this);
}

OpHandler::~OpHandler() { runtime_.Detach(*this); }

bool OpHandler::HasKernel(std::string_view, DType) const { return false; }

void OpHandler::VisitCallers(std::string_view, FunctionRef<void(std::string_view)>) const {}

StatusOr<Op> OpHandler::MakeGroupOp(std::shared_ptr<const ElementwiseGroup>) {
  return MakeError(StatusCode::kUnimplemented, "op handler ", std::string_view(name_), " computes no groups of ops");
}

void OpHandler::Execute(std::string_view op_name, const OpInvocation& invocation) {
  const OpImpl* op = resolved_.Find(op_name);
  // Both ways are the last that is done, so that nothing has to be kept over them.
  if (op == nullptr || op->is_outdated_.load(std::memory_order_acquire)) [[unlikely]] {
    return ResolveAndExecute(op_name, invocation);
  }
  op->Invoke(invocation);
}

void OpHandler::ResolveAndExecute(std::string_view op_name, const OpInvocation& invocation) {
  const OpImpl* op = nullptr;
  while (op == nullptr) {
    const uint64_t num_changes = num_changes_.load(std::memory_order_acquire);
    const StatusOr<Op> made = MakeOp(op_name);
    if (!made.ok()) return FailInvocation(invocation, op_name, made.status());
    RcRef<const OpImpl> impl = made->impl();
    if (impl->is_removable()) impl = MakeRef<const RemovableOp>(*this, std::move(impl));
    if (!impl) return FailInvocation(invocation, op_name, Status::OutOfMemory());
    const auto is_outdated = [](const OpImpl& op) { return op.is_outdated_.load(std::memory_order_acquire); };
    bool is_current = false;
    {
      // What has changed since may be this op: nobody is to find it then.
      const std::lock_guard lock(changes_mutex_);
      is_current = num_changes_.load(std::memory_order_relaxed) == num_changes;
      if (is_current) op = resolved_.Insert(std::move(impl), is_outdated);
    }
    if (is_current && op == nullptr) return FailInvocation(invocation, op_name, Status::OutOfMemory());
  }
  // No reference is kept over the call: a library that is removed waits for the last one.
  op->Invoke(invocation);
}

void OpHandler::Outdate(const OpImpl& op) {
  op.is_outdated_.store(true, std::memory_order_release);
  if (op.is_removable()) static_cast<const RemovableOp&>(op).Close();
}

void OpHandler::Forget(std::string_view op_name) {
  const OpImpl* op = nullptr;
  {
    const std::lock_guard lock(changes_mutex_);
    num_changes_.fetch_add(1, std::memory_order_acq_rel);
    op = resolved_.Find(op_name);
  }
  // What is put into the table from here on was made after the change.
  if (op != nullptr) Outdate(*op);
}

}  // namespace tandem
