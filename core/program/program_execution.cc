// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Instructions one after the other.

#include "program_execution.h"

#include <algorithm>
#include <utility>

#include "program_epilogues.h"
#include "program_kernels.h"
#include "program_pending.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"

namespace tandem {

namespace {

using Tensors = SmallArray<TensorHandle, 6>;

AsyncValueRef<Chain> ChainOf(const Status& error) { return AsyncValueRef<Chain>::MakeError(error); }

ProgramValue FailedValue(ProgramType type, const Status& error) {
  ProgramValue value;
  if (type == ProgramType::kTensor || type == ProgramType::kShape) {
    value.tensor = TensorHandle::MakeError(error);
  } else {
    value.chain = ChainOf(error);
  }
  return value;
}

// The call of one function.
class Frame {
 public:
  Frame(const ProgramPlan& plan, const PlanFunction& function, const ExecutionContext& exec, int depth)
      : plan_(plan), function_(function), exec_(exec), depth_(depth) {}

  void Execute(std::span<ProgramValue> arguments, std::span<ProgramValue> results) {
    if (!slots_.Init(function_.num_slots)) return Fail(Status::OutOfMemory(), arguments, results);
    for (size_t i = 0; i < arguments.size(); ++i) Store(function_.parameters[i], std::move(arguments[i]));
    const std::span<const PlanStep> steps(function_.steps);
    for (size_t i = 0; i + 1 < steps.size();) {
      const PlanFusion* const fusion = steps[i].fusion.get();
      if (fusion != nullptr && ExecuteFusion(*fusion)) {
        i += fusion->num_steps;
      } else {
        ExecuteStep(steps[i++]);
      }
    }
    const PlanStep& last = steps.back();
    for (size_t i = 0; i < results.size(); ++i) results[i] = Take(last.operands[i]);
  }

 private:
  void Fail(const Status& error, std::span<ProgramValue> arguments, std::span<ProgramValue> results) {
    for (ProgramValue& argument : arguments) argument = ProgramValue();
    FailResults(function_, exec_.host().EmitError(error.WithContext(function_.source->name, exec_.location())),
                results);
  }

  void Store(uint32_t slot, ProgramValue value) {
    if (slot != PlanStep::kNoSlot) slots_[slot] = std::move(value);
  }
  void StoreTensor(uint32_t slot, TensorHandle tensor) {
    if (slot != PlanStep::kNoSlot) slots_[slot].tensor = std::move(tensor);
  }
  void StoreChain(uint32_t slot, AsyncValueRef<Chain> chain) {
    if (slot != PlanStep::kNoSlot) slots_[slot].chain = std::move(chain);
  }

  // A slot is empty after the last use of what it held.
  ProgramValue Take(const PlanOperand& operand) {
    ProgramValue& value = slots_[operand.slot];
    return operand.is_last_use ? std::exchange(value, ProgramValue()) : value.CopyRef();
  }
  TensorHandle TakeTensor(const PlanOperand& operand) {
    TensorHandle& tensor = slots_[operand.slot].tensor;
    if (operand.on_device != nullptr && !operand.on_device->IsError()) {
      if (operand.is_last_use) tensor.reset();
      return operand.on_device->CopyRef();
    }
    return operand.is_last_use ? std::move(tensor) : tensor.CopyRef();
  }
  AsyncValueRef<Chain> TakeChain(const PlanOperand& operand) {
    AsyncValueRef<Chain>& chain = slots_[operand.slot].chain;
    return operand.is_last_use ? std::move(chain) : chain.CopyRef();
  }
  // What is not needed, since the step has it.
  void Drop(const PlanOperand& operand) {
    if (operand.is_last_use) slots_[operand.slot] = ProgramValue();
  }
  // Of the operand at `i`, which may be left out: null then.
  AsyncValueRef<Chain> TakeOptionalChain(const PlanStep& step, size_t i) {
    return i < step.operands.size() ? TakeChain(step.operands[i]) : AsyncValueRef<Chain>();
  }

  // False, with nothing done, if the steps are to be executed one by one.
  bool ExecuteFusion(const PlanFusion& fusion);
  void ExecuteStep(const PlanStep& step);
  void ExecuteOp(const PlanStep& step);
  template <typename Invoke>
  void InvokeOp(const PlanStep& step, Invoke invoke);
  void Call(const PlanStep& step);
  void GetHandler(const PlanStep& step);
  void RegisterHandler(const PlanStep& step);
  void MakeOp(const PlanStep& step);
  void Transfer(const PlanStep& step);
  void Merge(const PlanStep& step);
  void Print(const PlanStep& step);
  void Shape(const PlanStep& step);

