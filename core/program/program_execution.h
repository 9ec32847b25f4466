// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How the functions of a plan are executed: instruction by instruction, without waiting.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_EXECUTION_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_EXECUTION_H_

#include <cstdint>
#include <span>

#include "program_plan.h"
#include "tandem/chain.h"
#include "tandem/execution_context.h"
#include "tandem/op_handler.h"
#include "tandem/ref_counted.h"
#include "tandem/small_array.h"
#include "tandem/tensor_handle.h"

namespace tandem {

// What a value of a program is while it runs: one of these, by its type. A shape is a tensor.
struct ProgramValue {
  TensorHandle tensor;
  AsyncValueRef<Chain> chain;  // also the error of an op handler or an op that could not be had
  OpHandler* handler = nullptr;
  RcRef<const OpImpl> op;

  ProgramValue CopyRef() const {
    ProgramValue copy;
    if (tensor.IsValid()) copy.tensor = tensor.CopyRef();
    if (chain.IsValid()) copy.chain = chain.CopyRef();
    copy.handler = handler;
    copy.op = op;
    return copy;
  }
};

// Arguments and results of functions.
using ProgramValues = SmallArray<ProgramValue, 6>;

// Calls a function: consumes the arguments, and fills the results, of which `results` has the number. `depth` functions
// are being called already.
void ExecuteFunction(const ProgramPlan& plan, const PlanFunction& function, const ExecutionContext& exec, int depth,
                     std::span<ProgramValue> arguments, std::span<ProgramValue> results);

// Makes each result of a call of `function` this error, which has been told.
void FailResults(const PlanFunction& function, const Status& error, std::span<ProgramValue> results);

// A function of tensors as an op. Null if memory is exhausted.
RcRef<const OpImpl> MakeProgramOp(RcRef<const ProgramPlan> plan, const PlanFunction& function, int depth);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_EXECUTION_H_
