// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A group is cut into parts, each of which is a shader within the device's limits; what one part gives to another is a
// temporary tensor.

#include "kernels/elementwise/shader_fuser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/element_types.h"
#include "kernels/elementwise/elementwise_functions.h"
#include "tandem/element_expressions.h"
#include "tandem/gpu/heap_room.h"
#include "tandem/shader/shader_call.h"
#include "tandem/shader/shader_op_handler.h"

namespace tandem::shader {

namespace {

// Of the heap, for a plan and a source of a group of as many ops as programs make.
constexpr size_t kPlanBytes = size_t{1} << 18;

static_assert(std::ranges::all_of(ElementExpressions(), [](const ElementExpression& expression) {
  return expression.num_operands <= FusedStep::kMaxOperands;
}));

// Null if the op has none for operands of this dtype.
const ElementwiseFunction* FindFunction(std::string_view op, DType dtype, const GpuLimits& limits) {
  for (const ElementwiseFunction& function : ElementwiseFunctions()) {
    if (function.source.name == op && DTypesOf(function, limits).Contains(dtype)) return &function;
  }
  return nullptr;
}

}  // namespace

// Cuts a group into parts.
class FusedPlanBuilder {
 public:
  FusedPlanBuilder(const ShaderFuser& fuser, const ElementwiseGroup& group, FusedPlan& plan)
      : fuser_(fuser),
        group_(group),
        plan_(plan),
        typing_(*plan.typing),
        num_inputs_(group.num_inputs()),
        shape_(typing_.results[0].shape) {}

  void Build() {
    for (size_t i = 0; i < group_.steps().size(); ++i) {
      functions_.push_back(FindFunction(group_.steps()[i].def->name, typing_.kernel_dtypes[i], fuser_.limits_));
    }
    FindUses();
    const size_t num_steps = group_.steps().size();
    const size_t most = fuser_.IsFull() ? 1 : ShaderFuser::kMaxSteps;
    for (size_t begin = 0; begin < num_steps;) {
      const size_t end = FindEnd(begin, std::min(num_steps, begin + most));
      AddPart(begin, end);
      begin = end;
    }
  }

 private:
  // What the steps of a part need from outside. Values are the group's: its inputs, then its steps.
  struct Extent {
    std::vector<uint32_t> reads;
    size_t num_alphas = 0;
    size_t num_stretched = 0;
  };

  const TensorMetadata& MetadataOf(uint32_t value) const {
    return value < num_inputs_ ? typing_.inputs[value] : typing_.results[value - num_inputs_];
  }
  bool HasAlpha(size_t step) const { return functions_[step] != nullptr && functions_[step]->attribute != nullptr; }
  // Whether anybody behind the part up to `end` needs the result of a step in it.
  bool IsWritten(size_t step, size_t end) const { return last_uses_[step] >= end; }

  // Of each step, the last one that uses it; behind all for outputs; 0 for what nobody uses.
  void FindUses() {
    last_uses_.assign(group_.steps().size(), 0);
    for (size_t i = 0; i < group_.steps().size(); ++i) {
      for (const uint32_t operand : group_.steps()[i].operands) {
        if (operand >= num_inputs_) last_uses_[operand - num_inputs_] = i;
      }
    }
    for (const uint32_t output : group_.outputs()) last_uses_[output] = SIZE_MAX;
    places_.assign(num_inputs_ + group_.steps().size(), kNoPlace);
    for (uint32_t i = 0; i < num_inputs_; ++i) places_[i] = i;
    for (size_t i = 0; i < group_.outputs().size(); ++i) {
      places_[num_inputs_ + group_.outputs()[i]] = static_cast<uint32_t>(num_inputs_ + i);
    }
  }

  void Extend(Extent& extent, size_t begin, size_t step) const {
    for (const uint32_t operand : group_.steps()[step].operands) {
      if (operand >= num_inputs_ + begin || std::ranges::count(extent.reads, operand) > 0) continue;
      extent.reads.push_back(operand);
      const int64_t size = MetadataOf(operand).num_elements();
      if (size != 1 && size != shape_.num_elements()) ++extent.num_stretched;
    }
    if (HasAlpha(step)) ++extent.num_alphas;
  }