  const ProgramPlan& plan_;
  const PlanFunction& function_;
  const ExecutionContext& exec_;
  const int depth_;
  SmallArray<ProgramValue, 12> slots_;
};

void Frame::ExecuteStep(const PlanStep& step) {
  switch (step.kernel) {
    case ProgramKernel::kExecuteOp:
    case ProgramKernel::kExecuteOpSeq:
    case ProgramKernel::kExecuteCompositeOp:
      return ExecuteOp(step);
    case ProgramKernel::kConstDenseTensor:
    case ProgramKernel::kCreateDenseTensor:
    case ProgramKernel::kConstStringTensor:
      return StoreTensor(step.results[0], step.tensor.CopyRef());
    case ProgramKernel::kNewChain:
      return StoreChain(step.results[0], MakeReadyChain());
    case ProgramKernel::kMergeChains:
      return Merge(step);
    case ProgramKernel::kCall:
    case ProgramKernel::kCond:
    case ProgramKernel::kTensorCond:
    case ProgramKernel::kWhile:
      return Call(step);
    case ProgramKernel::kGetOpHandler:
      return GetHandler(step);
    case ProgramKernel::kRegisterOpHandler:
      return RegisterHandler(step);
    case ProgramKernel::kMakeCompositeOp:
      return MakeOp(step);
    case ProgramKernel::kPrintTensor:
      return Print(step);
    case ProgramKernel::kTensorToShape:
      return Shape(step);
    case ProgramKernel::kTransfer:
      return Transfer(step);
    case ProgramKernel::kReturn:
      return;  // the last one, which Execute sees to
  }
}

bool Frame::ExecuteFusion(const PlanFusion& fusion) {
  SmallArray<const TensorMetadata*, 8> metadata;
  Tensors arguments;
  Tensors results;
  if (!metadata.Init(fusion.inputs.size()) || !arguments.Init(fusion.inputs.size()) ||
      !results.Init(fusion.results.size())) {
    return false;
  }
  for (size_t i = 0; i < fusion.inputs.size(); ++i) {
    const TensorHandle& input = slots_[fusion.inputs[i].slot].tensor;
    // Errors, and representations that are none for element-wise kernels, are told best by the ops themselves.
    if (!input.IsValid() || input.IsError() || !input.IsMetadataAvailable()) return false;
    if (input.IsConcrete() && (input.tensor().IsA(kSparseCooHost) || input.tensor().IsA(kStringHost))) return false;
    metadata[i] = &input.metadata();
  }
  if (fusion.epilogue ? !fusion.epilogue->Fits(metadata.span()) : !fusion.group->Infer(metadata.span())) return false;
  for (size_t i = 0; i < fusion.inputs.size(); ++i) arguments[i] = TakeTensor(fusion.inputs[i]);
  const ExecutionContext exec = exec_.WithLocation(fusion.location);
  fusion.op({exec, arguments.span(), fusion.attrs, results.span(), nullptr});
  for (size_t i = 0; i < fusion.results.size(); ++i) StoreTensor(fusion.results[i], std::move(results[i]));
  return true;
}

void Frame::ExecuteOp(const PlanStep& step) {
  if (step.op.IsValid()) {
    Drop(step.operands[0]);
    return InvokeOp(step, [&step](const OpInvocation& invocation) { step.op(invocation); });
  }
  const ProgramValue target = Take(step.operands[0]);
  InvokeOp(step, [&](const OpInvocation& invocation) {
    if (target.op) {
      target.op->Invoke(invocation);
    } else if (target.handler != nullptr) {
      target.handler->Execute(step.name, invocation);
    } else {
      FailInvocation(invocation, step.name, target.chain.IsValid() ? target.chain.GetError() : Status::OutOfMemory());
    }
  });
}

// `invoke` invokes what the first operand stands for.
template <typename Invoke>
void Frame::InvokeOp(const PlanStep& step, Invoke invoke) {
  const bool is_seq = step.kernel == ProgramKernel::kExecuteOpSeq;
  const ExecutionContext exec = exec_.WithLocation(step.location);
  AsyncValueRef<Chain> chain = is_seq ? TakeChain(step.operands[1]) : AsyncValueRef<Chain>();
  const auto operands = std::span(step.operands).subspan(is_seq ? 2 : 1);
  const auto slots = std::span(step.results).subspan(is_seq ? 1 : 0);
  Tensors arguments;
  Tensors results;
  const bool has_memory = arguments.Init(operands.size()) && results.Init(slots.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorHandle argument = TakeTensor(operands[i]);
    if (has_memory) arguments[i] = std::move(argument);
  }
  if (!has_memory) {
    const Status error = exec.host().EmitError(Status::OutOfMemory().WithContext(step.name, step.location));
    for (const uint32_t slot : slots) StoreTensor(slot, TensorHandle::MakeError(error));
    if (is_seq) StoreChain(step.results[0], ChainOf(error));
    return;
  }
  invoke({exec, arguments.span(), step.attrs, results.span(), is_seq ? &chain : nullptr});
  for (size_t i = 0; i < slots.size(); ++i) StoreTensor(slots[i], std::move(results[i]));
  if (is_seq) StoreChain(step.results[0], std::move(chain));
}

void Frame::Call(const PlanStep& step) {
  const ExecutionContext exec = exec_.WithLocation(step.location);
  ProgramValues values;
  ProgramValues results;
  const bool has_memory = values.Init(step.operands.size()) && results.Init(step.results.size());
  for (size_t i = 0; i < step.operands.size(); ++i) {
    ProgramValue value = Take(step.operands[i]);
    if (has_memory) values[i] = std::move(value);
  }
  if (!has_memory) {
    const Status error =
        exec.host().EmitError(Status::OutOfMemory().WithContext(ProgramKernelName(step.kernel), step.location));
    // The second function of a condition gives what the first does, and that of a loop its results.
    const PlanFunction& function = *step.functions[step.functions[1] == nullptr ? 0 : 1];
    for (size_t i = 0; i < step.results.size(); ++i) {
      Store(step.results[i], FailedValue(function.source->result_types[i], error));
    }
    return;
  }
  const ProgramCall call = {plan_, step, exec, depth_};
  if (step.kernel == ProgramKernel::kCall) {
    ExecuteFunction(plan_, *step.functions[0], exec, depth_ + 1, values.span(), results.span());
  } else if (step.kernel == ProgramKernel::kWhile) {
    ExecuteLoop(call, values.span(), results.span());
  } else {
    ExecuteCondition(call, values.span(), results.span());
  }
  for (size_t i = 0; i < step.results.size(); ++i) Store(step.results[i], std::move(results[i]));
}

void Frame::GetHandler(const PlanStep& step) {
  ProgramValue value;
  value.handler = step.handler;
  if (!step.operands.empty()) static_cast<void>(TakeChain(step.operands[0]));
  if (value.handler == nullptr) {
    const StatusOr<OpHandler*> found = plan_.FindHandler(step.name);
    if (found.ok()) {
      value.handler = *found;
    } else {
      const Status error = found.status().WithContext(ProgramKernelName(step.kernel), step.location);
      value.chain = ChainOf(exec_.host().EmitError(error));
    }
  }
  Store(step.results[0], std::move(value));
}

void Frame::RegisterHandler(const PlanStep& step) {
  ProgramValue target = Take(step.operands[0]);
  AsyncValueRef<Chain> chain = TakeOptionalChain(step, 1);
  if (target.handler == nullptr) {
    chain = std::move(target.chain);
  } else {
    // The first of a name wins (OH-5), so that a program may be run again.
    static_cast<void>(plan_.runtime().AddHandlerName(step.name, *target.handler));
    if (!chain.IsValid()) chain = MakeReadyChain();
  }
  StoreChain(step.results[0], std::move(chain));
}

void Frame::MakeOp(const PlanStep& step) {
  ProgramValue value;
  value.op = MakeProgramOp(RcRef<const ProgramPlan>::Share(&plan_), *step.functions[0], depth_ + 1);
  if (!value.op) {
    const Status error = Status::OutOfMemory().WithContext(ProgramKernelName(step.kernel), step.location);
    value.chain = ChainOf(exec_.host().EmitError(error));
  }
  Store(step.results[0], std::move(value));
}

void Frame::Transfer(const PlanStep& step) {
  const ExecutionContext exec = exec_.WithLocation(step.location);
  const TensorHandle tensor = TakeTensor(step.operands[0]);
  const ProgramValue target = Take(step.operands[1]);
  const OpHandler* const handler = step.handler != nullptr ? step.handler : target.handler;
  if (handler == nullptr) {
    const Status error = target.chain.IsValid() ? target.chain.GetError() : Status::OutOfMemory();
    return StoreTensor(step.results[0], TensorHandle::MakeError(error));
  }
  const Device* const device = handler->device();
  StoreTensor(step.results[0], tensor.TransferTo(exec, device == nullptr ? exec.host().device() : *device));
}

void Frame::Merge(const PlanStep& step) {
  ProgramValues chains;
  const bool has_memory = chains.Init(step.operands.size());
  for (size_t i = 0; i < step.operands.size(); ++i) {
    ProgramValue chain = Take(step.operands[i]);
    if (has_memory) chains[i] = std::move(chain);
  }
  const ExecutionContext exec = exec_.WithLocation(step.location);
  StoreChain(step.results[0], has_memory ? MergeChains(exec, chains.span())
                                         : ChainOf(exec.host().EmitError(Status::OutOfMemory().WithContext(
                                               ProgramKernelName(step.kernel), step.location))));
}

void Frame::Print(const PlanStep& step) {
  const ExecutionContext exec = exec_.WithLocation(step.location);
  TensorHandle tensor = TakeTensor(step.operands[0]);
  AsyncValueRef<Chain> after = TakeOptionalChain(step, 1);
  StoreChain(step.results[0], PrintTensor({plan_, step, exec, depth_}, std::move(tensor), std::move(after)));
}

void Frame::Shape(const PlanStep& step) {
  const ExecutionContext exec = exec_.WithLocation(step.location);
  TensorHandle tensor = TakeTensor(step.operands[0]);
  AsyncValueRef<Chain> after = TakeOptionalChain(step, 1);
  StoreTensor(step.results[0], ShapeOfTensor({plan_, step, exec, depth_}, std::move(tensor), std::move(after)));
}

// A function as an op: results and arguments are tensors.
class ProgramOp final : public OpImpl {
 public:
  ProgramOp(RcRef<const ProgramPlan> plan, const PlanFunction& function, int depth)
      : OpImpl(function.source->name), plan_(std::move(plan)), function_(function), depth_(depth) {}

