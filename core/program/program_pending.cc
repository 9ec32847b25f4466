// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conditions, loops and effects, as pending calls where what they need is not there.

#include "program_pending.h"

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "execute/pending_call.h"
#include "program_kernels.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/logging_op_handler.h"
#include "tandem/run_when_ready.h"

namespace tandem {

namespace {

using MetadataValue = ConcreteAsyncValue<TensorMetadata>;

Status Tell(const ExecutionContext& exec, ProgramKernel kernel, const Status& error) {
  return exec.host().EmitError(error.WithContext(ProgramKernelName(kernel), exec.location()));
}

template <typename T>
bool IsTrueOf(T element) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return static_cast<float>(element) != 0;
  } else {
    return element != T(0);
  }
}

// What a condition says, or why it says nothing. The tensor is concrete and on the host.
StatusOr<bool> IsTrue(const Tensor& tensor) {
  if (tensor.num_elements() != 1) {
    return InvalidArgument("expected a condition of one element, got ", tensor.metadata());
  }
  if (tensor.IsA(kStringHost)) return !StringHostView(tensor)[0].empty();
  if (!tensor.IsA(kDenseHost) && !tensor.IsA(kScalarHost)) {
    return InvalidArgument("expected a dense condition, got ", tensor.metadata(), " as ", tensor.type().name());
  }
  switch (tensor.dtype()) {
#define TANDEM_IS_TRUE(name, type) \
  case DType::name:                \
    return IsTrueOf(*static_cast<const type*>(tensor.data()));
    TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_IS_TRUE)
#undef TANDEM_IS_TRUE
    default:
      return Internal("expected a dtype, got ", tensor.dtype());
  }
}

TensorHandle ToHost(const ExecutionContext& exec, const TensorHandle& tensor) {
  return tensor.TransferTo(exec, exec.host().device());
}

// Results that are announced before it is known what they will be.
class LateResults {
 public:
  // False if memory is exhausted.
  [[nodiscard]] bool Init(const ProgramCall& call, std::span<const ProgramValue> arguments,
                          std::span<ProgramValue> results);
  void Fail(const Status& error);
  // What to wait for before `values`, which are consumed, can be the results; null: they are.
  AsyncValue* Forward(const ExecutionContext& exec, std::span<ProgramValue> values);

 private:
  struct Result {
    RcRef<MetadataValue> metadata;  // of tensors; null once it is known
    RcRef<IndirectAsyncValue> value;
    const Device* device = nullptr;
  };
  SmallArray<Result, 4> results_;
  size_t next_ = 0;  // those before have been forwarded
};

const Device* DeviceOf(const ProgramCall& call, size_t i, std::span<const ProgramValue> arguments) {
  const bool is_loop = call.step.kernel == ProgramKernel::kWhile;
  PlanPlace place = {nullptr, static_cast<uint32_t>(i)};
  if (!is_loop && i < call.step.functions[0]->places.size()) place = call.step.functions[0]->places[i];
  if (place.device != nullptr) return place.device;
  const Device* const device = place.argument < arguments.size() && arguments[place.argument].tensor.IsValid()
                                   ? arguments[place.argument].tensor.device()
                                   : nullptr;
  return device != nullptr ? device : &call.exec.host().device();
}

bool LateResults::Init(const ProgramCall& call, std::span<const ProgramValue> arguments,
                       std::span<ProgramValue> results) {
  if (!results_.Init(results.size())) return false;
  const bool is_loop = call.step.kernel == ProgramKernel::kWhile;
  for (size_t i = 0; i < results.size(); ++i) {
    Result& result = results_[i];
    result.value = MakeRef<IndirectAsyncValue>();
    if (!result.value) return false;
    const RcRef<AsyncValue> value(result.value);
    if (!is_loop && call.step.functions[0]->source->result_types[i] == ProgramType::kChain) {
      results[i].chain = AsyncValueRef<Chain>(value);
      continue;
    }
    result.metadata = MakeUnconstructed<TensorMetadata>();
    if (!result.metadata) return false;
    result.device = DeviceOf(call, i, arguments);
    results[i].tensor = TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(result.metadata)),
                                     AsyncValueRef<Tensor>(value), result.device);
  }
  return true;
}

void LateResults::Fail(const Status& error) {
  for (; next_ < results_.size(); ++next_) {
    Result& result = results_[next_];
    if (result.metadata) std::exchange(result.metadata, nullptr)->SetError(error);
    std::exchange(result.value, nullptr)->SetError(error);
  }
}

