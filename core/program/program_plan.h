// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramPlan: a program made ready for a runtime: ops and op handlers resolved, constants as tensors, values in slots.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_PLAN_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/elementwise_group.h"
#include "tandem/location.h"
#include "tandem/op_attrs.h"
#include "tandem/op_handler.h"
#include "tandem/program.h"
#include "tandem/program_runner.h"
#include "tandem/tensor_handle.h"

namespace tandem {

struct PlanFunction;
class PlanEpilogue;

// A value as an instruction uses it.
struct PlanOperand {
  uint32_t slot : 31;
  uint32_t is_last_use : 1;  // it is moved, so that a kernel may take over its memory
  // A constant on the device where the instruction wants it; null: what is in the slot. An error if it could not be
  // brought there: then the instruction gets what is in the slot, too.
  const TensorHandle* on_device = nullptr;
};

// Where a tensor of a pending condition will be, which has to be said before it is known which function gives it.
struct PlanPlace {
  const Device* device = nullptr;  // null: where an argument is
  uint32_t argument = 0;
};

// Steps that follow each other and are computed as one where what they are given allows it.
struct PlanFusion {
  // One of them: element-wise ops, or a product or convolution with what follows it.
  std::shared_ptr<const ElementwiseGroup> group;
  std::shared_ptr<const PlanEpilogue> epilogue;
  Op op;             // the group, or the op that has epilogues
  OpAttrsRef attrs;  // of that
  size_t num_steps = 0;
  std::vector<PlanOperand> inputs;  // of the op
  std::vector<uint32_t> results;    // slots of its outputs
  Location location;                // of the last step, or of the product
};

// An instruction.
struct PlanStep {
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  ProgramKernel kernel = ProgramKernel::kReturn;
  std::vector<PlanOperand> operands;
  std::vector<uint32_t> results;  // slots; kNoSlot for what nobody uses
  const PlanFunction* functions[2] = {nullptr, nullptr};
  std::string_view name;         // that the instruction has, else its kernel's; belongs to the program
  Op op;                         // of an op whose handler is known
  OpAttrsRef attrs;              // of it
  OpHandler* handler = nullptr;  // that it names, if that is known
  TensorHandle tensor;           // of a constant
  Location location;
  std::unique_ptr<const PlanFusion> fusion;  // of the steps from this one on; null: there is none
};

struct PlanFunction {
  const ProgramFunction* source = nullptr;
  uint32_t num_slots = 0;
  std::vector<uint32_t> parameters;  // slots; kNoSlot for those that are not used
  std::vector<PlanStep> steps;
  std::vector<PlanPlace> places;  // of the results
};

// Immutable. Its memory is reached by pending calls, each of which holds a reference.
class ProgramPlan : public RefCounted<ProgramPlan> {
 public:
  static StatusOr<RcRef<const ProgramPlan>> Create(CoreRuntime& runtime, RcRef<const Program> program,
                                                   const ProgramRunner::Options& options);

  CoreRuntime& runtime() const { return runtime_; }
  const Program& program() const { return *program_; }
  // Null if there is none.
  const PlanFunction* Find(std::string_view function) const;
  // What a function gets that takes an op handler from outside; null if there is none.
  OpHandler* default_handler() const { return default_handler_; }
  // By name, where it could not be resolved before.
  StatusOr<OpHandler*> FindHandler(std::string_view name) const;

 private:
  friend class RefCounted<ProgramPlan>;
  friend class PlanBuilder;
  ProgramPlan(CoreRuntime& runtime, RcRef<const Program> program, const ProgramRunner::Options& options)
      : runtime_(runtime), program_(std::move(program)), options_(options) {}
  ~ProgramPlan() = default;

  CoreRuntime& runtime_;
  const RcRef<const Program> program_;
  const ProgramRunner::Options options_;
  OpHandler* default_handler_ = nullptr;
  std::vector<PlanFunction> functions_;  // as in the program
  // Constants on other devices than the program's, each brought there once.
  std::vector<std::unique_ptr<const TensorHandle>> on_devices_;
};

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_PLAN_H_