  // The end of the longest part from `begin` on, at most `last`, that one shader can compute. Each single op is one.
  size_t FindEnd(size_t begin, size_t last) const {
    const size_t most_buffers = std::min<size_t>(fuser_.limits_.max_storage_buffers, ShaderCall::kMaxBuffers);
    Extent extent;
    size_t found = begin + 1;
    for (size_t end = begin + 1; end <= last; ++end) {
      Extend(extent, begin, end - 1);
      if (extent.reads.size() > kMaxElementwiseOperands ||
          MostFusedParameters(extent.num_alphas, extent.num_stretched, shape_.rank()) > kMaxParameters) {
        break;
      }
      size_t num_buffers = extent.reads.size();
      for (size_t i = begin; i < end; ++i) num_buffers += IsWritten(i, end);
      if (num_buffers <= most_buffers) found = end;
    }
    return found;
  }

  void AddPart(size_t begin, size_t end) {
    Extent extent;
    for (size_t i = begin; i < end; ++i) Extend(extent, begin, i);
    FusedSource source;
    source.name = "tandem.Fused";
    source.compose = &ComposeFused;
    source.num_inputs = extent.reads.size();
    std::vector<float> alphas;
    for (size_t i = begin; i < end; ++i) source.steps.push_back(MakeStep(i, begin, extent.reads, alphas));
    FusedPlan::Part part;
    std::vector<const TensorMetadata*> inputs;
    for (const uint32_t value : extent.reads) {
      inputs.push_back(&MetadataOf(value));
      part.reads.push_back(places_[value]);
    }
    for (size_t i = begin; i < end; ++i) {
      if (!IsWritten(i, end)) continue;
      source.outputs.push_back(static_cast<uint8_t>(i - begin));
      uint32_t& place = places_[num_inputs_ + i];
      if (place == kNoPlace) place = TakeTemporary(i, begin);
      part.writes.push_back(place);
    }
    if (part.writes.empty()) return;  // nobody needs them
    part.launch = FusedProgram(fuser_.Remember(source), inputs, shape_, alphas, fuser_.limits_);
    plan_.parts.push_back(std::move(part));
  }

  FusedStep MakeStep(size_t i, size_t begin, const std::vector<uint32_t>& reads, std::vector<float>& alphas) const {
    const ElementwiseStep& from = group_.steps()[i];
    const OpAttrsRef attrs = from.attrs.WithDefaults(from.def->defaults.get());
    FusedStep step;
    step.result = typing_.results[i].dtype;
    step.num_operands = static_cast<uint8_t>(from.operands.size());
    for (size_t k = 0; k < from.operands.size(); ++k) {
      const uint32_t value = from.operands[k];
      const size_t number = value < num_inputs_ + begin
                                ? static_cast<size_t>(std::ranges::find(reads, value) - reads.begin())
                                : reads.size() + (value - num_inputs_ - begin);
      step.operands[k] = static_cast<uint8_t>(number);
    }
    const ElementwiseFunction* const function = functions_[i];
    if (function == nullptr) {
      const bool truncates = attrs.GetOr("Truncate", false);
      step.function = &ConversionSource(MetadataOf(from.operands[0]).dtype, step.result, truncates);
      return step;
    }
    const bool flag = function->flag != nullptr && attrs.GetOr(function->flag, false);
    step.function = flag ? &function->source_if_flag : &function->source;
    step.has_alpha = function->attribute != nullptr;
    if (step.has_alpha) alphas.push_back(attrs.GetOr(function->attribute, 0.0f));
    return step;
  }

  // A temporary tensor for a step of the part from `begin` on: one that is not read any more by then, or a new one.
  uint32_t TakeTemporary(size_t step, size_t begin) {
    const uint64_t bytes = GpuByteSize(typing_.results[step]);
    const uint32_t first = num_inputs_ + static_cast<uint32_t>(group_.outputs().size());
    for (size_t i = 0; i < plan_.temporary_bytes.size(); ++i) {
      if (plan_.temporary_bytes[i] != bytes || last_reads_[i] >= begin) continue;
      last_reads_[i] = last_uses_[step];
      return first + static_cast<uint32_t>(i);
    }
    plan_.temporary_bytes.push_back(bytes);
    last_reads_.push_back(last_uses_[step]);
    return first + static_cast<uint32_t>(plan_.temporary_bytes.size() - 1);
  }