  void Invoke(const OpInvocation& invocation) const override {
    const ProgramFunction& source = *function_.source;
    if (invocation.args.size() != source.num_parameters || invocation.results.size() != source.result_types.size()) {
      return FailInvocation(
          invocation, name(),
          InvalidArgument("expected ", source.num_parameters, " arguments and ", source.result_types.size(),
                          " results, got ", invocation.args.size(), " and ", invocation.results.size()));
    }
    if (!invocation.attrs.empty()) {
      return FailInvocation(invocation, name(), InvalidArgument("expected no attributes, got ", invocation.attrs));
    }
    ProgramValues arguments;
    ProgramValues results;
    if (!arguments.Init(invocation.args.size()) || !results.Init(invocation.results.size())) {
      return FailInvocation(invocation, name(), Status::OutOfMemory());
    }
    for (size_t i = 0; i < arguments.size(); ++i) arguments[i].tensor = std::move(invocation.args[i]);
    ExecuteFunction(*plan_, function_, invocation.exec, depth_, arguments.span(), results.span());
    for (size_t i = 0; i < results.size(); ++i) invocation.results[i] = std::move(results[i].tensor);
    if (invocation.chain != nullptr && !invocation.chain->IsValid()) *invocation.chain = MakeReadyChain();
  }

 private:
  const RcRef<const ProgramPlan> plan_;
  const PlanFunction& function_;
  const int depth_;
};

}  // namespace

void ExecuteFunction(const ProgramPlan& plan, const PlanFunction& function, const ExecutionContext& exec, int depth,
                     std::span<ProgramValue> arguments, std::span<ProgramValue> results) {
  if (depth > ProgramRunner::kMaxDepth) {
    for (ProgramValue& argument : arguments) argument = ProgramValue();
    const Status error = MakeError(StatusCode::kResourceExhausted, "expected functions nested at most ",
                                   ProgramRunner::kMaxDepth, " deep, got more");
    const Status told = exec.host().EmitError(error.WithContext(function.source->name, exec.location()));
    return FailResults(function, told, results);
  }
  Frame(plan, function, exec, depth).Execute(arguments, results);
}

void FailResults(const PlanFunction& function, const Status& error, std::span<ProgramValue> results) {
  for (size_t i = 0; i < results.size(); ++i) results[i] = FailedValue(function.source->result_types[i], error);
}

RcRef<const OpImpl> MakeProgramOp(RcRef<const ProgramPlan> plan, const PlanFunction& function, int depth) {
  return MakeRef<const ProgramOp>(std::move(plan), function, depth);
}

}  // namespace tandem
