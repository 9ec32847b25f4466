// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Functions of programs, called from outside.

#include "tandem/program_runner.h"

#include <algorithm>
#include <utility>

#include "program_execution.h"
#include "program_pending.h"
#include "tandem/host_context.h"

namespace tandem {

namespace {

bool IsTensor(ProgramType type) { return type == ProgramType::kTensor || type == ProgramType::kShape; }

ProgramRunner::Signature SignatureOf(const ProgramFunction& function) {
  ProgramRunner::Signature signature;
  for (const ProgramType type : function.parameter_types()) signature.num_arguments += IsTensor(type);
  for (const ProgramType type : function.result_types) signature.num_results += IsTensor(type);
  return signature;
}

Status NotFound(const Program& program, std::string_view function) {
  MessageBuilder names;
  for (const ProgramFunction& known : program.functions()) {
    names.Append(names.view().empty() ? "@" : ", @", known.name);
  }
  return MakeError(StatusCode::kNotFound, "expected a function of ", program.file(), ", one of ", names.view(),
                   ", got @", function);
}

bool TakesChain(const ProgramFunction& function) {
  const std::span<const ProgramType> types = function.parameter_types();
  return std::find(types.begin(), types.end(), ProgramType::kChain) != types.end();
}

// Why a function cannot be called from outside, or ok.
Status CheckCallable(const ProgramFunction& function, size_t num_arguments, size_t num_results) {
  for (const ProgramType type : function.parameter_types()) {
    if (type == ProgramType::kOp) return InvalidArgument("expected no parameter of type !corert.op");
  }
  for (const ProgramType type : function.result_types) {
    if (type == ProgramType::kOp || type == ProgramType::kOpHandler) {
      return InvalidArgument("expected to give tensors and chains, got a result of type ", ProgramTypeName(type));
    }
  }
  const ProgramRunner::Signature wanted = SignatureOf(function);
  if (wanted.num_arguments != num_arguments) {
    return InvalidArgument("expected ", wanted.num_arguments, " arguments, got ", num_arguments);
  }
  if (wanted.num_results != num_results) {
    return InvalidArgument("expected ", wanted.num_results, " results, got ", num_results);
  }
  return Status();
}

// A call from outside.
class Call {
 public:
  Call(const ProgramPlan& plan, const PlanFunction& function, const ExecutionContext& exec)
      : plan_(plan), function_(function), exec_(exec) {}

  // An error if nothing was called; then the arguments are as they were.
  Status Run(std::span<TensorHandle> tensors, std::span<TensorHandle> results, AsyncValueRef<Chain>* chain) {
    const ProgramFunction& source = *function_.source;
    TANDEM_RETURN_IF_ERROR(CheckCallable(source, tensors.size(), results.size()));
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].IsValid()) return InvalidArgument("expected argument ", i, " to be a tensor, got a null handle");
    }
    TANDEM_RETURN_IF_ERROR(exec_.CheckActive());
    ProgramValues arguments;
    ProgramValues values;
    // With room for the chain of the caller.
    const size_t num_values = source.result_types.size();
    if (!arguments.Init(source.num_parameters) || !values.Init(num_values + 1)) {
      return Status::OutOfMemory();
    }
    size_t next = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ProgramType type = source.value_types[i];
      if (IsTensor(type)) {
        arguments[i].tensor = std::move(tensors[next++]);
      } else if (type == ProgramType::kOpHandler) {
        arguments[i].handler = plan_.default_handler();
      } else {
        arguments[i].chain = chain != nullptr && chain->IsValid() ? chain->CopyRef() : MakeReadyChain();
      }
    }
    ExecuteFunction(plan_, function_, exec_, 0, arguments.span(), values.span().first(num_values));
    next = 0;
    size_t num_chains = 0;
    for (size_t i = 0; i < num_values; ++i) {
      if (IsTensor(source.result_types[i])) {
        results[next++] = std::move(values[i].tensor);
      } else {
        values[num_chains++].chain = std::move(values[i].chain);
      }
    }
    if (chain == nullptr) return Status();
    // What the function does not take it does not wait for, but who waits for the function's effects may wait for it.
    if (num_chains > 0 && !TakesChain(source) && chain->IsValid() && !chain->IsConcrete()) {
      values[num_chains++].chain = std::move(*chain);
    }
    SetChain(values.span().first(num_chains), *chain);
    return Status();
  }

 private:
  void SetChain(std::span<ProgramValue> chains, AsyncValueRef<Chain>& chain) {
    if (chains.empty()) {
      if (!chain.IsValid()) chain = MakeReadyChain();
    } else if (chains.size() == 1) {
      chain = std::move(chains[0].chain);
    } else {
      chain = MergeChains(exec_, chains);
    }
  }

  const ProgramPlan& plan_;
  const PlanFunction& function_;
  const ExecutionContext& exec_;
};

}  // namespace

ProgramRunner::ProgramRunner(RcRef<const ProgramPlan> plan) : plan_(std::move(plan)) {}
ProgramRunner::ProgramRunner(const ProgramRunner&) = default;
ProgramRunner::ProgramRunner(ProgramRunner&&) noexcept = default;
ProgramRunner& ProgramRunner::operator=(ProgramRunner other) noexcept {
  std::swap(plan_, other.plan_);
  return *this;
}
ProgramRunner::~ProgramRunner() = default;

StatusOr<ProgramRunner> ProgramRunner::Create(CoreRuntime& runtime, RcRef<const Program> program, Options options) {
  if (!program) return InvalidArgument("expected a program, got null");
  TANDEM_ASSIGN_OR_RETURN(RcRef<const ProgramPlan> plan, ProgramPlan::Create(runtime, std::move(program), options));
  return ProgramRunner(std::move(plan));
}

const Program& ProgramRunner::program() const { return plan_->program(); }

StatusOr<ProgramRunner::Signature> ProgramRunner::SignatureOf(std::string_view function) const {
  const PlanFunction* const found = plan_->Find(function);
  if (found == nullptr) return NotFound(program(), function);
  return tandem::SignatureOf(*found->source);
}

void ProgramRunner::Run(std::string_view function, const ExecutionContext& exec, std::span<TensorHandle> arguments,
                        std::span<TensorHandle> results, AsyncValueRef<Chain>* chain) const {
  const PlanFunction* const found = plan_->Find(function);
  Status error =
      found == nullptr ? NotFound(program(), function) : Call(*plan_, *found, exec).Run(arguments, results, chain);
  if (!error.ok()) FailInvocation({exec, arguments, OpAttrsRef(), results, chain}, function, std::move(error));
}

StatusOr<Op> ProgramRunner::MakeOp(std::string_view function) const {
  const PlanFunction* const found = plan_->Find(function);
  if (found == nullptr) return NotFound(program(), function);
  const ProgramFunction& source = *found->source;
  const Signature signature = tandem::SignatureOf(source);
  if (signature.num_arguments != source.num_parameters || signature.num_results != source.result_types.size()) {
    return InvalidArgument("expected a function of tensors, got @", function, ", which takes or gives others");
  }
  RcRef<const OpImpl> op = MakeProgramOp(plan_, *found, 0);
  if (!op) return Status::OutOfMemory();
  return Op(std::move(op));
}

}  // namespace tandem