  static constexpr uint32_t kNoPlace = UINT32_MAX;

  const ShaderFuser& fuser_;
  const ElementwiseGroup& group_;
  FusedPlan& plan_;
  const ElementwiseGroup::Typing& typing_;
  const uint32_t num_inputs_;
  const TensorShape& shape_;
  std::vector<const ElementwiseFunction*> functions_;  // of the steps; null: a conversion
  std::vector<size_t> last_uses_;
  std::vector<uint32_t> places_;    // of values, as in FusedPlan
  std::vector<size_t> last_reads_;  // of temporaries, by steps
};

namespace {

// Keeps the last plan.
class FusedKernel {
 public:
  FusedKernel(const ShaderFuser& fuser, std::shared_ptr<const ElementwiseGroup> group)
      : state_(std::make_shared<State>(fuser, std::move(group))) {}

  Status operator()(KernelFrame& frame) const {
    SmallArray<const TensorMetadata*, 8> inputs;
    if (!inputs.Init(frame.num_args())) return Status::OutOfMemory();
    for (size_t i = 0; i < frame.num_args(); ++i) inputs[i] = &frame.arg(i).metadata();
    RcRef<const ElementwiseGroup::Typing> typing = state_->group->Infer(inputs.span());
    if (!typing) return Status::OutOfMemory();
    const RcRef<const FusedPlan> plan = FindPlan(std::move(typing));
    if (!plan) return Status::OutOfMemory();
    return Run(frame, *plan);
  }

 private:
  struct State {
    State(const ShaderFuser& fuser, std::shared_ptr<const ElementwiseGroup> group)
        : fuser(fuser), group(std::move(group)) {}
    const ShaderFuser& fuser;
    const std::shared_ptr<const ElementwiseGroup> group;
    std::mutex mutex;
    RcRef<const FusedPlan> last;
  };

  RcRef<const FusedPlan> FindPlan(RcRef<const ElementwiseGroup::Typing> typing) const {
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->last && state_->last->typing.get() == typing.get()) return state_->last;
    }
    RcRef<const FusedPlan> plan = state_->fuser.MakePlan(*state_->group, std::move(typing));
    const std::lock_guard lock(state_->mutex);
    if (plan) state_->last = plan;
    return plan;
  }

  struct Pair {
    size_t input;
    size_t output;
  };
  // An input whose memory an output may take over, as places in the only part. With several parts, another one may read
  // the input.
  static std::optional<Pair> FindForwarded(const ShaderCall& call, const KernelFrame& frame, const FusedPlan& plan) {
    if (plan.parts.size() != 1) return {};
    const FusedPlan::Part& part = plan.parts[0];
    for (size_t k = 0; k < part.reads.size(); ++k) {
      for (size_t j = 0; j < part.writes.size(); ++j) {
        const size_t output = part.writes[j] - frame.num_args();
        const bool is_same = frame.arg(part.reads[k]).dtype() == frame.result_metadata(output).dtype;
        if (is_same && call.MayTakeOver(part.reads[k], output)) return Pair{k, j};
      }
    }
    return {};
  }

  static Status Run(KernelFrame& frame, const FusedPlan& plan) {
    ShaderCall call(frame);
    const std::optional<Pair> forwarded = FindForwarded(call, frame, plan);
    SmallArray<GpuBuffer*, 16> places;
    if (!places.Init(frame.num_args() + frame.num_results() + plan.temporary_bytes.size())) {
      return Status::OutOfMemory();
    }
    size_t next = 0;
    for (size_t i = 0; i < frame.num_args(); ++i) places[next++] = call.Argument(i);
    for (size_t i = 0; i < frame.num_results(); ++i, ++next) {
      const bool takes_over = forwarded && plan.parts[0].writes[forwarded->output] == next;
      places[next] = takes_over ? call.ForwardOrAllocate(i, {plan.parts[0].reads[forwarded->input]}) : call.Result(i);
    }
    for (const uint64_t bytes : plan.temporary_bytes) places[next++] = call.Temporary(bytes);
    for (const FusedPlan::Part& part : plan.parts) {
      Launch launch = part.launch;
      if (forwarded) SetInPlace(launch, forwarded->input, forwarded->output);
      std::array<GpuBuffer*, ShaderCall::kMaxBuffers> buffers;
      size_t num_buffers = 0;
      for (size_t k = 0; k < part.reads.size(); ++k) {
        if (!forwarded || k != forwarded->input) buffers[num_buffers++] = places[part.reads[k]];
      }
      for (const uint32_t place : part.writes) buffers[num_buffers++] = places[place];
      call.Run(launch, {buffers.data(), num_buffers});
    }
    return call.Finish();
  }

