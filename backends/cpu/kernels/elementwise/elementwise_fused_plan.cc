// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which steps are computed in tiles, which by their rows, and where what they give goes.

#include "kernels/elementwise/elementwise_fused_plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

namespace tandem::cpu {

namespace {

// Elements as they are.
template <size_t kSize>
void CopyRow(const void* const* operands, void* out, int64_t n) {
  std::memcpy(out, operands[0], static_cast<size_t>(n) * kSize);
}

// Elements from which on code that is made for a group is worth the time that it takes, some 100 microseconds.
constexpr int64_t kLeastForCode = 1024;

bool HasCodeDType(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kU32 || dtype == DType::kBool;
}

}  // namespace

Row CopyRowOf(size_t size) {
  switch (size) {
    case 1:
      return &CopyRow<1>;
    case 2:
      return &CopyRow<2>;
    case 4:
      return &CopyRow<4>;
    default:
      return &CopyRow<8>;
  }
}

FusedRecipe::FusedRecipe(std::shared_ptr<const ElementwiseGroup> group, const CastRows& casts, LoopCodes& codes,
                         std::vector<Step> steps)
    : group_(std::move(group)), casts_(casts), codes_(codes), steps_(std::move(steps)), last_uses_(steps_.size()) {
  for (size_t i = 0; i < group_->outputs().size(); ++i) {
    steps_[group_->outputs()[i]].output = static_cast<uint32_t>(i);
  }
  AssignBuffers();
}

// Gives results that are not outputs buffers, which are used again when nobody reads them any more.
void FusedRecipe::AssignBuffers() {
  const uint32_t num_inputs = group_->num_inputs();
  std::vector<size_t> num_uses(steps_.size(), 0);
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (uint32_t k = 0; k < steps_[i].num_operands; ++k) {
      const uint32_t operand = steps_[i].operands[k];
      if (operand < num_inputs) continue;
      last_uses_[operand - num_inputs] = i;
      ++num_uses[operand - num_inputs];
    }
  }
  std::vector<uint32_t> free;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.output == kNoBuffer) {
      step.is_for_next_only = num_uses[i] == 1 && last_uses_[i] == i + 1;
      if (free.empty()) free.push_back(num_buffers_++);
      step.buffer = free.back();
      free.pop_back();
    }
    // Only now: a row does not write to what it reads.
    for (size_t j = 0; j < i; ++j) {
      if (last_uses_[j] == i && steps_[j].buffer != kNoBuffer) free.push_back(steps_[j].buffer);
    }
  }
}

RcRef<const FusedPlan> FusedRecipe::PlanFor(std::span<const TensorMetadata* const> inputs) const {
  const auto is_same = [](const TensorMetadata* given, const TensorMetadata& known) { return *given == known; };
  {
    const std::lock_guard lock(mutex_);
    if (last_ && std::ranges::equal(inputs, last_->typing().inputs, is_same)) return last_;
  }
  RcRef<const ElementwiseGroup::Typing> typing = group_->Infer(inputs);
  RcRef<FusedPlan> plan = MakeRef<FusedPlan>();
  if (!typing || !plan || !plan->Init(*this, std::move(typing))) return nullptr;
  RcRef<const FusedPlan> made(std::move(plan));
  const std::lock_guard lock(mutex_);
  last_ = made;
  return made;
}

const TensorMetadata& FusedPlan::At(uint32_t place) const {
  return place < num_inputs() ? typing_->inputs[place] : typing_->results[place - num_inputs()];
}

bool FusedPlan::Init(const FusedRecipe& recipe, RcRef<const ElementwiseGroup::Typing> typing) {
  typing_ = std::move(typing);
  const size_t num_steps = recipe.steps().size();
  // Of a step in a run there are at most three: loading, computing, storing.
  if (!steps_.Init(num_steps) || !parts_.Init(3 * num_steps) || !is_single_.Init(num_inputs())) return false;
  for (uint32_t i = 0; i < num_inputs(); ++i) widest_ = std::max(widest_, DTypeSize(At(i).dtype));
  for (size_t i = 0; i < num_steps; ++i) {
    InitStep(recipe, i);
    const RowFunction& function = steps_[i].function;
    widest_ = std::max({widest_, DTypeSize(typing_->results[i].dtype), size_t{function.widened_size},
                        size_t{function.unnarrowed_size}});
  }
  if (shape().num_elements() >= kTileElements) FindRuns(recipe);
  if (recipe.codes().IsEnabled() && shape().num_elements() >= kLeastForCode && !FindCodeRuns(recipe)) return false;
  for (uint32_t i = 0; i < num_inputs(); ++i) {
    is_single_[i] = At(i).num_elements() == 1 && shape().num_elements() != 1 && CanReadAsSingle(i);
    if (is_single_[i]) ReadAsSingle(i);
  }
  return true;
}

