// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tiles and rows on blocks. An input that has the result's shape is read where it lies, one that is stretched is
// expanded to a block; results that nobody outside needs stay in registers or go to buffers of a block.

#include "kernels/elementwise/elementwise_fused.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/elementwise/elementwise_fused_plan.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel.h"

namespace tandem::cpu {

namespace {

constexpr float kByteCost = 0.02f;     // nanoseconds, of memory outside of the cache
constexpr size_t kBufferBytes = 4096;  // as those of the loop of one op
constexpr int64_t kSmall = 1024;       // elements that are not worth sharing out

// Where elements of a block are: at `data`, which goes `step` bytes forward with each element of the result.
struct Place {
  std::byte* data = nullptr;
  int64_t step = 0;
  std::byte* At(int64_t position) const { return data + position * step; }
};

// One call.
class FusedLoop {
 public:
  FusedLoop(const FusedRecipe& recipe, const FusedPlan& plan)
      : recipe_(recipe), plan_(plan), block_(static_cast<int64_t>(kBufferBytes / plan.widest())), cost_(plan.cost()) {}

  // False if memory is exhausted.
  [[nodiscard]] bool Init(const KernelFrame& frame);
  void SetOutput(size_t step, void* data) {
    const size_t size = DTypeSize(plan_.typing().results[step].dtype);
    places_[plan_.num_inputs() + step] = {static_cast<std::byte*>(data), static_cast<int64_t>(size)};
    cost_ += kByteCost * static_cast<double>(size);
  }
  // False if memory is exhausted.
  [[nodiscard]] bool Compute(int64_t begin, int64_t end) const;
  double cost() const { return cost_; }

 private:
  // What an input that is not read where it lies becomes in a buffer.
  struct Expansion {
    std::optional<ElementwiseLoop> loop;  // none: one element, which fills the buffer once
    RowFunction copy;
    uint32_t input = 0;
    uint32_t buffer = 0;
    int64_t size = 0;
  };
  // What a thread has of its own.
  struct Work {
    SmallArray<Place, 16> places;
    SmallArray<TileStep, 16> tile_steps;
    std::byte* scratch = nullptr;
  };

  void InitInput(uint32_t input, const Tensor& tensor);
  bool IsWhole(const KernelFrame& frame) const;
  bool RunCode(const FusedPlan::CodeRun& run, std::span<const Place> places, int64_t begin, int64_t n) const;
  void FillOnce(const Expansion& expansion, int64_t n, std::byte* to) const;
  void ComputeBlock(int64_t begin, int64_t n, Work& work) const;
  void ComputeRun(const FusedPlan::Step& first, int64_t begin, int64_t n, Work& work) const;
  void ComputeRow(size_t i, int64_t begin, int64_t n, Work& work) const;

