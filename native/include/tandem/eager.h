// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C++ face: a runtime, tensors that may be copied and passed around, and typed op functions (tandem/ops.h).
//
//   TANDEM_ASSIGN_OR_RETURN(auto runtime, tandem::eager::Runtime::Create());
//   auto x = runtime->FromValues<float>({1, 2, 3, 4}, {2, 2});
//   auto y = relu(matMul(x, x, {.transpose_b = true}) + 1);
//   TANDEM_ASSIGN_OR_RETURN(std::span<const float> values, y.Values<float>());
//
// Nothing throws. An op that cannot run gives an error tensor, which makes every op that depends on it an error; the
// first error is what `Await` or `Values` returns, with the location of the call that caused it.

#ifndef TANDEM_EAGER_H_
#define TANDEM_EAGER_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>

#include "tandem/argument_dtypes.h"
#include "tandem/call_scope.h"
#include "tandem/core_runtime.h"
#include "tandem/eager_tensor.h"
#include "tandem/export.h"
#include "tandem/host_tensors.h"
#include "tandem/name_table.h"
#include "tandem/operand.h"
#include "tandem/operators.h"

namespace tandem::eager {

class Runtime;

// Tensors of the shape with all elements 0, 1 or `value`, dense on the host. For the dtype kInvalid `value` decides it
// as an argument of its own would: f32 for floating-point numbers. An error tensor if it does not fit.
TANDEM_EXPORT Tensor zeros(Runtime& runtime, const TensorShape& shape, DType dtype = DType::kF32,
                           std::source_location where = std::source_location::current());
TANDEM_EXPORT Tensor ones(Runtime& runtime, const TensorShape& shape, DType dtype = DType::kF32,
                          std::source_location where = std::source_location::current());
TANDEM_EXPORT Tensor full(Runtime& runtime, const TensorShape& shape, const Operand& value,
                          DType dtype = DType::kInvalid, std::source_location where = std::source_location::current());

// A CoreRuntime with its CPU handler, and with every op defined. Thread-safe.
class TANDEM_EXPORT Runtime {
 public:
  // Every member has a default.
  struct Options {
    // Threads for long ops; 0: one per core. 1 still is a thread of its own.
    int num_threads = 0;
    // Where long ops run, instead of on so many threads.
    std::unique_ptr<WorkQueue> work_queue = nullptr;
    size_t memory_limit = SIZE_MAX;  // bytes of tensor data
    std::function<void(const Status&)> on_diagnostic = nullptr;
    std::function<void(std::string_view)> print = nullptr;  // default: standard output
    // Exact mode (NU-3): results of the CPU are the same bits on every processor, instruction set and C library,
    // WebAssembly included; see HostContext::Options. Other devices compute as ever.
    bool exact = false;
    // Whether calls of element-wise ops that wait for each other may be computed as one (PR-6), with the same results;
    // see HostContext::Options.
    bool fuse = true;
  };
  static StatusOr<std::unique_ptr<Runtime>> Create(Options options);
  static StatusOr<std::unique_ptr<Runtime>> Create() { return Create(Options()); }
  ~Runtime();

  CoreRuntime& core() { return *core_; }
  HostContext& host() { return core_->host(); }
  // What calls run on: the CPU's handler at first.
  OpHandler& handler() { return *handler_; }
  // Must not run beside calls. `handler` is of this runtime: `core().FindHandler("cpu")`, or one that was added to it.
  void UseHandler(OpHandler& handler) { handler_ = &handler; }

  // A scope in which the calls of this thread run under `options`; see CallScope.
  CallScope With(CallOptions options) { return CallScope(*this, std::move(options)); }

  // What a call runs under at this place of this thread.
  ExecutionContext CallContext(std::source_location where) {
    const CallScope* const scope = CallScope::Find(*this);
    return scope == nullptr ? ExecutionContext(host(), where) : scope->Context(where);
  }

  // A tensor with a copy of `values`, row-major. An error tensor if their number is not the shape's.
  template <typename T>
  Tensor FromValues(std::span<const T> values, const TensorShape& shape,
                    std::source_location where = std::source_location::current()) {
    return FromBytes(kDTypeOf<T>, std::as_bytes(values), shape, where);
  }
  template <typename T>
  Tensor FromValues(std::initializer_list<T> values, const TensorShape& shape,
                    std::source_location where = std::source_location::current()) {
    return FromValues(std::span(values.begin(), values.size()), shape, where);
  }
  template <typename T>
  Tensor Scalar(T value, std::source_location where = std::source_location::current()) {
    return FromValues(std::span<const T>(&value, 1), {}, where);
  }
  Tensor FromStrings(std::span<const std::string_view> strings, const TensorShape& shape,
                     std::source_location where = std::source_location::current());
  Tensor FromBytes(DType dtype, std::span<const std::byte> bytes, const TensorShape& shape,
                   std::source_location where = std::source_location::current());
  // A tensor over the caller's memory, without copying; `release` is called once nobody uses it any more. The memory
  // must not change before. Of bool, bytes other than 0 and 1 are an error here, and copied as 1 by FromBytes.
  Tensor Wrap(DType dtype, std::span<const std::byte> bytes, const TensorShape& shape, std::function<void()> release,
              std::source_location where = std::source_location::current());
  // A tensor of another library, by DLPack, without copying where its layout allows that, on the host or the device of
  // an op handler; see tandem/dlpack.h. On a device it is what `stream`, or the default stream, has been given so far.
  Tensor FromDlpack(DLManagedTensorVersioned* managed, std::source_location where = std::source_location::current());
  Tensor FromDlpack(DLManagedTensor* managed, std::source_location where = std::source_location::current());
  Tensor FromDlpack(DLManagedTensorVersioned* managed, int64_t stream,
                    std::source_location where = std::source_location::current());
  Tensor FromDlpack(DLManagedTensor* managed, int64_t stream,
                    std::source_location where = std::source_location::current());

  // Runs an op by name, in the scope around the call. Where `chain` is null, the chain is the scope's, if it has one.
  Tensor Execute(std::string_view op, std::initializer_list<Operand*> operands, const OpAttrsRef& attrs,
                 std::source_location where = std::source_location::current());
  void Execute(std::string_view op, std::span<Operand* const> operands, const OpAttrsRef& attrs,
               std::span<Tensor> results, AsyncValueRef<Chain>* chain,
               std::source_location where = std::source_location::current());

 private:
  friend Tensor full(Runtime& runtime, const TensorShape& shape, const Operand& value, DType dtype,
                     std::source_location where);
  class KnownOp;

  Runtime();
  Tensor FromCore(StatusOr<tandem::Tensor> tensor, std::source_location where);
  StatusOr<tandem::Tensor> MakeFull(const TensorShape& shape, const Operand& value, DType dtype);
  // Null if there is no op of that name.
  std::shared_ptr<const OpDef> FindDef(std::string_view op);
  // Makes the arguments of `operands` that are no tensors; the others are in `args` already.
  void MakeArguments(const ExecutionContext& exec, std::string_view op, std::span<Operand* const> operands,
                     const OpAttrsRef& attrs, std::span<TensorHandle> args);
  // `def` is null if there is no such op.
  TensorHandle MakeArgument(const ExecutionContext& exec, std::string_view op, const OpDef* def, const Operand& operand,
                            const ArgumentDType& inferred, std::span<const TensorHandle> args);

  std::unique_ptr<CoreRuntime> core_;
  OpHandler* handler_ = nullptr;
  NameTable<const KnownOp> known_ops_;  // the definitions, found without a lock
};

}  // namespace tandem::eager

#endif  // TANDEM_EAGER_H_
