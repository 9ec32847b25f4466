// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernel: one device's code for an op, erased from a plain typed function; KernelFrame: one call of it.
//
// A kernel is a function (or a closure, see MakeKernel) whose parameters are, in any order:
//   DenseArg             next argument, as a dense tensor of the device; scalar host tensors are expanded
//   const Tensor&        next argument in whatever representation it has
//   VariadicArgs         all remaining arguments, dense
//   const OpAttrsRef&    attributes, with the definition's defaults
//   KernelFrame&         everything else: result metadata, allocation and forwarding, context
// and which returns one of
//   Status                           results were set through the frame; an error is the error of every result (DI-2)
//   StatusOr<Tensor>                 the only result
//   StatusOr<std::array<Tensor, N>>  all results
//   AsyncValueRef<Tensor>            the only result, maybe still pending (DI-5): whoever is to end it has its Producer
// Anything else fails to compile with one sentence that says so (DI-1). Optional inputs are variadic ones of length
// zero or one.

#ifndef TANDEM_KERNEL_H_
#define TANDEM_KERNEL_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tandem/chain.h"
#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/function_ref.h"
#include "tandem/host_tensors.h"
#include "tandem/op_attrs.h"
#include "tandem/op_def.h"
#include "tandem/small_array.h"
#include "tandem/tensor_handle.h"

namespace tandem {

class KernelRun;
class OpHandler;

// One call of a kernel. Lives for the call; used by the thread that runs the kernel.
class TANDEM_EXPORT KernelFrame {
 public:
  KernelFrame(const ExecutionContext& exec, OpHandler& handler, const OpDef& def, std::span<TensorHandle> args,
              const OpAttrsRef& attrs, std::span<TensorValue* const> results)
      : results_(results), exec_(exec), handler_(handler), def_(def), args_(args), attrs_(attrs) {}
  KernelFrame(const KernelFrame&) = delete;
  KernelFrame& operator=(const KernelFrame&) = delete;
  ~KernelFrame() {
    if (late_ != nullptr) FreeLate();
  }

  const ExecutionContext& exec() const { return exec_; }
  HostContext& host() const { return exec_.host(); }
  // The handler whose kernel this is: the way to a device's context (DI-4).
  OpHandler& handler() const { return handler_; }
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
  bool AllocateDenseResult(size_t i);
  void AddLate(size_t i, Status error, AsyncValueRef<Tensor> value);

  const ExecutionContext& exec_;
  OpHandler& handler_;
  const OpDef& def_;
  const std::span<TensorHandle> args_;
  const OpAttrsRef& attrs_;
};

// A dense tensor argument, as a kernel's parameter.
class DenseArg {
 public:
  explicit DenseArg(const Tensor& tensor) : tensor_(&tensor) {}
  const Tensor& tensor() const { return *tensor_; }
  const TensorMetadata& metadata() const { return tensor_->metadata(); }
  const TensorShape& shape() const { return tensor_->shape(); }
  DType dtype() const { return tensor_->dtype(); }
  int64_t size() const { return tensor_->num_elements(); }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(tensor_->data());
  }

 private:
  const Tensor* tensor_;
};

// What an op costs on one core, about nanoseconds, from metadata alone (EX-7).
struct CostModel {
  float per_element = 0.5f;  // of arguments and results
  // For costs that are not linear in the elements; overrides `per_element`.
  double (*estimate)(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) = nullptr;
};

// What a kernel relies on; checked against the definition when an op is resolved, so that calls need not check it.
struct KernelSignature {
  int num_args = 0;      // parameters that stand for one argument each
  int num_results = -1;  // -1: as many as the frame has
};

// An erased kernel. Immutable and copyable; copies share the closure.
class TANDEM_EXPORT Kernel {
 public:
  using Function = Status (*)(const void* closure, KernelFrame& frame);

  Kernel() = default;
  Kernel(Function function, std::shared_ptr<const void> closure, KernelSignature signature);
  Kernel(Function function, int num_args, int num_results);
  Kernel(const Kernel&);
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(const Kernel&);
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();

  Status Run(KernelFrame& frame) const { return function_(closure_.get(), frame); }
  bool IsValid() const { return function_ != nullptr; }
  const KernelSignature& signature() const { return signature_; }

  // This kernel itself, for what it is given to.
  Kernel&& WithCost(CostModel cost) &&;
  Kernel&& WithCost(float per_element) &&;
  const CostModel& cost() const { return cost_; }

  // Whether the kernel is for a call of the dtype it was added for. For any other, it is as if there were none.
  using Condition = bool (*)(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                             std::span<const TensorMetadata> results);
  Kernel&& OnlyIf(Condition condition) &&;
  Condition condition() const { return condition_; }  // null: for every call

 private:
  Function function_ = nullptr;
  std::shared_ptr<const void> closure_;
  CostModel cost_;
  Condition condition_ = nullptr;
  KernelSignature signature_;
};