AsyncValue* LateResults::Forward(const ExecutionContext& exec, std::span<ProgramValue> values) {
  for (; next_ < results_.size(); ++next_) {
    Result& result = results_[next_];
    ProgramValue& value = values[next_];
    if (result.device == nullptr) {
      std::exchange(result.value, nullptr)->ForwardTo(std::move(value.chain).TakeValue());
      continue;
    }
    TensorHandle& tensor = value.tensor;
    if (!tensor.IsError() && !tensor.IsMetadataAvailable()) return tensor.metadata_value();
    // Strings are on the host, wherever an op runs.
    const bool is_there = tensor.IsError() || tensor.metadata().dtype == DType::kString;
    if (!is_there) tensor = tensor.TransferTo(exec, *result.device);
    RcRef<MetadataValue> metadata = std::move(result.metadata);
    if (tensor.IsMetadataAvailable()) {
      metadata->Emplace(tensor.metadata());
    } else {
      metadata->SetError(tensor.GetError());
    }
    RcRef<AsyncValue> content = RcRef<AsyncValue>::Share(tensor.value().value());
    // An error of the metadata may come to the tensor a moment later.
    if (!content->IsError() && tensor.IsError() && !tensor.IsMetadataAvailable()) {
      RcRef<ErrorAsyncValue> failed = MakeRef<ErrorAsyncValue>(tensor.GetError());
      content = failed ? RcRef<AsyncValue>(std::move(failed)) : OutOfMemoryAsyncValue();
    }
    tensor.reset();
    std::exchange(result.value, nullptr)->ForwardTo(std::move(content));
  }
  return nullptr;
}

// Calls the condition of a loop with its variables; the result is on the host.
TensorHandle CallCondition(const ProgramCall& call, std::span<const ProgramValue> variables) {
  ProgramValues arguments;
  ProgramValue condition;
  if (!arguments.Init(variables.size())) {
    return TensorHandle::MakeError(Tell(call.exec, call.step.kernel, Status::OutOfMemory()));
  }
  for (size_t i = 0; i < variables.size(); ++i) arguments[i] = variables[i].CopyRef();
  ExecuteFunction(call.plan, *call.step.functions[0], call.exec, call.depth + 1, arguments.span(), {&condition, 1});
  return ToHost(call.exec, condition.tensor);
}

// Does what a condition says that is there. The arguments are consumed; or, of a loop that goes on, replaced, and the
// result is its next condition. Null: the results are there. An error has been told.
StatusOr<TensorHandle> Decide(const ProgramCall& call, const TensorHandle& condition, std::span<ProgramValue> arguments,
                              std::span<ProgramValue> results) {
  const ProgramKernel kernel = call.step.kernel;
  if (condition.IsError()) return condition.GetError().Through(ProgramKernelName(kernel), call.exec.location());
  if (const Status active = call.exec.CheckActive(); !active.ok()) return Tell(call.exec, kernel, active);
  const StatusOr<bool> is_true = IsTrue(condition.tensor());
  if (!is_true.ok()) return Tell(call.exec, kernel, is_true.status());
  const bool is_loop = kernel == ProgramKernel::kWhile;
  if (is_loop && !*is_true) {
    std::move(arguments.begin(), arguments.end(), results.begin());
    return TensorHandle();
  }
  const PlanFunction& function = *call.step.functions[is_loop || !*is_true ? 1 : 0];
  ExecuteFunction(call.plan, function, call.exec, call.depth + 1, arguments, results);
  if (!is_loop) return TensorHandle();
  std::move(results.begin(), results.end(), arguments.begin());
  return CallCondition(call, arguments);
}

// A condition or a loop that waits for what its condition says, or for what its results are.
class PendingBranch final : public PendingCall {
 public:
  PendingBranch(const ProgramCall& call, TensorHandle condition)
      : PendingCall(call.exec, ProgramKernelName(call.step.kernel)),
        plan_(RcRef<const ProgramPlan>::Share(&call.plan)),
        step_(call.step),
        depth_(call.depth),
        condition_(std::move(condition)) {}

  // The arguments are consumed, and the results announced. False if memory is exhausted.
  [[nodiscard]] bool Init(std::span<ProgramValue> arguments, std::span<ProgramValue> results) {
    if (!arguments_.Init(arguments.size()) || !values_.Init(results.size())) return false;
    if (!late_.Init({*plan_, step_, exec(), depth_}, arguments, results)) return false;
    std::move(arguments.begin(), arguments.end(), arguments_.begin());
    return true;
  }

 private:
  void Advance() override;
  void DropInputs() override {
    condition_.reset();
    for (ProgramValue& value : arguments_) value = ProgramValue();
    for (ProgramValue& value : values_) value = ProgramValue();
  }
  void SetError(const Status& error) override { late_.Fail(error); }