  std::shared_ptr<State> state_;
};

}  // namespace

ShaderFuser::ShaderFuser(const GpuLimits& limits) : limits_(limits) {}

void EnableProgramFusion(ShaderOpHandler& handler) {
  if (handler.fuser() == nullptr) handler.SetProgramFuser(std::make_unique<ShaderFuser>(handler.gpu().limits()));
}

bool ShaderFuser::CanFuse(const OpDef& def, const OpAttrsRef& attrs) const {
  if (def.kind != OpKind::kElementwise || def.metadata == nullptr || def.has_host_inputs || def.has_side_effects) {
    return false;
  }
  const OpAttrsRef all = attrs.WithDefaults(def.defaults.get());
  // Shapes that do not fit would give one element.
  if (!all.GetOr("incompatible_shape_error", true)) return false;
  if (def.name == "tf.Cast") {
    const DType to = all.GetOr("DstT", DType::kInvalid);
    return IsFusedDType(to) && AllDTypes(limits_).Contains(to);
  }
  return std::ranges::any_of(ElementwiseFunctions(), [&](const auto& each) { return each.source.name == def.name; });
}

bool ShaderFuser::CanFuse(const OpDef& def, DType dtype) const {
  if (!IsFusedDType(dtype)) return false;
  if (def.name == "tf.Cast") return AllDTypes(limits_).Contains(dtype);
  return FindFunction(def.name, dtype, limits_) != nullptr;
}

bool ShaderFuser::CanCompute(std::span<const TensorMetadata> inputs, std::span<const TensorMetadata> results) const {
  const uint64_t most = std::min(limits_.max_binding_bytes, limits_.max_buffer_bytes);
  const auto fits = [&](const TensorMetadata& metadata) { return GpuByteSize(metadata) <= most; };
  return std::ranges::all_of(inputs, fits) && std::ranges::all_of(results, fits);
}

StatusOr<Kernel> ShaderFuser::MakeKernel(std::shared_ptr<const ElementwiseGroup> group) const {
  return tandem::MakeKernel(FusedKernel(*this, std::move(group)));
}

RcRef<const FusedPlan> ShaderFuser::MakePlan(const ElementwiseGroup& group,
                                             RcRef<const ElementwiseGroup::Typing> typing) const {
  RcRef<FusedPlan> plan;
  if (gpu::HeapHasRoom(kPlanBytes)) plan = MakeRef<FusedPlan>();
  if (!plan) return nullptr;
  plan->typing = std::move(typing);
  FusedPlanBuilder(*this, group, *plan).Build();
  return RcRef<const FusedPlan>(std::move(plan));
}

size_t ShaderFuser::num_sources() const {
  const std::lock_guard lock(mutex_);
  return sources_.size();
}

const FusedSource* ShaderFuser::FindLocked(const FusedSource& source) const {
  const auto known = std::ranges::find_if(sources_, [&](const auto& each) { return each->HasStructureOf(source); });
  return known == sources_.end() ? nullptr : known->get();
}

const FusedSource* ShaderFuser::Find(const FusedSource& source) const {
  const std::lock_guard lock(mutex_);
  return FindLocked(source);
}

const FusedSource& ShaderFuser::Remember(const FusedSource& source) const {
  const std::lock_guard lock(mutex_);
  if (const FusedSource* const known = FindLocked(source)) return *known;
  return *sources_.emplace_back(std::make_unique<const FusedSource>(source));
}

}  // namespace tandem::shader