// All remaining arguments of a variadic op, dense.
class VariadicArgs {
 public:
  explicit VariadicArgs(std::span<const Tensor* const> tensors) : tensors_(tensors) {}
  size_t size() const { return tensors_.size(); }
  DenseArg operator[](size_t i) const { return DenseArg(*tensors_[i]); }

 private:
  std::span<const Tensor* const> tensors_;
};

namespace internal {

// Keeps what an argument needs while the kernel runs. Take checks it, and says by `expands` whether Expand, which may
// need memory, is to be called once all have been taken (MD-6).
template <typename Parameter>
struct KernelParameter {
  static constexpr bool kValid = false;
};
template <>
struct KernelParameter<const Tensor&> {
  static constexpr bool kValid = true;
  Status Take(KernelFrame& frame, size_t& next, bool&) {
    tensor = &frame.arg(next++);
    return Status();
  }
  Status Expand(KernelFrame&) { return Status(); }
  const Tensor& Get(KernelFrame&) { return *tensor; }
  const Tensor* tensor;
};
// Ok if `frame.arg(i)` is a host tensor that is dense or can be expanded to that.
TANDEM_EXPORT Status CheckDense(const KernelFrame& frame, size_t i);
// `*dense`, which is ok by CheckDense, becomes a dense host tensor; `expanded` keeps the elements of one that was not.
TANDEM_EXPORT Status ExpandToDense(KernelFrame& frame, const Tensor** dense, std::optional<Tensor>& expanded);
template <>
struct KernelParameter<DenseArg> {
  static constexpr bool kValid = true;
  Status Take(KernelFrame& frame, size_t& next, bool& expands) {
    const size_t i = next++;
    tensor = &frame.arg(i);
    if (tensor->IsA(kDenseHost)) [[likely]]
      return Status();
    expands = true;
    return CheckDense(frame, i);
  }
  Status Expand(KernelFrame& frame) { return ExpandToDense(frame, &tensor, expanded); }
  DenseArg Get(KernelFrame&) { return DenseArg(*tensor); }
  const Tensor* tensor;
  std::optional<Tensor> expanded;
};
template <>
struct TANDEM_EXPORT KernelParameter<VariadicArgs> {
  static constexpr bool kValid = true;
  Status Take(KernelFrame& frame, size_t& next, bool& expands);
  Status Expand(KernelFrame& frame);
  VariadicArgs Get(KernelFrame&) { return VariadicArgs(tensors.span()); }
  size_t first = 0;
  SmallArray<const Tensor*, 8> tensors;
  std::unique_ptr<std::optional<Tensor>[]> expanded;  // only if one of them is a scalar host tensor
};
template <>
struct KernelParameter<const OpAttrsRef&> {
  static constexpr bool kValid = true;
  Status Take(KernelFrame&, size_t&, bool&) { return Status(); }
  Status Expand(KernelFrame&) { return Status(); }
  const OpAttrsRef& Get(KernelFrame& frame) { return frame.attrs(); }
};
template <>
struct KernelParameter<KernelFrame&> {
  static constexpr bool kValid = true;
  Status Take(KernelFrame&, size_t&, bool&) { return Status(); }
  Status Expand(KernelFrame&) { return Status(); }
  KernelFrame& Get(KernelFrame& frame) { return frame; }
};

template <typename Result>
struct KernelResult {
  static constexpr bool kValid = false;
};
template <>
struct KernelResult<Status> {
  static constexpr bool kValid = true;
  static constexpr int kCount = -1;
  static Status Store(KernelFrame&, Status status) { return status; }
};
template <>
struct KernelResult<StatusOr<Tensor>> {
  static constexpr bool kValid = true;
  static constexpr int kCount = 1;
  static Status Store(KernelFrame& frame, StatusOr<Tensor> result) {
    if (!result.ok()) return result.status();
    frame.SetResult(0, std::move(*result));
    return Status();
  }
};
template <size_t N>
struct KernelResult<StatusOr<std::array<Tensor, N>>> {
  static constexpr bool kValid = true;
  static constexpr int kCount = N;
  static Status Store(KernelFrame& frame, StatusOr<std::array<Tensor, N>> results) {
    if (!results.ok()) return results.status();
    for (size_t i = 0; i < N; ++i) frame.SetResult(i, std::move((*results)[i]));
    return Status();
  }
};
template <>
struct KernelResult<AsyncValueRef<Tensor>> {
  static constexpr bool kValid = true;
  static constexpr int kCount = 1;
  static Status Store(KernelFrame& frame, AsyncValueRef<Tensor> result) {
    frame.SetResult(0, std::move(result));
    return Status();
  }
};

// Whether every parameter that takes an argument comes before the one that takes all that are left.
template <typename... Parameters>
constexpr bool RemainingTensorsAreLast() {
  bool all_taken = false;
  bool in_order = true;
  const auto visit = [&]<typename Parameter>(std::type_identity<Parameter>) {
    constexpr bool kTakesRest = std::is_same_v<Parameter, VariadicArgs>;
    constexpr bool kTakesOne = std::is_same_v<Parameter, DenseArg> || std::is_same_v<Parameter, const Tensor&>;
    in_order = in_order && !(all_taken && (kTakesRest || kTakesOne));
    all_taken = all_taken || kTakesRest;
  };
  (visit(std::type_identity<Parameters>()), ...);
  return in_order;
}

template <typename Result, typename... Parameters>
struct KernelAdapter {
  static constexpr bool kHasValidParameters = (KernelParameter<Parameters>::kValid && ...);
  static constexpr bool kHasValidResult = KernelResult<Result>::kValid;
  static_assert(kHasValidParameters,
                "a kernel takes DenseArg, const Tensor&, VariadicArgs, const OpAttrsRef& or KernelFrame&");
  static_assert(RemainingTensorsAreLast<Parameters...>(),
                "in a kernel no DenseArg, const Tensor& or second VariadicArgs may follow a VariadicArgs, which takes "
                "all remaining arguments");
  static_assert(kHasValidResult,
                "a kernel returns Status, StatusOr<Tensor>, StatusOr<std::array<Tensor, N>> or AsyncValueRef<Tensor>");

