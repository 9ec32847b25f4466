// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Instructions that need the content of a tensor: done at once if it is there, else as pending calls, which are
// cancelled and count like any other.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_PENDING_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_PENDING_H_

#include <span>

#include "program_execution.h"

namespace tandem {

// What such an instruction is executed in.
struct ProgramCall {
  const ProgramPlan& plan;
  const PlanStep& step;
  const ExecutionContext& exec;  // with the instruction's location
  int depth;
};

// One of the step's functions, by the condition; `values` are the condition and the arguments. As ExecuteFunction.
void ExecuteCondition(const ProgramCall& call, std::span<ProgramValue> values, std::span<ProgramValue> results);
// The step's second function as long as the first gives true.
void ExecuteLoop(const ProgramCall& call, std::span<ProgramValue> values, std::span<ProgramValue> results);

// The chain of printing a tensor when it is there and `after`, which may be null, has come.
AsyncValueRef<Chain> PrintTensor(const ProgramCall& call, TensorHandle tensor, AsyncValueRef<Chain> after);
// The shape as an i64 tensor [rank], when it is known and `after`, which may be null, has come.
TensorHandle ShapeOfTensor(const ProgramCall& call, TensorHandle tensor, AsyncValueRef<Chain> after);

// Resolves when all do; the first of their errors, if any.
AsyncValueRef<Chain> MergeChains(const ExecutionContext& exec, std::span<ProgramValue> chains);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_PENDING_H_
