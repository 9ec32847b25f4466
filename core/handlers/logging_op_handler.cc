// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Lines of text for op calls, and for results when they come.

#include "tandem/logging_op_handler.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

#include "tandem/host_context.h"
#include "tandem/host_tensors.h"

namespace tandem {

namespace {

// Outlives the handler while results that are to be printed are pending. Hears of the transfers that calls make.
class Log final : public TransferObserver {
 public:
  explicit Log(LoggingOptions options) : options_(std::move(options)) {}

  int64_t NextNumber() { return next_.fetch_add(1, std::memory_order_relaxed) + 1; }
  bool synchronous() const { return options_.synchronous; }

  void WriteCall(int64_t number, std::string_view op, const OpInvocation& invocation) {
    {
      MessageBuilder line;
      line.Append("[", number, "] ", op);
      if (!invocation.attrs.empty()) line.Append(" ", invocation.attrs);
      Write(line.view());
    }
    for (size_t i = 0; i < invocation.args.size(); ++i) WriteHandle(number, "input", i, invocation.args[i]);
  }

  // Also when the result comes, without waiting for it.
  void WriteResult(int64_t number, size_t i, const TensorHandle& result) {
    if (!result.IsValid() || result.IsAvailable()) return WriteHandle(number, "output", i, result);
    // The waiter has a handle of its own, which keeps the result from being taken over until it is printed.
    auto write = [log = RcRef<Log>::Share(this), number, i, handle = result.CopyRef()] {
      log->WriteHandle(number, "output", i, handle);
    };
    if (!result.value().AndThen(std::move(write))) WriteHandle(number, "output", i, result);
  }

  void OnTransfer(const TensorHandle& source, const TensorHandle& result, std::string_view attrs) override {
    const int64_t number = NextNumber();
    {
      MessageBuilder line;
      line.Append("[", number, "] tandem.Transfer ", attrs);
      Write(line.view());
    }
    WriteHandle(number, "input", 0, source);
    WriteResult(number, 0, result);
  }

  void WriteHandle(int64_t number, std::string_view what, size_t i, const TensorHandle& handle) {
    MessageBuilder line;
    line.Append("[", number, "]   ", what, " ", i, ": ");
    if (handle.IsValid() && handle.IsConcrete()) {
      AppendTensor(line, handle.tensor(), options_.max_elements);
    } else {
      line.Append(handle);
    }
    Write(line.view());
  }

 private:
  void Write(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (options_.sink) options_.sink(line);
  }

  const LoggingOptions options_;
  std::atomic<int64_t> next_{0};
  std::mutex mutex_;
};

// Of a handler over another that logs, too.
class Both final : public TransferObserver {
 public:
  Both(RcRef<TransferObserver> outer, RcRef<TransferObserver> inner)
      : outer_(std::move(outer)), inner_(std::move(inner)) {}
  void OnTransfer(const TensorHandle& source, const TensorHandle& result, std::string_view attrs) override {
    outer_->OnTransfer(source, result, attrs);
    inner_->OnTransfer(source, result, attrs);
  }

 private:
  const RcRef<TransferObserver> outer_;
  const RcRef<TransferObserver> inner_;
};

class LoggingOp final : public OpImpl {
 public:
  LoggingOp(RcRef<const OpImpl> op, RcRef<Log> log)
      : OpImpl(op->name(), op->is_removable()), op_(std::move(op)), log_(std::move(log)) {}

  void Invoke(const OpInvocation& invocation) const override {
    const int64_t number = log_->NextNumber();
    log_->WriteCall(number, name(), invocation);
    const ExecutionContext exec = Observed(invocation.exec);
    op_->Invoke({exec, invocation.args, invocation.attrs, invocation.results, invocation.chain});
    for (size_t i = 0; i < invocation.results.size(); ++i) {
      const TensorHandle& result = invocation.results[i];
      if (log_->synchronous()) {
        // What keeps the wait from ending is not the op's error; the line then shows the result as pending.
        static_cast<void>(exec.host().Await(result));
        log_->WriteHandle(number, "output", i, result);
      } else {
        log_->WriteResult(number, i, result);
      }
    }
  }

 private:
  ExecutionContext Observed(const ExecutionContext& exec) const {
    RcRef<TransferObserver> observer = log_;
    if (TransferObserver* outer = exec.transfer_observer()) {
      RcRef<TransferObserver> both = MakeRef<Both>(RcRef<TransferObserver>::Share(outer), log_);
      if (both) observer = std::move(both);
    }
    return exec.WithTransferObserver(std::move(observer));
  }

  const RcRef<const OpImpl> op_;
  const RcRef<Log> log_;
};

class LoggingOpHandler final : public OpHandler {
 public:
  LoggingOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& delegate, RcRef<Log> log)
      : OpHandler(name, runtime, &delegate), log_(std::move(log)) {}

  StatusOr<Op> MakeOp(std::string_view op_name) override {
    TANDEM_ASSIGN_OR_RETURN(Op op, fallback()->MakeOp(op_name));
    RcRef<const OpImpl> logging = MakeRef<const LoggingOp>(op.impl(), log_);
    if (!logging) return Status::OutOfMemory();
    return Op(std::move(logging));
  }

 private:
  const RcRef<Log> log_;
};

template <typename T>
void AppendElement(MessageBuilder& out, T value) {
  if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
    out.Append(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    out.Append("(", value.real(), ", ", value.imag(), ")");
  } else {
    out.Append(value);
  }
}

void AppendElementAt(MessageBuilder& out, const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
#define TANDEM_APPEND_ELEMENT(name, type) \
  case DType::name:                       \
    return AppendElement(out, static_cast<const type*>(tensor.data())[i]);
    TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_APPEND_ELEMENT)
#undef TANDEM_APPEND_ELEMENT
    case DType::kString:
      return AppendQuoted(out, StringHostView(tensor)[i]);
    case DType::kInvalid:
      return;
  }
}

}  // namespace

void AppendTensor(MessageBuilder& out, const Tensor& tensor, int max_elements) {
  out.Append(tensor.metadata());
  if (tensor.IsA(kSparseCooHost)) {
    const SparseCooView sparse(tensor);
    out.Append(" sparse, indices ");
    AppendTensor(out, sparse.indices(), max_elements);
    out.Append(", values ");
    return AppendTensor(out, sparse.values(), max_elements);
  }
  if (tensor.IsA(kScalarHost)) {
    out.Append(" = all ");
    return AppendElementAt(out, tensor, 0);
  }
  if (!tensor.IsA(kDenseHost) && !tensor.IsA(kStringHost)) {
    out.Append(" as ", tensor.type().name());
    return;
  }
  out.Append(" = [");
  const int64_t shown = std::clamp<int64_t>(max_elements, 0, tensor.num_elements());
  for (int64_t i = 0; i < shown && out.view().size() < MessageBuilder::kCapacity; ++i) {
    if (i > 0) out.Append(", ");
    AppendElementAt(out, tensor, i);
  }
  if (shown < tensor.num_elements()) out.Append(shown > 0 ? ", ..." : "...");
  out.Append("]");
}

std::unique_ptr<OpHandler> CreateLoggingOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& delegate,
                                                  LoggingOptions options) {
  return std::make_unique<LoggingOpHandler>(name, runtime, delegate, MakeRef<Log>(std::move(options)));
}

}  // namespace tandem