  const FusedRecipe& recipe_;
  const FusedPlan& plan_;
  SmallArray<Expansion, 2> expansions_;
  size_t num_expansions_ = 0;
  SmallArray<Place, 16> places_;  // those in buffers are set for each thread
  int64_t block_;                 // elements
  double cost_;
  bool is_whole_ = false;  // the code of all steps can read all inputs where they lie
};

bool FusedLoop::Init(const KernelFrame& frame) {
  const size_t num_inputs = plan_.num_inputs();
  if (!places_.Init(num_inputs + plan_.steps().size()) || !expansions_.Init(num_inputs)) return false;
  for (uint32_t i = 0; i < num_inputs; ++i) InitInput(i, frame.arg(i));
  is_whole_ = plan_.WholeRun() != nullptr && IsWhole(frame);
  // Blocks are for buffers; only what is left of the tiles needs any.
  if (plan_.IsInRegisters() && num_expansions_ == 0) block_ = plan_.shape().num_elements();
  return true;
}

bool FusedLoop::IsWhole(const KernelFrame& frame) const {
  for (uint32_t i = 0; i < plan_.num_inputs(); ++i) {
    const int64_t wanted = plan_.At(i).num_elements();
    if (wanted == 1) continue;  // the code knows that it stands for all
    if (wanted != plan_.shape().num_elements() || !frame.arg(i).IsA(kDenseHost)) return false;
  }
  return true;
}

// False, and nothing was computed, if the code cannot be run here.
bool FusedLoop::RunCode(const FusedPlan::CodeRun& run, std::span<const Place> places, int64_t begin, int64_t n) const {
  std::array<const void*, kMaxLoopInputs + kMaxLoopSteps> operands;
  const size_t count = run.places.size();
  for (size_t i = 0; i < count; ++i) operands[i] = places[run.places[i]].At(begin);
  return recipe_.codes().Run(*run.code, std::span(operands).first(count), n);
}

void FusedLoop::InitInput(uint32_t input, const Tensor& tensor) {
  auto* const data = static_cast<std::byte*>(const_cast<void*>(tensor.data()));
  const auto size = static_cast<int64_t>(DTypeSize(tensor.dtype()));
  const int64_t n = plan_.shape().num_elements();
  const bool is_one = !tensor.IsA(kDenseHost) || tensor.num_elements() == 1;
  if (!is_one) cost_ += kByteCost * static_cast<double>(size);
  if (!is_one && tensor.num_elements() == n) {
    places_[input] = {data, size};
    return;
  }
  places_[input] = {data, 0};
  if ((is_one && n == 1) || plan_.IsReadAsSingle(input)) return;
  Expansion& expansion = expansions_[num_expansions_];
  expansion.input = input;
  expansion.buffer = recipe_.num_buffers() + static_cast<uint32_t>(num_expansions_++);
  expansion.size = size;
  if (is_one) return;
  expansion.copy.row = CopyRowOf(static_cast<size_t>(size));
  const Operand operand = {data, &tensor.shape(), static_cast<size_t>(size), false};
  expansion.loop.emplace(expansion.copy, std::span(&operand, 1), plan_.shape(), static_cast<size_t>(size));
}

bool FusedLoop::Compute(int64_t begin, int64_t end) const {
  if (is_whole_ && RunCode(*plan_.WholeRun(), {places_.data(), places_.size()}, begin, end - begin)) return true;
  // Buffers of results, of expanded inputs, and those that conversions need.
  const size_t num_buffers = recipe_.num_buffers() + num_expansions_ + kMaxOperands + 1;
  constexpr size_t kUsualBuffers = 8;
  alignas(64) std::byte usual[kUsualBuffers * kBufferBytes];
  std::unique_ptr<std::byte[]> more;
  if (num_buffers > kUsualBuffers) {
    more.reset(new (std::nothrow) std::byte[num_buffers * kBufferBytes]);
    if (!more) return false;
  }
  std::byte* const buffers = more ? more.get() : usual;
  Work work;
  if (!work.places.Init(places_.size()) || !work.tile_steps.Init(plan_.parts().size())) return false;
  work.scratch = buffers + (recipe_.num_buffers() + num_expansions_) * kBufferBytes;
  std::copy(places_.begin(), places_.end(), work.places.begin());
  for (size_t i = 0; i < recipe_.steps().size(); ++i) {
    const uint32_t buffer = recipe_.steps()[i].buffer;
    if (buffer != kNoBuffer) work.places[plan_.num_inputs() + i] = {buffers + buffer * kBufferBytes, 0};
  }
  for (size_t i = 0; i < num_expansions_; ++i) {
    const Expansion& expansion = expansions_[i];
    std::byte* const to = buffers + expansion.buffer * kBufferBytes;
    if (!expansion.loop) FillOnce(expansion, std::min(block_, end - begin), to);
    work.places[expansion.input] = {to, 0};
  }
  while (begin < end) {
    int64_t n = std::min(block_, end - begin);
    // What is left of the tiles is a block of its own.
    if (!plan_.parts().empty() && n > kTileElements) n -= n % kTileElements;
    for (size_t i = 0; i < num_expansions_; ++i) {
      const Expansion& expansion = expansions_[i];
      if (expansion.loop) expansion.loop->ComputeAt(begin, begin + n, work.places[expansion.input].data);
    }
    ComputeBlock(begin, n, work);
    begin += n;
  }
  return true;
}

void FusedLoop::FillOnce(const Expansion& expansion, int64_t n, std::byte* to) const {
  const std::byte* const element = places_[expansion.input].data;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * expansion.size, element, static_cast<size_t>(expansion.size));
  }
}

