// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernel: one device's code for an op, erased from a plain typed function.
//
// A kernel is a function (or a closure, see MakeKernel) whose parameters are, in any order:
//   DenseArg                 next argument, as a dense tensor of the host; scalar host tensors are expanded
//   DeviceArg                next argument, as a dense tensor of the kernel's own device
//   HostInput                next argument, as numbers that the host reads
//   const Tensor&            next argument in whatever representation it has
//   VariadicArgs             all remaining arguments, dense on the host
//   const OpAttrsRef&        attributes, with the definition's defaults
//   T&                       what the handler provides as T: its device and the like (KernelContext)
//   const ExecutionContext&  of the call
//   KernelFrame&             everything else: result metadata, allocation and forwarding
// or what somebody has specialised KernelParameter for, and which returns one of
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
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tandem/async_value.h"
#include "tandem/export.h"
#include "tandem/kernel_frame.h"
#include "tandem/kernel_parameter.h"
#include "tandem/op_attrs.h"
#include "tandem/op_selection.h"
#include "tandem/status.h"
#include "tandem/tensor.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// What an op costs on one core, about nanoseconds, from metadata alone (EX-7).
struct CostModel {
  float per_element = 0.5f;  // of arguments and results
  // For costs that are not linear in the elements; overrides `per_element`.
  double (*estimate)(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) = nullptr;
};

// What a kernel relies on; checked against the definition when an op is resolved, so that calls need not check it.
struct KernelSignature {
  int16_t num_args = 0;                            // parameters that stand for one argument each
  int16_t num_results = -1;                        // -1: as many as the frame has
  const KernelContext* const* contexts = nullptr;  // what the handler must provide, up to a null; null: nothing
};

// An erased kernel. Immutable and copyable; copies share the closure.
class TANDEM_EXPORT Kernel {
 public:
  using Function = Status (*)(const void* closure, KernelFrame& frame);

  Kernel() = default;
  Kernel(Function function, std::shared_ptr<const void> closure, KernelSignature signature);
  Kernel(Function function, KernelSignature signature);
  Kernel(Function function, int num_args, int num_results);  // a signature without contexts
  Kernel(const Kernel&);
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(const Kernel&);
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();

  Status Run(KernelFrame& frame) const { return function_(closure_.get(), frame); }
  bool IsValid() const { return function_ != nullptr; }
  const KernelSignature& signature() const { return signature_; }

  // Returns *this, so that a kernel can be completed where it is passed on.
  Kernel&& WithCost(CostModel cost) &&;
  Kernel&& WithCost(float per_element) &&;
  const CostModel& cost() const { return cost_; }

  // Whether the kernel is for a call of the dtype it was added for. For any other, it is as if there were none.
  using Condition = bool (*)(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                             std::span<const TensorMetadata> results);
  Kernel&& OnlyIf(Condition condition) &&;
  Condition condition() const { return condition_; }  // null: for every call

  // Keeps the code of the kernel loaded as long as there is a copy of it.
  Kernel&& WithCode(std::shared_ptr<const void> code) &&;
  bool has_code() const { return code_ != nullptr; }

 private:
  Function function_ = nullptr;
  std::shared_ptr<const void> code_;
  std::shared_ptr<const void> closure_;  // ends before its code
  CostModel cost_;
  Condition condition_ = nullptr;
  KernelSignature signature_;
};

namespace internal {

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
  for (const KernelArguments arguments : {KernelArguments::kNone, KernelParameter<Parameters>::kArguments...}) {
    in_order = in_order && !(all_taken && arguments != KernelArguments::kNone);
    all_taken = all_taken || arguments == KernelArguments::kRest;
  }
  return in_order;
}

template <typename Parameter>
concept HasKernelContext = requires {
  KernelParameter<Parameter>::kContext;
};

