// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// By which functions the steps of a group are computed: what is worked out once for a group, and once for inputs of
// some metadata.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_FUSED_PLAN_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_FUSED_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/elementwise/elementwise_code.h"
#include "kernels/elementwise/elementwise_fused.h"
#include "kernels/elementwise/elementwise_tiles.h"
#include "tandem/elementwise_group.h"
#include "tandem/growing_array.h"
#include "tandem/ref_counted.h"
#include "tandem/small_array.h"

namespace tandem::cpu {

inline constexpr uint32_t kNoBuffer = UINT32_MAX;

// Gives elements of `size` bytes as they are.
Row CopyRowOf(size_t size);

class FusedPlan;

// What is the same for all calls of a group. Thread-safe once it is made. Places are those of the group's operands: its
// inputs, then the results of its steps.
class FusedRecipe {
 public:
  struct Step {
    const StepRows* rows;                         // null: a cast
    const TileOps* tile_ops;                      // of f32; null: none
    std::array<uint32_t, kMaxOperands> operands;  // places
    uint8_t num_operands;
    float parameter = 0;
    bool flag = false;
    bool truncates = false;         // a cast
    bool is_for_next_only = false;  // its result is one operand of the step behind it, and used nowhere else
    uint32_t output = kNoBuffer;    // result of the kernel, if it is one
    uint32_t buffer = kNoBuffer;    // else
  };

  // `codes` outlive the recipe.
  FusedRecipe(std::shared_ptr<const ElementwiseGroup> group, const CastRows& casts, LoopCodes& codes,
              std::vector<Step> steps);

  // For inputs that the group can be computed for; null if memory is exhausted. The last one is kept.
  RcRef<const FusedPlan> PlanFor(std::span<const TensorMetadata* const> inputs) const;

  const ElementwiseGroup& group() const { return *group_; }
  const CastRows& casts() const { return casts_; }
  LoopCodes& codes() const { return codes_; }
  std::span<const Step> steps() const { return steps_; }
  // The last step that uses what the step `i` gives; 0 if none does.
  size_t LastUse(size_t i) const { return last_uses_[i]; }
  uint32_t num_buffers() const { return num_buffers_; }

 private:
  void AssignBuffers();

  const std::shared_ptr<const ElementwiseGroup> group_;
  const CastRows casts_;
  LoopCodes& codes_;
  std::vector<Step> steps_;
  std::vector<size_t> last_uses_;
  uint32_t num_buffers_ = 0;
  mutable std::mutex mutex_;
  mutable RcRef<const FusedPlan> last_;
};

// What is the same for all calls with inputs of the same metadata. Immutable.
class FusedPlan final : public RefCounted<FusedPlan> {
 public:
  struct Step {
    RowFunction function;
    std::array<uint32_t, kMaxOperands> operands;  // places, in the order in which the row takes them
    uint8_t num_operands = 0;
    // Of the run of steps in tiles that begins here, if there is one: the step behind it, and its parts.
    uint32_t run_end = 0;
    uint32_t begin_part = 0;
    uint32_t end_part = 0;
    // The same of the run that is computed by code of its own; 0: none begins here.
    uint32_t code_end = 0;
    uint32_t code_run = 0;
  };
  // A step of a run, and the place of what it reads or writes.
  struct Part {
    TileOp op;
    uint32_t place;
  };
  struct CodeRun {
    RcRef<const LoopCode> code;
    GrowingArray<uint32_t> places;  // of its operands, in their order
  };

  // Called once. The recipe outlives the plan. False if memory is exhausted.
  [[nodiscard]] bool Init(const FusedRecipe& recipe, RcRef<const ElementwiseGroup::Typing> typing);

  const ElementwiseGroup::Typing& typing() const { return *typing_; }
  const TensorShape& shape() const { return typing_->results[0].shape; }
  size_t num_inputs() const { return typing_->inputs.size(); }
  const TensorMetadata& At(uint32_t place) const;
  std::span<const Step> steps() const { return {steps_.data(), steps_.size()}; }
  // Of all runs; none if none is worth it.
  std::span<const Part> parts() const { return {parts_.data(), num_parts_}; }
  const CodeRun& code_run(size_t i) const { return code_runs_[i]; }
  // The run that is all steps; null if there is none.
  const CodeRun* WholeRun() const { return steps_[0].code_end == steps_.size() ? &code_runs_[0] : nullptr; }
  // Whether all steps are one run in tiles that stores nothing but results of the kernel.
  bool IsInRegisters() const { return is_in_registers_; }
  // Whether all steps that read an input of one element know that it stands for all.
  bool IsReadAsSingle(size_t input) const { return is_single_[input]; }
  size_t widest() const { return widest_; }  // bytes of the largest element there is on the way
  double cost() const { return cost_; }      // nanoseconds an element

 private:
  void InitStep(const FusedRecipe& recipe, size_t i);
  void FindRuns(const FusedRecipe& recipe);
  void AddToRun(const FusedRecipe& recipe, size_t i, bool is_first, bool is_last);
  void AddPart(TileOp op, size_t place) { parts_[num_parts_++] = {op, static_cast<uint32_t>(place)}; }
  bool FindCodeRuns(const FusedRecipe& recipe);
  ElementCode CodeOf(const FusedRecipe& recipe, size_t i) const;
  bool MakeCodeRun(const FusedRecipe& recipe, size_t begin, size_t end, CodeRun& run) const;
  bool CanReadAsSingle(uint32_t input) const;
  void ReadAsSingle(uint32_t input);

  RcRef<const ElementwiseGroup::Typing> typing_;
  SmallArray<Step, 4> steps_;
  SmallArray<Part, 16> parts_;
  size_t num_parts_ = 0;
  GrowingArray<CodeRun> code_runs_;
  SmallArray<bool, 8> is_single_;  // of each input
  bool is_in_registers_ = false;
  size_t widest_ = 1;
  double cost_ = 0;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_FUSED_PLAN_H_