void FusedLoop::ComputeBlock(int64_t begin, int64_t n, Work& work) const {
  const bool has_tiles = n % kTileElements == 0;
  const std::span<const FusedPlan::Step> steps = plan_.steps();
  for (size_t i = 0; i < steps.size();) {
    if (steps[i].code_end > 0 && RunCode(plan_.code_run(steps[i].code_run), work.places.span(), begin, n)) {
      i = steps[i].code_end;
    } else if (has_tiles && steps[i].run_end > 0) {
      ComputeRun(steps[i], begin, n, work);
      i = steps[i].run_end;
    } else {
      ComputeRow(i++, begin, n, work);
    }
  }
}

void FusedLoop::ComputeRun(const FusedPlan::Step& first, int64_t begin, int64_t n, Work& work) const {
  for (size_t i = first.begin_part; i < first.end_part; ++i) {
    const FusedPlan::Part& part = plan_.parts()[i];
    work.tile_steps[i] = {part.op, work.places[part.place].At(begin)};
  }
  ComputeTiles(work.tile_steps.span().subspan(first.begin_part, first.end_part - first.begin_part), n);
}

void FusedLoop::ComputeRow(size_t i, int64_t begin, int64_t n, Work& work) const {
  const FusedPlan::Step& step = plan_.steps()[i];
  const RowFunction& function = step.function;
  std::array<const void*, kMaxOperands + 1> operands;
  operands[step.num_operands] = function.parameter;
  for (size_t k = 0; k < step.num_operands; ++k) {
    operands[k] = work.places[step.operands[k]].At(begin);
    if (function.widen == nullptr) continue;
    std::byte* const widened = work.scratch + k * kBufferBytes;
    function.widen(&operands[k], widened, n);
    operands[k] = widened;
  }
  std::byte* const to = work.places[plan_.num_inputs() + i].At(begin);
  if (function.narrow == nullptr) return function.row(operands.data(), to, n);
  std::byte* const unnarrowed = work.scratch + kMaxOperands * kBufferBytes;
  function.row(operands.data(), unnarrowed, n);
  const void* const from = unnarrowed;
  function.narrow(&from, to, n);
}

struct FusedKernel {
  std::shared_ptr<const FusedRecipe> recipe;

  Status operator()(KernelFrame& frame) const;
  // Memory for the outputs: if there is one, that of an input where that may be.
  static void* MakeOutput(KernelFrame& frame, size_t i);
};

void* FusedKernel::MakeOutput(KernelFrame& frame, size_t i) {
  // With several, an input would be read after one of them was written.
  for (size_t k = 0; k < frame.num_args() && frame.num_results() == 1; ++k) {
    if (frame.MayTakeOver(k, 0)) return frame.ForwardOrAllocateResult(0, {k});
  }
  return frame.AllocateResult(i);
}

Status FusedKernel::operator()(KernelFrame& frame) const {
  SmallArray<const TensorMetadata*, 8> inputs;
  if (!inputs.Init(frame.num_args())) return Status::OutOfMemory();
  for (size_t i = 0; i < frame.num_args(); ++i) {
    const Tensor& tensor = frame.arg(i);
    if (!tensor.IsA(kDenseHost) && !tensor.IsA(kScalarHost)) return internal::CheckDense(frame, i);
    inputs[i] = &tensor.metadata();
  }
  const RcRef<const FusedPlan> plan = recipe->PlanFor(inputs.span());
  if (!plan) return Status::OutOfMemory();
  const int64_t n = plan->shape().num_elements();
  FusedLoop loop(*recipe, *plan);
  if (!loop.Init(frame)) return Status::OutOfMemory();
  for (size_t i = 0; i < recipe->steps().size(); ++i) {
    const uint32_t output = recipe->steps()[i].output;
    if (output == kNoBuffer) continue;
    void* const data = MakeOutput(frame, output);
    if (data == nullptr) return Status();  // the results are errors
    loop.SetOutput(i, data);
  }
  if (n == 0) return Status();
  if (n <= kSmall) return loop.Compute(0, n) ? Status() : Status::OutOfMemory();
  std::atomic<bool> has_memory{true};
  frame.ParallelFor(n, loop.cost(), [&](int64_t begin, int64_t end) {
    if (!loop.Compute(begin, end)) has_memory.store(false, std::memory_order_relaxed);
  });
  return has_memory.load(std::memory_order_relaxed) ? Status() : Status::OutOfMemory();
}

}  // namespace