  static constexpr KernelSignature Signature() {
    constexpr int kNumArgs =
        (0 + ... + int{std::is_same_v<Parameters, DenseArg> || std::is_same_v<Parameters, const Tensor&>});
    if constexpr (kHasValidResult) return {kNumArgs, KernelResult<Result>::kCount};
    return {};
  }

  template <typename Fn>
  static Status Call(const Fn& fn, KernelFrame& frame) {
    if constexpr (kHasValidParameters && kHasValidResult) {
      return CallIndexed(fn, frame, std::index_sequence_for<Parameters...>());
    }
    return Status();
  }

 private:
  template <typename Fn, size_t... I>
  static Status CallIndexed(const Fn& fn, KernelFrame& frame, std::index_sequence<I...>) {
    std::tuple<KernelParameter<Parameters>...> parameters;
    size_t next = 0;
    Status status;
    // Left to right, so that each parameter takes its own argument; stops at the first that does not fit.
    bool expands = false;
    if (!((status = std::get<I>(parameters).Take(frame, next, expands), status.ok()) && ...)) return status;
    if (expands && !((status = std::get<I>(parameters).Expand(frame), status.ok()) && ...)) return status;
    return KernelResult<Result>::Store(frame, fn(std::get<I>(parameters).Get(frame)...));
  }
};

template <typename Function>
struct KernelFunction {
  using Adapter = KernelAdapter<Status>;
  static constexpr bool kValid = false;
};
template <typename Result, typename... Parameters, bool is_noexcept>
struct KernelFunction<Result (*)(Parameters...) noexcept(is_noexcept)> {
  using Adapter = KernelAdapter<Result, Parameters...>;
  static constexpr bool kValid = true;
};
template <typename Class, typename Result, typename... Parameters, bool is_noexcept>
struct KernelFunction<Result (Class::*)(Parameters...) const noexcept(is_noexcept)> {
  using Adapter = KernelAdapter<Result, Parameters...>;
  static constexpr bool kValid = true;
};

template <typename Closure>
struct KernelClosure : KernelFunction<void> {};
template <typename Closure>
requires requires { &Closure::operator(); }
struct KernelClosure<Closure> : KernelFunction<decltype(&Closure::operator())> {};

}  // namespace internal

// The kernel of a plain function: `MakeKernel<&MatMulKernel>()`.
template <auto fn>
Kernel MakeKernel() {
  using Function = internal::KernelFunction<decltype(fn)>;
  static_assert(Function::kValid, "MakeKernel<&F>() takes a plain function F");
  constexpr KernelSignature kSignature = Function::Adapter::Signature();
  return Kernel(
      [](const void*, KernelFrame& frame) {
        if constexpr (Function::kValid) return Function::Adapter::Call(fn, frame);
        return Status();
      },
      kSignature.num_args, kSignature.num_results);
}

// The kernel of a closure, which it keeps (DI-6). It must be callable from several threads at once.
template <typename Closure>
Kernel MakeKernel(Closure closure) {
  using Function = internal::KernelClosure<Closure>;
  static_assert(Function::kValid, "MakeKernel(closure) takes an object with one operator(), which is const");
  return Kernel(
      [](const void* object, KernelFrame& frame) {
        if constexpr (Function::kValid) return Function::Adapter::Call(*static_cast<const Closure*>(object), frame);
        return Status();
      },
      std::make_shared<const Closure>(std::move(closure)), Function::Adapter::Signature());
}

}  // namespace tandem

#endif  // TANDEM_KERNEL_H_