void FusedPlan::InitStep(const FusedRecipe& recipe, size_t i) {
  const FusedRecipe::Step& source = recipe.steps()[i];
  Step& step = steps_[i];
  step.num_operands = source.num_operands;
  step.operands = source.operands;
  if (source.rows == nullptr) {
    const DType from = At(source.operands[0]).dtype;
    const DType to = typing_->results[i].dtype;
    if (from == to) {
      step.function.row = CopyRowOf(DTypeSize(to));
    } else {
      step.function = recipe.casts().Function(from, to, source.truncates);
    }
    cost_ += 0.3;
    return;
  }
  const StepRow& row = (*source.rows)[static_cast<size_t>(typing_->kernel_dtypes[i])];
  step.function = row.function;
  if (row.parameter != nullptr) step.function.parameter = &source.parameter;
  if (row.flag != nullptr && source.flag) step.function.row = row.row_if_flag;
  if (row.swaps) std::swap(step.operands[0], step.operands[1]);
  cost_ += row.cost;
}

// Two steps that follow each other, or more, are a run if both can be computed in tiles.
void FusedPlan::FindRuns(const FusedRecipe& recipe) {
  const auto is_tiled = [&](size_t i) {
    return recipe.steps()[i].tile_ops != nullptr && typing_->kernel_dtypes[i] == DType::kF32;
  };
  for (size_t begin = 0, end; begin < steps_.size(); begin = end + 1) {
    end = begin;
    while (end < steps_.size() && is_tiled(end)) ++end;
    if (end - begin < 2) continue;
    steps_[begin].run_end = static_cast<uint32_t>(end);
    steps_[begin].begin_part = static_cast<uint32_t>(num_parts_);
    for (size_t i = begin; i < end; ++i) AddToRun(recipe, i, i == begin, i + 1 == end);
    steps_[begin].end_part = static_cast<uint32_t>(num_parts_);
  }
  const auto stays_or_is_result = [&](const Part& part) {
    return part.op != TileOp::kStore || recipe.steps()[part.place - num_inputs()].output != kNoBuffer;
  };
  is_in_registers_ = steps_[0].run_end == steps_.size() && std::ranges::all_of(parts(), stays_or_is_result);
}

// What the step before gave is in registers.
void FusedPlan::AddToRun(const FusedRecipe& recipe, size_t i, bool is_first, bool is_last) {
  const FusedRecipe::Step& source = recipe.steps()[i];
  const std::array<uint32_t, kMaxOperands>& operands = source.operands;
  const auto is_loaded = [&](uint32_t operand) { return !is_first && operand == num_inputs() + i - 1; };
  const bool is_binary = source.num_operands == 2;
  const bool is_second = is_binary && !is_loaded(operands[0]) && is_loaded(operands[1]);
  if (!is_second && !is_loaded(operands[0])) AddPart(TileOp::kLoad, operands[0]);
  const TileOp op = is_second ? source.tile_ops->if_second : source.tile_ops->if_first;
  const uint32_t y = operands[is_binary && !is_second ? 1 : 0];
  if (op == TileOp::kAdd && parts_[num_parts_ - 1].op == TileOp::kNeg) {
    parts_[num_parts_ - 1] = {TileOp::kSubFrom, y};  // -x + y is y - x, the same bits
  } else {
    AddPart(op, y);
  }
  if (is_last || !source.is_for_next_only) AddPart(TileOp::kStore, num_inputs() + i);
}

ElementCode FusedPlan::CodeOf(const FusedRecipe& recipe, size_t i) const {
  const FusedRecipe::Step& source = recipe.steps()[i];
  const auto has_code_dtype = [this](uint32_t place) { return HasCodeDType(At(place).dtype); };
  const uint32_t result = static_cast<uint32_t>(num_inputs() + i);
  const auto operands = std::span(source.operands).first(source.num_operands);
  if (!has_code_dtype(result) || !std::ranges::all_of(operands, has_code_dtype)) return {};
  if (source.rows == nullptr) return FindCastCode(At(operands[0]).dtype, At(result).dtype);
  return FindElementCode(recipe.group().steps()[i].def->name, typing_->kernel_dtypes[i]);
}

