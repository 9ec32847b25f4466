// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Rows on blocks. An input that has the result's shape is read where it lies, one that is stretched is expanded to a
// block; results that nobody outside needs go to buffers of a block.

#include "kernels/elementwise/elementwise_fused.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel.h"

namespace tandem::cpu {

namespace {

constexpr float kByteCost = 0.02f;     // nanoseconds, of memory outside of the cache
constexpr size_t kBufferBytes = 4096;  // as those of the loop of one op
constexpr int64_t kSmall = 1024;       // elements that are not worth sharing out
constexpr uint32_t kNoBuffer = UINT32_MAX;

// Elements as they are.
template <size_t kSize>
void CopyRow(const void* const* operands, void* out, int64_t n) {
  std::memcpy(out, operands[0], static_cast<size_t>(n) * kSize);
}

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

// What is the same for all calls of a group.
struct Recipe {
  struct Step {
    const StepRows* rows;                         // null: a cast
    std::array<uint32_t, kMaxOperands> operands;  // as in the group
    uint8_t num_operands;
    float parameter = 0;
    bool flag = false;
    bool truncates = false;       // a cast
    uint32_t output = kNoBuffer;  // result of the kernel, if it is one
    uint32_t buffer = kNoBuffer;  // else
  };
  std::shared_ptr<const ElementwiseGroup> group;
  CastRows casts;
  std::vector<Step> steps;
  uint32_t num_buffers = 0;
};

// Gives results that are not outputs buffers, which are used again when nobody reads them any more.
void AssignBuffers(Recipe& recipe) {
  const uint32_t num_inputs = recipe.group->num_inputs();
  std::vector<size_t> last_uses(recipe.steps.size(), 0);
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    for (uint32_t k = 0; k < recipe.steps[i].num_operands; ++k) {
      const uint32_t operand = recipe.steps[i].operands[k];
      if (operand >= num_inputs) last_uses[operand - num_inputs] = i;
    }
  }
  std::vector<uint32_t> free;
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    Recipe::Step& step = recipe.steps[i];
    if (step.output == kNoBuffer) {
      if (free.empty()) free.push_back(recipe.num_buffers++);
      step.buffer = free.back();
      free.pop_back();
    }
    // Only now: a row does not write to what it reads.
    for (size_t j = 0; j < i; ++j) {
      if (last_uses[j] == i && recipe.steps[j].buffer != kNoBuffer) free.push_back(recipe.steps[j].buffer);
    }
  }
}

// Where elements of a block are: at `data`, which goes `step` bytes forward with each element of the result.
struct Place {
  std::byte* data = nullptr;
  int64_t step = 0;
  std::byte* At(int64_t position) const { return data + position * step; }
};

// One call.
class FusedLoop {
 public:
  explicit FusedLoop(const Recipe& recipe, const ElementwiseGroup::Typing& typing)
      : recipe_(recipe), typing_(typing), shape_(typing.results[0].shape) {}

  // False if memory is exhausted.
  [[nodiscard]] bool Init(const KernelFrame& frame);
  void SetOutput(size_t step, void* data) {
    places_[typing_.inputs.size() + step] = {static_cast<std::byte*>(data), SizeOf(step)};
  }
  // False if memory is exhausted.
  [[nodiscard]] bool Compute(int64_t begin, int64_t end) const;
  double cost() const { return cost_; }

 private:
  struct Step {
    RowFunction function;
    bool swaps = false;
    bool is_single[kMaxOperands] = {};
  };
  // What an input that is not read where it lies becomes in a buffer.
  struct Expansion {
    std::optional<ElementwiseLoop> loop;  // none: one element, which fills the buffer once
    RowFunction copy;
    uint32_t input = 0;
    uint32_t buffer = 0;
    int64_t size = 0;
  };