ElementwiseRowFuser::ElementwiseRowFuser(CodeRunner runner) : codes_(runner) {
  ForEachRow(casts_, [this](const RowEntry& entry, DTypeSet dtypes, const RowFunction& function) {
    Add(entry, dtypes, function);
  });
}

void ElementwiseRowFuser::Add(const RowEntry& entry, DTypeSet dtypes, const RowFunction& function) {
  // What looks at operands before it computes is no step.
  if (entry.check != nullptr) return;
  const float conversions = function.ConvertsAny() ? static_cast<float>(entry.num_operands + 1) : 0;
  const StepRow row = {function,    entry.cost + conversions * kConversionCost,
                       entry.swaps, entry.parameter,
                       entry.flag,  entry.row_if_flag};
  dtypes = dtypes.IsEmpty() ? DTypeSet{DType::kInvalid} : dtypes & DTypesInBuild(entry.op);
  StepRows& rows = rows_[entry.op];
  for (int i = 0; i < kNumDTypes; ++i) {
    if (dtypes.Contains(static_cast<DType>(i))) rows[static_cast<size_t>(i)] = row;
  }
}

bool ElementwiseRowFuser::CanFuse(const OpDef& def, const OpAttrsRef& attrs) const {
  if (def.kind != OpKind::kElementwise || def.metadata == nullptr || def.has_host_inputs || def.has_side_effects) {
    return false;
  }
  // Shapes that do not fit would give one element.
  if (!attrs.WithDefaults(def.defaults.get()).GetOr("incompatible_shape_error", true)) return false;
  return def.name == "tf.Cast" || rows_.contains(def.name);
}

bool ElementwiseRowFuser::CanFuse(const OpDef& def, DType dtype) const {
  if (def.name == "tf.Cast") return dtype != DType::kString;
  const auto found = rows_.find(def.name);
  return found != rows_.end() && found->second[static_cast<size_t>(dtype)].function.row != nullptr;
}

StatusOr<Kernel> ElementwiseRowFuser::MakeKernel(std::shared_ptr<const ElementwiseGroup> group) const {
  std::vector<FusedRecipe::Step> steps;
  for (const ElementwiseStep& source : group->steps()) {
    FusedRecipe::Step& step = steps.emplace_back();
    if (source.operands.size() > kMaxOperands) return Internal("expected at most ", kMaxOperands, " operands");
    std::copy(source.operands.begin(), source.operands.end(), step.operands.begin());
    step.num_operands = static_cast<uint8_t>(source.operands.size());
    const OpAttrsRef attrs = source.attrs.WithDefaults(source.def->defaults.get());
    const auto found = rows_.find(source.def->name);
    step.rows = found == rows_.end() ? nullptr : &found->second;
    step.tile_ops = FindTileOps(source.def->name);
    if (step.rows == nullptr) {
      step.truncates = attrs.GetOr("Truncate", false);
      continue;
    }
    for (const StepRow& row : *step.rows) {
      if (row.parameter != nullptr) step.parameter = attrs.GetOr(row.parameter, step.parameter);
      if (row.flag != nullptr) step.flag = attrs.GetOr(row.flag, false);
    }
  }
  const float cost = 0.1f * static_cast<float>(steps.size());
  auto recipe = std::make_shared<const FusedRecipe>(std::move(group), casts_, codes_, std::move(steps));
  return tandem::MakeKernel(FusedKernel{std::move(recipe)}).WithCost(cost);
}

}  // namespace tandem::cpu

namespace tandem {

void EnableProgramFusion(KernelOpHandler& cpu, CodeRunner runner) {
  if (cpu.fuser() == nullptr) cpu.SetProgramFuser(std::make_unique<cpu::ElementwiseRowFuser>(runner));
}

void EnableCallFusion(KernelOpHandler& cpu, CodeRunner runner) {
  if (cpu.fuser() == nullptr) cpu.SetFuser(std::make_unique<cpu::ElementwiseRowFuser>(runner));
}

}  // namespace tandem