// The contexts of a kernel's parameters.
template <typename... Parameters>
struct KernelContexts {
  // Of types, since GCC 12 cannot compare addresses in constants while it makes code for UBSan.
  static constexpr size_t kCount = (size_t{0} + ... + size_t{HasKernelContext<Parameters>});
  // With a null behind them.
  static constexpr std::array<const KernelContext*, kCount + 1> Collect() {
    std::array<const KernelContext*, kCount + 1> contexts{};
    size_t count = 0;
    const auto add = [&]<typename Parameter>() {
      if constexpr (HasKernelContext<Parameter>) contexts[count++] = KernelParameter<Parameter>::kContext;
    };
    (add.template operator()<Parameters>(), ...);
    return contexts;
  }
  static constexpr std::array<const KernelContext*, kCount + 1> kAll = Collect();
};

template <typename Result, typename... Parameters>
struct KernelAdapter {
  static constexpr bool kHasValidParameters = (KernelParameter<Parameters>::kValid && ...);
  static constexpr bool kHasValidResult = KernelResult<Result>::kValid;
  static constexpr bool kHasContexts = (HasKernelContext<Parameters> || ...);
  static_assert(kHasValidParameters,
                "a kernel takes DenseArg, DeviceArg, HostInput, const Tensor&, VariadicArgs, const OpAttrsRef&, "
                "KernelFrame&, const ExecutionContext&, or what its device has a KernelParameter for");
  static_assert(RemainingTensorsAreLast<Parameters...>(),
                "in a kernel no parameter for an argument may follow a VariadicArgs, which takes all that are left");
  static_assert(kHasValidResult,
                "a kernel returns Status, StatusOr<Tensor>, StatusOr<std::array<Tensor, N>> or AsyncValueRef<Tensor>");

  static constexpr KernelSignature Signature() {
    constexpr int kNumArgs = (0 + ... + int{KernelParameter<Parameters>::kArguments == KernelArguments::kOne});
    if constexpr (kHasValidResult) {
      using Contexts = KernelContexts<Parameters...>;
      return {kNumArgs, KernelResult<Result>::kCount, kHasContexts ? Contexts::kAll.data() : nullptr};
    }
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

template <auto fn>
struct ErasedKernel {
  using Function = KernelFunction<decltype(fn)>;
  static_assert(Function::kValid, "MakeKernel<&F>() takes a plain function F, as does KernelEntryOf<&F>()");
  static constexpr KernelSignature kSignature = Function::Adapter::Signature();
  static Status Call(const void*, KernelFrame& frame) {
    if constexpr (Function::kValid) return Function::Adapter::Call(fn, frame);
    return Status();
  }
};

}  // namespace internal

// The kernel of a plain function: `MakeKernel<&MatMulKernel>()`.
template <auto fn>
Kernel MakeKernel() {
  using Erased = internal::ErasedKernel<fn>;
  if constexpr (Erased::Function::Adapter::kHasContexts) {
    return Kernel(&Erased::Call, Erased::kSignature);
  } else {
    return Kernel(&Erased::Call, Erased::kSignature.num_args, Erased::kSignature.num_results);
  }
}

// The kernel of a plain function as a constant, for tables that KernelOpHandler::AddKernels registers: data, where
// calls of AddKernel would be code.
struct KernelEntry {
  const char* op_name;
  DTypeSet dtypes;            // empty: of an op without a type attribute
  Kernel::Function function;  // null: not in this build, and registered by nobody
  KernelSignature signature;
  CostModel cost;
};
template <auto fn>
constexpr KernelEntry KernelEntryOf(const char* op_name, DTypeSet dtypes, CostModel cost = {}) {
  using Erased = internal::ErasedKernel<fn>;
  const DTypeSet dtypes_in_build = dtypes & DTypesInBuild(op_name);
  if (!IsInBuild(op_name) || dtypes_in_build.IsEmpty() != dtypes.IsEmpty()) return {};
  return {op_name, dtypes_in_build, &Erased::Call, Erased::kSignature, cost};
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