  int64_t SizeOf(size_t step) const { return static_cast<int64_t>(DTypeSize(typing_.results[step].dtype)); }
  void InitStep(size_t i);
  [[nodiscard]] bool InitInputs(const KernelFrame& frame);
  bool IsReadAsSingle(size_t input) const;
  void ComputeBlock(int64_t begin, int64_t n, std::span<const Place> places, std::byte* scratch) const;

  const Recipe& recipe_;
  const ElementwiseGroup::Typing& typing_;
  const TensorShape& shape_;
  SmallArray<Step, 4> steps_;
  SmallArray<Expansion, 2> expansions_;
  size_t num_expansions_ = 0;
  SmallArray<Place, 16> places_;  // of the inputs, then of the steps; those in buffers are set for each thread
  int64_t block_ = 0;             // elements
  double cost_ = 0;
};

bool FusedLoop::Init(const KernelFrame& frame) {
  if (!steps_.Init(recipe_.steps.size()) || !places_.Init(typing_.inputs.size() + recipe_.steps.size())) return false;
  size_t widest = 1;
  for (const TensorMetadata& input : typing_.inputs) widest = std::max(widest, DTypeSize(input.dtype));
  for (size_t i = 0; i < steps_.size(); ++i) {
    InitStep(i);
    const RowFunction& function = steps_[i].function;
    widest = std::max(
        {widest, DTypeSize(typing_.results[i].dtype), size_t{function.widened_size}, size_t{function.unnarrowed_size}});
  }
  block_ = static_cast<int64_t>(kBufferBytes / widest);
  return InitInputs(frame);
}

void FusedLoop::InitStep(size_t i) {
  const Recipe::Step& source = recipe_.steps[i];
  Step& step = steps_[i];
  if (source.rows == nullptr) {
    const uint32_t operand = source.operands[0];
    const uint32_t num_inputs = static_cast<uint32_t>(typing_.inputs.size());
    const DType from =
        operand < num_inputs ? typing_.inputs[operand].dtype : typing_.results[operand - num_inputs].dtype;
    const DType to = typing_.results[i].dtype;
    if (from == to) {
      step.function.row = CopyRowOf(DTypeSize(to));
    } else {
      step.function = recipe_.casts.Function(from, to, source.truncates);
    }
    cost_ += 0.3;
    return;
  }
  const StepRow& row = (*source.rows)[static_cast<size_t>(typing_.kernel_dtypes[i])];
  step.function = row.function;
  if (row.parameter != nullptr) step.function.parameter = &source.parameter;
  if (row.flag != nullptr && source.flag) step.function.row = row.row_if_flag;
  step.swaps = row.swaps;
  cost_ += row.cost;
}

// Whether every step that reads the input can take one element for all.
bool FusedLoop::IsReadAsSingle(size_t input) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Recipe::Step& source = recipe_.steps[i];
    const RowFunction& function = steps_[i].function;
    for (int k = 0; k < source.num_operands; ++k) {
      if (source.operands[k] != input) continue;
      if (source.num_operands != 2 || source.operands[1 - k] == input || function.ConvertsAny()) return false;
      const bool is_first = (k == 0) != steps_[i].swaps;
      if ((is_first ? function.row_if_first_single : function.row_if_rest_single) == nullptr) return false;
      // The other operand has to be a whole one.
      const uint32_t other = source.operands[1 - k];
      if (other < typing_.inputs.size() && typing_.inputs[other].num_elements() != shape_.num_elements()) return false;
    }
  }
  return true;
}

