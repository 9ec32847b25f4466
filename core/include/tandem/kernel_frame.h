// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelFrame: one call of a kernel, as the kernel sees it.

#ifndef TANDEM_KERNEL_FRAME_H_
#define TANDEM_KERNEL_FRAME_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "tandem/chain.h"
#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/function_ref.h"
#include "tandem/op_attrs.h"
#include "tandem/op_def.h"
#include "tandem/status.h"
#include "tandem/tensor.h"
#include "tandem/tensor_handle.h"

namespace tandem {

class KernelOpHandler;
class KernelRun;

// A class of objects that handlers provide to their kernels, such as a device with its stream (DI-4, DI-4a). The class
// has one as its member `static const KernelContext kKernelContext`, by whose address it is known.
struct KernelContext {
  std::string_view name;  // "a GPU device", for messages
};

// One call of a kernel. Lives for the call; used by the thread that runs the kernel.
class TANDEM_EXPORT KernelFrame {
 public:
  KernelFrame(const ExecutionContext& exec, KernelOpHandler& handler, const OpDef& def, std::span<TensorHandle> args,
              const OpAttrsRef& attrs, std::span<TensorValue* const> results)
      : results_(results), exec_(exec), handler_(handler), def_(def), args_(args), attrs_(attrs) {}
  KernelFrame(const KernelFrame&) = delete;
  KernelFrame& operator=(const KernelFrame&) = delete;
  ~KernelFrame() {
    if (late_ != nullptr) FreeLate();
  }

  const ExecutionContext& exec() const { return exec_; }
  HostContext& host() const { return exec_.host(); }
  // The handler whose kernel this is.
  KernelOpHandler& handler() const { return handler_; }
  // What the handler provides to its kernels as T (see KernelContext): T& as a kernel's parameter is the same.
  template <typename T>
  T& context() const {
    return *static_cast<T*>(FindContext(T::kKernelContext));
  }
  const OpDef& def() const { return def_; }
  const OpAttrsRef& attrs() const { return attrs_; }

  size_t num_args() const { return args_.size(); }
  const Tensor& arg(size_t i) const { return args_[i].tensor(); }

  size_t num_results() const { return results_.size(); }
  // Known if the op has a metadata function.
  const TensorMetadata& result_metadata(size_t i) const { return results_[i]->value().metadata(); }

  // The memory for dense host result `i`, uninitialised, by its metadata; null after an allocation failure, which is
  // then already the result's error.
  void* AllocateResult(size_t i);
  // The same, but taking over the memory of one of the `candidates` (argument positions) where TH-5 allows it: the
  // kernel must write each element after it has read the elements of all arguments that it is computed from.
  void* ForwardOrAllocateResult(size_t i, std::initializer_list<size_t> candidates);
  // Whether result `i` may take over the memory of argument `arg` (TH-5), which is dense on the result's device.
  bool MayTakeOver(size_t arg, size_t i) const;
  template <typename T>
  T* AllocateResult(size_t i) {
    return static_cast<T*>(AllocateResult(i));
  }
  template <typename T>
  T* ForwardOrAllocateResult(size_t i, std::initializer_list<size_t> candidates) {
    return static_cast<T*>(ForwardOrAllocateResult(i, candidates));
  }
  // Result `i` on any device: a dense tensor of its metadata, its content arbitrary, in the memory of one of the
  // `candidates` where TH-5 allows it, else in new memory of the device. SetResult takes it once the kernel has seen to
  // its content.
  StatusOr<Tensor> NewResult(size_t i, std::initializer_list<size_t> candidates = {});
  // Sets result `i`, whose dtype and shape must be what the metadata function said, if there is one.
  void SetResult(size_t i, Tensor tensor);
  // Result `i` becomes `value`, available later. The kernel keeps nothing of the frame.
  void SetResult(size_t i, AsyncValueRef<Tensor> value);
  void SetError(size_t i, Status error);
  // The effect of a side-effecting op ends when `chain` resolves rather than when the kernel returns.
  void SetChain(AsyncValueRef<Chain> chain) { chain_ = std::move(chain); }

  // Splits [0, n) over the work queue, about `cost_per_item` nanoseconds each; runs inline if that is not worth it.
  // False if the kernel is to end, because nobody wants its results any more (CA-4): then some of the items were left
  // out, and nothing that they were to compute may be used as an index or a size. Whatever the kernel gives after that
  // is discarded. Items of a millisecond or more ask KernelRun::IsStopped themselves.
  bool ParallelFor(int64_t n, double cost_per_item, FunctionRef<void(int64_t, int64_t)> fn) const;

  // An error once the host or the request was cancelled (CA-4), for kernels that return it; see also KernelRun.
  Status CheckActive() const;

 protected:
  // A result that is not simply a tensor by now: an error, or a value still to come.
  struct Late {
    size_t result;
    Status error;
    AsyncValueRef<Tensor> value;
    Late* next;
  };
  Late* FindLate(size_t i) const;
  void FreeLate();

  const std::span<TensorValue* const> results_;
  AsyncValueRef<Chain> chain_;
  const KernelRun* run_ = nullptr;  // in which this call's kernel is; null where it is too short to be stopped
  Late* late_ = nullptr;
  bool late_lost_ = false;  // memory for a Late could not be had: no result can be trusted

 private:
  void* FindContext(const KernelContext& context) const;
  bool AllocateDenseResult(size_t i);
  void AddLate(size_t i, Status error, AsyncValueRef<Tensor> value);

  const ExecutionContext& exec_;
  KernelOpHandler& handler_;
  const OpDef& def_;
  const std::span<TensorHandle> args_;
  const OpAttrsRef& attrs_;
};

}  // namespace tandem

#endif  // TANDEM_KERNEL_FRAME_H_
