// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelCall: a kernel's frame as the runtime has it: it runs the kernel, then ends results and chain.

#ifndef TANDEM_CORE_LIB_EXECUTE_KERNEL_CALL_H_
#define TANDEM_CORE_LIB_EXECUTE_KERNEL_CALL_H_

#include <chrono>
#include <utility>

#include "tandem/kernel.h"

namespace tandem {

// Errors are told to the diagnostic handler, each once.
class KernelCall final : public KernelFrame {
 public:
  using Clock = std::chrono::steady_clock;
  using MetadataValue = ConcreteAsyncValue<TensorMetadata>;
  using KernelFrame::KernelFrame;

  // Runs the kernel on concrete arguments, traced if tracing is on; `called` is when the op was issued, if that was
  // earlier. The kernel's own error is kept with op and location.
  void Run(const Kernel& kernel, Clock::time_point called);
  // The same for several calls at once: the kernel's error is kept without op and location, which are those of each.
  void RunAsOne(const Kernel& kernel, Clock::time_point called);
  // The same without tracing, and for a kernel too short to be stopped.
  void RunShort(const Kernel& kernel) {
    status_ = kernel.Run(*this);
    if (!status_.ok()) [[unlikely]]
      status_ = status_.WithContext(def().name, exec().location());
  }

  // These are for afterwards.

  const Status& status() const { return status_; }
  // Whether the kernel was stopped because nobody wants its results: then status() says why, and has been told.
  bool was_stopped() const { return is_told_; }
  // Whether result `i` has its value.
  bool IsPlain(size_t i) const {
    return status_.ok() && late_ == nullptr && !late_lost_ && results_[i]->value().HasPayload();
  }
  // Whether every result has, and the chain is not late. Then Publish does for FinishResult, and neither it nor
  // FinishChain uses the host or the definition.
  bool IsPlain() const;
  static void Publish(RcRef<TensorValue> value, RcRef<MetadataValue> metadata) {
    if (metadata) metadata->Emplace(value->value().metadata());
    value.release()->SetConcreteAndDropRef();
  }
  // Makes `value`, which is of result `i`, concrete or an error, now or when the kernel's own async value resolves.
  // `metadata`, if not null, is resolved first.
  void FinishResult(size_t i, RcRef<TensorValue> value, RcRef<MetadataValue> metadata);
  // The same for the chain of an op that has side effects or no results.
  void FinishChain(RcRef<ConcreteAsyncValue<Chain>> chain);
  // The chain of a call that ran when `before` had resolved.
  AsyncValueRef<Chain> ChainAfter(AsyncValueRef<Chain> before);
  // Tells an error of the whole call, if none has been.
  void TellOnce(const Status& error);

 private:
  Status RunUntilStopped(const Kernel& kernel);
  // Completes an error of one result, and tells it.
  Status Tell(const Status& error) const;

  Status status_;
  bool is_told_ = false;  // the kernel's own error
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_KERNEL_CALL_H_