bool FusedLoop::InitInputs(const KernelFrame& frame) {
  if (!expansions_.Init(typing_.inputs.size())) return false;
  uint32_t buffer = recipe_.num_buffers;
  for (size_t i = 0; i < typing_.inputs.size(); ++i) {
    const Tensor& tensor = frame.arg(i);
    const bool is_one = !tensor.IsA(kDenseHost) || tensor.num_elements() == 1;
    auto* const data = static_cast<std::byte*>(const_cast<void*>(tensor.data()));
    const auto size = static_cast<int64_t>(DTypeSize(tensor.dtype()));
    cost_ += kByteCost * static_cast<double>(is_one ? 0 : size);
    if (!is_one && tensor.num_elements() == shape_.num_elements()) {
      places_[i] = {data, size};
      continue;
    }
    if (is_one && shape_.num_elements() == 1) {
      places_[i] = {data, 0};
      continue;
    }
    if (is_one && tensor.num_elements() == 1 && IsReadAsSingle(i)) {
      places_[i] = {data, 0};
      for (size_t s = 0; s < steps_.size(); ++s) {
        for (int k = 0; k < recipe_.steps[s].num_operands; ++k) {
          if (recipe_.steps[s].operands[k] == i) steps_[s].is_single[k] = true;
        }
      }
      continue;
    }
    Expansion& expansion = expansions_[num_expansions_++];
    expansion.input = static_cast<uint32_t>(i);
    expansion.buffer = buffer++;
    expansion.size = size;
    if (is_one) {
      places_[i] = {data, 0};
      continue;
    }
    expansion.copy.row = CopyRowOf(static_cast<size_t>(size));
    const Operand operand = {data, &tensor.shape(), static_cast<size_t>(size), false};
    expansion.loop.emplace(expansion.copy, std::span(&operand, 1), shape_, static_cast<size_t>(size));
  }
  return true;
}

bool FusedLoop::Compute(int64_t begin, int64_t end) const {
  // Buffers of results, of expanded inputs, and those that conversions need.
  const size_t num_buffers = recipe_.num_buffers + num_expansions_ + kMaxOperands + 1;
  constexpr size_t kUsualBuffers = 8;
  alignas(64) std::byte usual[kUsualBuffers * kBufferBytes];
  std::unique_ptr<std::byte[]> more;
  if (num_buffers > kUsualBuffers) {
    more.reset(new (std::nothrow) std::byte[num_buffers * kBufferBytes]);
    if (!more) return false;
  }
  std::byte* const buffers = more ? more.get() : usual;
  SmallArray<Place, 16> places;
  if (!places.Init(places_.size())) return false;
  std::copy(places_.begin(), places_.end(), places.begin());
  for (size_t i = 0; i < recipe_.steps.size(); ++i) {
    const uint32_t buffer = recipe_.steps[i].buffer;
    if (buffer != kNoBuffer) places[typing_.inputs.size() + i] = {buffers + buffer * kBufferBytes, 0};
  }
  for (size_t i = 0; i < num_expansions_; ++i) {
    const Expansion& expansion = expansions_[i];
    std::byte* const to = buffers + expansion.buffer * kBufferBytes;
    if (!expansion.loop) {
      const std::byte* const element = places_[expansion.input].data;
      const int64_t count = std::min(block_, end - begin);
      for (int64_t k = 0; k < count; ++k) {
        std::memcpy(to + k * expansion.size, element, static_cast<size_t>(expansion.size));
      }
    }
    places[expansion.input] = {to, 0};
  }
  std::byte* const scratch = buffers + (recipe_.num_buffers + num_expansions_) * kBufferBytes;
  for (int64_t block = begin; block < end; block += block_) {
    const int64_t n = std::min(block_, end - block);
    for (size_t i = 0; i < num_expansions_; ++i) {
      const Expansion& expansion = expansions_[i];
      if (expansion.loop) expansion.loop->ComputeAt(block, block + n, places[expansion.input].data);
    }
    ComputeBlock(block, n, places.span(), scratch);
  }
  return true;
}