  const RcRef<const ProgramPlan> plan_;
  const PlanStep& step_;
  const int depth_;
  TensorHandle condition_;  // null once all is decided
  ProgramValues arguments_;
  ProgramValues values_;  // what the results become
  LateResults late_;
};

void PendingBranch::Advance() {
  while (condition_.IsValid()) {
    if (!condition_.IsAvailable()) return WaitFor(condition_.value().value());
    const TensorHandle condition = std::move(condition_);
    StatusOr<TensorHandle> next = Decide({*plan_, step_, exec(), depth_}, condition, arguments_.span(), values_.span());
    if (!next.ok()) return Fail(next.status());
    condition_ = *std::move(next);
  }
  if (AsyncValue* awaited = late_.Forward(exec(), values_.span())) return WaitFor(awaited);
  Leave();
  Release();
}

void FailCall(const ProgramCall& call, const Status& told, std::span<ProgramValue> arguments,
              std::span<ProgramValue> results) {
  for (ProgramValue& argument : arguments) argument = ProgramValue();
  for (ProgramValue& result : results) result = ProgramValue();
  // The second function of a condition gives what the first does, and that of a loop its results.
  FailResults(*call.step.functions[1], told, results);
}

// From the condition on: at once as far as it is there.
void ExecuteBranch(const ProgramCall& call, TensorHandle condition, std::span<ProgramValue> arguments,
                   std::span<ProgramValue> results) {
  while (condition.IsValid() && condition.IsAvailable()) {
    StatusOr<TensorHandle> next = Decide(call, condition, arguments, results);
    if (!next.ok()) return FailCall(call, next.status(), arguments, results);
    condition = *std::move(next);
  }
  if (!condition.IsValid()) return;
  PendingOps& pending = call.exec.host().pending_ops();
  Status error = pending.Admit(call.exec, 0);
  if (error.ok()) {
    auto branch = MakeRef<PendingBranch>(call, std::move(condition));
    if (branch && branch->Init(arguments, results)) return branch.release()->Start();
    pending.Release(0);
    error = Status::OutOfMemory();
  }
  FailCall(call, Tell(call.exec, call.step.kernel, error), arguments, results);
}

void Print(HostContext& host, const Tensor& tensor) {
  constexpr int kMaxElements = 64;
  MessageBuilder line;
  AppendTensor(line, tensor, kMaxElements);
  line.Append("\n");
  host.Print(line.view());
}

// A tensor's shape as a tensor.
StatusOr<Tensor> MakeShape(HostContext& host, const TensorShape& shape) {
  const std::span<const int64_t> dims = shape.dims();
  return MakeDense(TensorMetadata(DType::kI64, {static_cast<int64_t>(dims.size())}), std::as_bytes(dims), host.device(),
                   host.allocator());
}

// Prints a tensor, or tells its shape, when that is known and a chain has come.
class PendingLook final : public PendingCall {
 public:
  PendingLook(const ProgramCall& call, TensorHandle tensor, AsyncValueRef<Chain> after)
      : PendingCall(call.exec, ProgramKernelName(call.step.kernel)),
        tensor_(std::move(tensor)),
        after_(std::move(after)) {}

  // These announce the result; null if memory is exhausted.
  AsyncValueRef<Chain> MakeChain() {
    chain_ = MakeUnconstructed<Chain>();
    return AsyncValueRef<Chain>(RcRef<AsyncValue>(chain_));
  }
  TensorHandle MakeShapeHandle() {
    metadata_ = MakeUnconstructed<TensorMetadata>();
    if (metadata_) shape_ = MakeUnconstructed<Tensor>();
    if (!shape_) return TensorHandle();
    return TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(metadata_)),
                        AsyncValueRef<Tensor>(RcRef<AsyncValue>(shape_)), &exec().host().device());
  }

 private:
  void Advance() override;
  void FinishPrint();
  void FinishShape();
  void DropInputs() override {
    tensor_.reset();
    after_.reset();
  }
  void SetError(const Status& error) override {
    if (chain_) std::exchange(chain_, nullptr)->SetError(error);
    if (metadata_) std::exchange(metadata_, nullptr)->SetError(error);
    if (shape_) std::exchange(shape_, nullptr)->SetError(error);
  }

  TensorHandle tensor_;
  AsyncValueRef<Chain> after_;  // may be null
  RcRef<ConcreteAsyncValue<Chain>> chain_;
  RcRef<MetadataValue> metadata_;
  RcRef<TensorValue> shape_;
};

