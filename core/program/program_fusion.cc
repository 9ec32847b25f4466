// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs of element-wise ops.

#include "program_fusion.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "defs/attr_conversion.h"
#include "tandem/elementwise_group.h"

namespace tandem {

namespace {

// More ops than that are more than one group, which each call looks at once.
constexpr size_t kMaxSteps = 256;

class Run {
 public:
  // `last_uses` has, for each value, the step that uses it last.
  Run(std::span<const ProgramInstruction* const> instructions, std::span<const size_t> last_uses,
      std::span<PlanStep> steps, size_t begin)
      : instructions_(instructions), last_uses_(last_uses), steps_(steps), begin_(begin), end_(begin) {}

  // Adds the next step if it belongs to the run.
  bool Extend() {
    const PlanStep& step = steps_[end_];
    if (end_ - begin_ == kMaxSteps || !step.op.IsValid() || step.kernel != ProgramKernel::kExecuteOp) return false;
    if (step.handler->fuser() == nullptr || step.handler != steps_[begin_].handler) return false;
    const ProgramInstruction& instruction = *instructions_[end_];
    const std::span<const uint32_t> arguments = std::span(instruction.operands).subspan(1);
    const auto is_of_run = [&](uint32_t value) { return defined_.contains(value); };
    if (end_ > begin_ && std::ranges::none_of(arguments, is_of_run)) return false;
    ElementwiseStep next;
    if (instruction.results.size() != 1 || !Describe(step, next)) return false;
    next.operands.assign(arguments.begin(), arguments.end());  // as values, for now
    group_steps_.push_back(std::move(next));
    defined_.emplace(instruction.results[0], static_cast<uint32_t>(group_steps_.size() - 1));
    ++end_;
    return true;
  }

  size_t end() const { return end_; }

  Status Finish() {
    if (group_steps_.size() < 2) return Status();
    auto fusion = std::make_unique<PlanFusion>();
    std::map<uint32_t, uint32_t> inputs;  // values from outside, and their places
    AddInputs(inputs, *fusion);
    for (ElementwiseStep& step : group_steps_) {
      for (uint32_t& operand : step.operands) {
        const auto found = defined_.find(operand);
        operand = found == defined_.end() ? inputs.at(operand) : static_cast<uint32_t>(inputs.size()) + found->second;
      }
    }
    std::vector<uint32_t> outputs = FindOutputs(*fusion);
    OpHandler& handler = *steps_[begin_].handler;
    fusion->group = std::make_shared<const ElementwiseGroup>(*handler.fuser(), static_cast<uint32_t>(inputs.size()),
                                                             std::move(group_steps_), std::move(outputs));
    TANDEM_ASSIGN_OR_RETURN(fusion->op, handler.MakeGroupOp(fusion->group));
    fusion->num_steps = end_ - begin_;
    fusion->location = steps_[end_ - 1].location;
    steps_[begin_].fusion = std::move(fusion);
    return Status();
  }

 private:
  // The op of a step as part of a group. False if it is none.
  bool Describe(const PlanStep& step, ElementwiseStep& next) const {
    OwnKernels own = step.op.impl()->own_kernels();
    // A layer with a fuser is one for ops of the handler below.
    OpHandler* handler = step.handler;
    while (handler != own.handler && handler->fuser() != nullptr && handler->kernel_handler() == nullptr) {
      handler = handler->fallback();
    }
    if (own.handler != handler || own.dtypes.IsEmpty() || own.def->kind != OpKind::kElementwise) return false;
    next.def = std::move(own.def);
    next.dtypes = own.dtypes;
    // Numbers of another type than the definition's, which calls accept.
    const StatusOr<OpAttrsRef> converted = ConvertAttrs(*next.def, step.attrs);
    if (!converted.ok()) return false;
    next.attrs = converted->empty() ? step.attrs : *converted;
    return step.handler->fuser()->CanFuse(*next.def, next.attrs);
  }

  void AddInputs(std::map<uint32_t, uint32_t>& inputs, PlanFusion& fusion) const {
    for (size_t i = begin_; i < end_; ++i) {
      for (size_t k = 1; k < steps_[i].operands.size(); ++k) {
        const uint32_t value = instructions_[i]->operands[k];
        if (defined_.contains(value)) continue;
        const auto [place, is_new] = inputs.emplace(value, static_cast<uint32_t>(inputs.size()));
        const PlanOperand& operand = steps_[i].operands[k];
        if (is_new) fusion.inputs.push_back({.slot = operand.slot, .is_last_use = 0, .on_device = operand.on_device});
        // Moved if any of the steps is its last use.
        if (operand.is_last_use) fusion.inputs[place->second].is_last_use = 1;
      }
    }
  }

  // What is used outside of the run, and what the last step gives.
  std::vector<uint32_t> FindOutputs(PlanFusion& fusion) const {
    std::vector<uint32_t> outputs;
    for (uint32_t i = 0; i < group_steps_.size(); ++i) {
      const uint32_t value = instructions_[begin_ + i]->results[0];
      if (i + 1 < group_steps_.size() && last_uses_[value] < end_) continue;
      outputs.push_back(i);
      fusion.results.push_back(steps_[begin_ + i].results[0]);
    }
    return outputs;
  }

  const std::span<const ProgramInstruction* const> instructions_;
  const std::span<const size_t> last_uses_;
  const std::span<PlanStep> steps_;
  const size_t begin_;
  size_t end_;
  std::vector<ElementwiseStep> group_steps_;
  std::map<uint32_t, uint32_t> defined_;  // values of the run, and their steps
};

}  // namespace

Status FuseSteps(size_t num_values, std::span<const ProgramInstruction* const> instructions,
                 std::span<PlanStep> steps) {
  std::vector<size_t> last_uses(num_values, 0);
  for (size_t i = 0; i < instructions.size(); ++i) {
    for (const uint32_t value : instructions[i]->operands) last_uses[value] = i;
  }
  for (size_t i = 0; i < steps.size();) {
    if (steps[i].fusion != nullptr) {
      i += steps[i].fusion->num_steps;
      continue;
    }
    Run run(instructions, last_uses, steps, i);
    while (run.end() < steps.size() && run.Extend()) {
    }
    TANDEM_RETURN_IF_ERROR(run.Finish());
    i = std::max(run.end(), i + 1);
  }
  return Status();
}

}  // namespace tandem