void FusedLoop::ComputeBlock(int64_t begin, int64_t n, std::span<const Place> places, std::byte* scratch) const {
  const size_t num_inputs = typing_.inputs.size();
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Recipe::Step& source = recipe_.steps[i];
    const Step& step = steps_[i];
    const RowFunction& function = step.function;
    std::array<const void*, kMaxOperands + 1> operands;
    operands[source.num_operands] = function.parameter;
    Row row = function.row;
    for (int k = 0; k < source.num_operands; ++k) {
      const int at = step.swaps ? 1 - k : k;
      const void* elements = places[source.operands[k]].At(begin);
      if (function.widen != nullptr) {
        std::byte* const widened = scratch + static_cast<size_t>(k) * kBufferBytes;
        function.widen(&elements, widened, n);
        elements = widened;
      }
      operands[static_cast<size_t>(at)] = elements;
      if (step.is_single[k]) row = at == 0 ? function.row_if_first_single : function.row_if_rest_single;
    }
    std::byte* const to = places[num_inputs + i].At(begin);
    if (function.narrow == nullptr) {
      row(operands.data(), to, n);
      continue;
    }
    std::byte* const unnarrowed = scratch + kMaxOperands * kBufferBytes;
    row(operands.data(), unnarrowed, n);
    const void* const from = unnarrowed;
    function.narrow(&from, to, n);
  }
}

struct FusedKernel {
  std::shared_ptr<const Recipe> recipe;

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
  const RcRef<const ElementwiseGroup::Typing> typing = recipe->group->Infer(inputs.span());
  if (!typing) return Status::OutOfMemory();
  FusedLoop loop(*recipe, *typing);
  if (!loop.Init(frame)) return Status::OutOfMemory();
  const int64_t n = typing->results[0].num_elements();
  double cost = loop.cost();
  for (size_t i = 0; i < recipe->steps.size(); ++i) {
    const uint32_t output = recipe->steps[i].output;
    if (output == kNoBuffer) continue;
    void* const data = MakeOutput(frame, output);
    if (data == nullptr) return Status();  // the results are errors
    loop.SetOutput(i, data);
    cost += kByteCost * static_cast<double>(DTypeSize(typing->results[i].dtype));
  }
  if (n == 0) return Status();
  if (n <= kSmall) return loop.Compute(0, n) ? Status() : Status::OutOfMemory();
  std::atomic<bool> has_memory{true};
  frame.ParallelFor(n, cost, [&](int64_t begin, int64_t end) {
    if (!loop.Compute(begin, end)) has_memory.store(false, std::memory_order_relaxed);
  });
  return has_memory.load(std::memory_order_relaxed) ? Status() : Status::OutOfMemory();
}

}  // namespace

void ElementwiseRowFuser::Add(std::string_view op, DTypeSet dtypes, const StepRow& row) {
  StepRows& rows = rows_[op];
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
  auto recipe = std::make_shared<Recipe>();
  recipe->group = group;
  recipe->casts = casts_;
  float cost = 0;
  for (const ElementwiseStep& source : group->steps()) {
    Recipe::Step& step = recipe->steps.emplace_back();
    if (source.operands.size() > kMaxOperands) return Internal("expected at most ", kMaxOperands, " operands");
    std::copy(source.operands.begin(), source.operands.end(), step.operands.begin());
    step.num_operands = static_cast<uint8_t>(source.operands.size());
    const OpAttrsRef attrs = source.attrs.WithDefaults(source.def->defaults.get());
    const auto found = rows_.find(source.def->name);
    step.rows = found == rows_.end() ? nullptr : &found->second;
    cost += 0.1f;
    if (step.rows == nullptr) {
      step.truncates = attrs.GetOr("Truncate", false);
      continue;
    }
    for (const StepRow& row : *step.rows) {
      if (row.parameter != nullptr) step.parameter = attrs.GetOr(row.parameter, step.parameter);
      if (row.flag != nullptr) step.flag = attrs.GetOr(row.flag, false);
    }
  }
  for (size_t i = 0; i < group->outputs().size(); ++i) {
    recipe->steps[group->outputs()[i]].output = static_cast<uint32_t>(i);
  }
  AssignBuffers(*recipe);
  return tandem::MakeKernel(FusedKernel{std::move(recipe)}).WithCost(cost);
}

}  // namespace tandem::cpu