// Two steps that follow each other, or more, are a run if all of them have code. False if memory is exhausted.
bool FusedPlan::FindCodeRuns(const FusedRecipe& recipe) {
  for (size_t begin = 0, end; begin < steps_.size(); begin = std::max(end, begin + 1)) {
    end = begin;
    while (end < steps_.size() && end - begin < kMaxLoopSteps && !CodeOf(recipe, end).empty()) ++end;
    if (end - begin < 2) continue;
    CodeRun run;
    if (!MakeCodeRun(recipe, begin, end, run)) continue;
    steps_[begin].code_end = static_cast<uint32_t>(end);
    steps_[begin].code_run = static_cast<uint32_t>(code_runs_.size());
    if (code_runs_.Append(std::move(run)) == nullptr) return false;
  }
  return true;
}

// False if there is no code for all of them at once: then it is done without.
bool FusedPlan::MakeCodeRun(const FusedRecipe& recipe, size_t begin, size_t end, CodeRun& run) const {
  // Places in the loop of those of the group.
  std::array<ElementLoop::Input, kMaxLoopInputs> inputs;
  std::array<ElementLoop::Step, kMaxLoopSteps> steps;
  std::array<uint32_t, kMaxLoopInputs + kMaxLoopSteps> places;
  size_t num_loop_inputs = 0;
  const auto first = static_cast<uint32_t>(num_inputs() + begin);
  const auto past = static_cast<uint32_t>(num_inputs() + end);
  const auto is_of_run = [&](uint32_t place) { return place >= first && place < past; };
  for (size_t i = begin; i < end; ++i) {
    for (const uint32_t place : std::span(recipe.steps()[i].operands).first(recipe.steps()[i].num_operands)) {
      if (is_of_run(place) || std::ranges::count(std::span(places).first(num_loop_inputs), place) > 0) continue;
      if (num_loop_inputs == kMaxLoopInputs) return false;
      const bool is_single = place < num_inputs() && At(place).num_elements() == 1;
      inputs[num_loop_inputs] = {At(place).dtype == DType::kBool, is_single};
      places[num_loop_inputs++] = place;
    }
  }
  const auto loop_place = [&](uint32_t place) {
    if (is_of_run(place)) return static_cast<uint32_t>(num_loop_inputs) + place - first;
    return static_cast<uint32_t>(std::ranges::find(places, place) - places.begin());
  };
  size_t num_places = num_loop_inputs;
  for (size_t i = begin; i < end; ++i) {
    const FusedRecipe::Step& source = recipe.steps()[i];
    ElementLoop::Step& step = steps[i - begin];
    step.code = CodeOf(recipe, i);
    step.parameter = source.parameter;
    step.gives_bool = typing_->results[i].dtype == DType::kBool;
    step.is_stored = source.output != kNoBuffer || recipe.LastUse(i) >= end;
    for (size_t k = 0; k < source.num_operands; ++k) step.operands[k] = loop_place(source.operands[k]);
    if (!step.is_stored) continue;
    // An element of a buffer is stored after it was read only if all are of one size.
    const auto may_be_stored = [&](uint32_t place) {
      return place < num_inputs() || recipe.steps()[place - num_inputs()].buffer != source.buffer ||
             source.buffer == kNoBuffer || DTypeSize(At(place).dtype) == DTypeSize(typing_->results[i].dtype);
    };
    if (!std::ranges::all_of(std::span(places).first(num_loop_inputs), may_be_stored)) return false;
    places[num_places++] = static_cast<uint32_t>(num_inputs() + i);
  }
  run.code = recipe.codes().Find({std::span(inputs).first(num_loop_inputs), std::span(steps).first(end - begin)});
  if (!run.code || !run.places.Reserve(num_places)) return false;
  for (size_t i = 0; i < num_places; ++i) std::ignore = run.places.Append(places[i]);
  return true;
}

bool FusedPlan::CanReadAsSingle(uint32_t input) const {
  size_t run_end = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    run_end = std::max(run_end, size_t{step.run_end});
    for (int k = 0; k < step.num_operands; ++k) {
      if (step.operands[k] != input) continue;
      const RowFunction& function = step.function;
      if (i < run_end || step.num_operands != 2 || function.ConvertsAny()) return false;
      if ((k == 0 ? function.row_if_first_single : function.row_if_rest_single) == nullptr) return false;
      // The other operand has to be a whole one.
      const uint32_t other = step.operands[1 - k];
      if (other == input || At(other).num_elements() != shape().num_elements()) return false;
    }
  }
  return true;
}

void FusedPlan::ReadAsSingle(uint32_t input) {
  for (Step& step : steps_) {
    if (step.operands[0] == input) step.function.row = step.function.row_if_first_single;
    if (step.num_operands == 2 && step.operands[1] == input) step.function.row = step.function.row_if_rest_single;
  }
}

}  // namespace tandem::cpu