void PendingLook::Advance() {
  if (after_.IsValid() && !after_.IsAvailable()) return WaitFor(after_.value());
  if (after_.IsValid() && after_.IsError()) return Fail(after_.GetError().Through(name(), location()));
  const bool is_known = chain_ ? tensor_.IsAvailable() : tensor_.IsMetadataAvailable() || tensor_.IsError();
  if (!is_known) return WaitFor(chain_ ? tensor_.value().value() : tensor_.metadata_value());
  if (tensor_.IsError() && (chain_ || !tensor_.IsMetadataAvailable())) {
    return Fail(tensor_.GetError().Through(name(), location()));
  }
  chain_ ? FinishPrint() : FinishShape();
}

void PendingLook::FinishPrint() {
  Print(exec().host(), tensor_.tensor());
  DropInputs();
  Leave();
  std::exchange(chain_, nullptr)->Emplace();
  Release();
}

void PendingLook::FinishShape() {
  StatusOr<Tensor> shape = MakeShape(exec().host(), tensor_.metadata().shape);
  if (!shape.ok()) return Fail(PendingCall::Tell(shape.status()));
  DropInputs();
  Leave();
  std::exchange(metadata_, nullptr)->Emplace(shape->metadata());
  std::exchange(shape_, nullptr)->Emplace(*std::move(shape));
  Release();
}

// What a call gives that has begun, or an error: a chain or a handle, as `make_result` makes it.
template <typename Result>
Result Look(const ProgramCall& call, TensorHandle tensor, AsyncValueRef<Chain> after,
            Result (PendingLook::*make_result)()) {
  PendingOps& pending = call.exec.host().pending_ops();
  Status error = pending.Admit(call.exec, 0);
  if (error.ok()) {
    auto look = MakeRef<PendingLook>(call, std::move(tensor), std::move(after));
    Result result = look ? (look.get()->*make_result)() : Result();
    if (result.IsValid()) {
      look.release()->Start();
      return result;
    }
    pending.Release(0);
    error = Status::OutOfMemory();
  }
  return Result::MakeError(Tell(call.exec, call.step.kernel, error));
}

}  // namespace

void ExecuteCondition(const ProgramCall& call, std::span<ProgramValue> values, std::span<ProgramValue> results) {
  TensorHandle condition = ToHost(call.exec, values[0].tensor);
  values[0] = ProgramValue();
  ExecuteBranch(call, std::move(condition), values.subspan(1), results);
}

void ExecuteLoop(const ProgramCall& call, std::span<ProgramValue> values, std::span<ProgramValue> results) {
  ExecuteBranch(call, CallCondition(call, values), values, results);
}

AsyncValueRef<Chain> PrintTensor(const ProgramCall& call, TensorHandle tensor, AsyncValueRef<Chain> after) {
  return Look<AsyncValueRef<Chain>>(call, ToHost(call.exec, tensor), std::move(after), &PendingLook::MakeChain);
}

TensorHandle ShapeOfTensor(const ProgramCall& call, TensorHandle tensor, AsyncValueRef<Chain> after) {
  return Look<TensorHandle>(call, std::move(tensor), std::move(after), &PendingLook::MakeShapeHandle);
}

AsyncValueRef<Chain> MergeChains(const ExecutionContext& exec, std::span<ProgramValue> chains) {
  SmallArray<AsyncValue*, 6> values;
  Producer<Chain> merged = Producer<Chain>::Make();
  AsyncValueRef<Chain> result = merged ? merged.ref() : AsyncValueRef<Chain>();
  // What waits keeps the chains.
  struct Merge {
    Producer<Chain> merged;
    std::unique_ptr<ProgramValues> chains;
    void operator()() {
      for (const ProgramValue& value : *chains) {
        if (value.chain.IsError()) return merged.SetError(value.chain.GetError());
      }
      merged.Emplace();
    }
  };
  std::unique_ptr<ProgramValues> kept(new (std::nothrow) ProgramValues);
  bool has_memory = merged && kept && kept->Init(chains.size()) && values.Init(chains.size());
  if (has_memory) {
    for (size_t i = 0; i < chains.size(); ++i) {
      values[i] = chains[i].chain.value();
      (*kept)[i] = std::move(chains[i]);
    }
    has_memory = RunWhenReady(values.span(), Merge{std::move(merged), std::move(kept)});
  }
  if (has_memory) return result;
  const Status error =
      Status::OutOfMemory().WithContext(ProgramKernelName(ProgramKernel::kMergeChains), exec.location());
  return AsyncValueRef<Chain>::MakeError(exec.host().EmitError(error));
}

}  // namespace tandem
