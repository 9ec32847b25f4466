// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which ops can be computed along with a product or a convolution, and when.

#include "program_epilogues.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "defs/attr_conversion.h"
#include "tandem/host_context.h"

namespace tandem {

namespace {

// A product or a convolution, and the op that computes more along with it.
struct Anchor {
  std::string_view op;
  std::string_view fused_op;
  bool has_images = false;  // with a data_format, and normalizations
  bool has_added = false;   // a tensor of the result's shape, after the vectors
  bool has_gelu = false;
};

constexpr Anchor kAnchors[] = {
    {.op = "tf.MatMul", .fused_op = "tf._FusedMatMul", .has_added = true, .has_gelu = true},
    {.op = "tf.Conv2D", .fused_op = "tf._FusedConv2D", .has_images = true, .has_added = true},
    {.op = "tf.DepthwiseConv2dNative", .fused_op = "tf._FusedDepthwiseConv2dNative", .has_images = true},
};

struct Activation {
  std::string_view op;
  std::string_view name;  // in fused_ops
  bool is_exact = false;  // the same bits, alone or fused
};

constexpr Activation kActivations[] = {
    {"tf.Relu", "Relu", true}, {"tf.Relu6", "Relu6", true}, {"tf.LeakyRelu", "LeakyRelu", true},
    {"tf.Elu", "Elu"},         {"tf.Tanh", "Tanh"},         {"tf.Sigmoid", "Sigmoid"},
};

std::string_view DataFormatOf(const OpAttrsRef& attrs) { return attrs.GetOr<std::string_view>("data_format", "NHWC"); }

// The metadata of the first result of a call; false if it is wrong, or for another kernel.
bool InferCall(const PlanEpilogue::Member& call, std::span<const TensorMetadata* const> args, TensorMetadata& result) {
  SmallArray<TensorMetadata, 6> results;
  if (!results.Init(call.num_results)) return false;
  const OpAttrsRef attrs = call.attrs.WithDefaults(call.def->defaults.get());
  if (!call.signature.CheckArgumentCount(args.size()).ok()) return false;
  const StatusOr<DType> bound = call.signature.Bind(args, attrs, results.span());
  if (!bound.ok() || !call.dtypes.Contains(*bound)) return false;
  const DType defined = results[0].dtype;
  if (!call.def->metadata({args, {}, attrs, results.span(), call.def->metadata_closure.get()}).ok()) return false;
  result = results[0];
  return result.IsValid() && result.dtype == defined;
}

}  // namespace

bool PlanEpilogue::Infer(std::span<const TensorMetadata* const> inputs) const {
  TensorMetadata result;
  size_t next = 0;
  for (const auto& member : members_) {
    SmallArray<const TensorMetadata*, 6> args;
    const size_t num_args = member->num_inputs + (next == 0 ? 0 : 1);
    if (!args.Init(num_args)) return false;
    const TensorMetadata before = result;
    const bool is_first = next == 0;
    for (size_t i = 0; i < num_args; ++i) args[i] = !is_first && i == member->place ? &before : inputs[next++];
    if (!InferCall(*member, args.span(), result)) return false;
  }
  TensorMetadata whole;
  return InferCall(*whole_, inputs, whole) && whole == result;
}

bool PlanEpilogue::Fits(std::span<const TensorMetadata* const> inputs) const {
  const auto is_same = [](const TensorMetadata* given, const TensorMetadata& known) { return *given == known; };
  {
    const std::lock_guard lock(mutex_);
    if (last_ && std::ranges::equal(inputs, last_->inputs, is_same)) return last_->fits;
  }
  RcRef<Answer> answer = MakeRef<Answer>();
  if (!answer || !answer->inputs.Init(inputs.size())) return false;
  for (size_t i = 0; i < inputs.size(); ++i) answer->inputs[i] = *inputs[i];
  const bool fits = answer->fits = Infer(inputs);
  const std::lock_guard lock(mutex_);
  last_ = std::move(answer);
  return fits;
}

namespace {

class Folder {
 public:
  Folder(size_t num_values, std::span<const ProgramInstruction* const> instructions, std::span<PlanStep> steps)
      : instructions_(instructions), steps_(steps), last_uses_(num_values, 0), constants_(num_values, nullptr) {
    for (size_t i = 0; i < instructions.size(); ++i) {
      for (const uint32_t value : instructions[i]->operands) last_uses_[value] = i;
      if (steps[i].tensor.IsValid() && steps[i].tensor.IsMetadataAvailable()) {
        constants_[instructions[i]->results[0]] = &steps[i].tensor.metadata();
      }
    }
  }

  // The number of steps that are one from `begin` on; 1 if it is only that one.
  size_t Fold(size_t begin) {
    const auto* anchor = std::ranges::find(kAnchors, steps_[begin].name, &Anchor::op);
    if (anchor == std::end(kAnchors) || !IsCall(begin) || steps_[begin].results.size() != 1) return 1;
    is_exact_ = steps_[begin].handler->runtime().host().is_exact();
    begin_ = begin;
    members_.clear();
    fused_ops_.clear();
    numbers_.clear();
    inputs_.clear();
    if (!AddMember(begin, 0)) return 1;
    const std::string_view format = anchor->has_images ? DataFormatOf(steps_[begin].attrs) : "";
    if (!AddVectors(*anchor, format)) return 1;
    if (anchor->has_added) AddTensor();
    AddActivation(*anchor);
    return Finish(anchor->fused_op) ? fused_ops_.size() + 1 : 1;
  }

 private:
  bool IsCall(size_t i) const {
    const PlanStep& step = steps_[i];
    return step.kernel == ProgramKernel::kExecuteOp && step.op.IsValid();
  }

  size_t end() const { return begin_ + members_.size(); }

  // The next step if it is a call on the same handler that alone uses the result of the last member, as argument
  // `place`, and only once.
  const PlanStep* Next(size_t place) const {
    const size_t i = end();
    if (i >= steps_.size() || !IsCall(i) || steps_[i].handler != steps_[begin_].handler) return nullptr;
    const uint32_t value = instructions_[i - 1]->results[0];
    const std::span<const uint32_t> arguments = std::span(instructions_[i]->operands).subspan(1);
    const bool is_used = place < arguments.size() && arguments[place] == value && last_uses_[value] == i;
    return is_used && std::ranges::count(arguments, value) == 1 ? &steps_[i] : nullptr;
  }

  // Adds the step as a member, of which argument `place` is the result of the one before, unless it is the first.
  bool AddMember(size_t i, size_t place) {
    const PlanStep& step = steps_[i];
    OwnKernels own = step.op.impl()->own_kernels();
    if (own.handler != step.handler || own.dtypes.IsEmpty()) return false;
    if (own.def->metadata == nullptr || own.def->has_host_inputs) return false;
    const StatusOr<OpAttrsRef> converted = ConvertAttrs(*own.def, step.attrs);
    if (!converted.ok()) return false;
    auto member = std::make_unique<PlanEpilogue::Member>(std::move(own.def));
    member->dtypes = own.dtypes;
    member->attrs = converted->empty() ? step.attrs : *converted;
    member->place = place;
    member->num_results = step.results.size();
    const std::span<const PlanOperand> arguments = std::span(step.operands).subspan(1);
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (i > begin_ && k == place) continue;
      inputs_.push_back({instructions_[i]->operands[k + 1], arguments[k]});
      ++member->num_inputs;
    }
    members_.push_back(std::move(member));
    return true;
  }

  // A bias or a normalization.
  bool AddVectors(const Anchor& anchor, std::string_view format) {
    if (const PlanStep* step = Next(0); step != nullptr && step->name == "tf.BiasAdd") {
      return (!anchor.has_images || DataFormatOf(step->attrs) == format) && AddFused("BiasAdd", 0);
    } else if (step != nullptr && step->name == "tf.FusedBatchNormV3") {
      return anchor.has_images && !is_exact_ && DataFormatOf(step->attrs) == format && IsInference(*step) &&
             AddFused("FusedBatchNorm", 0) && AddNumber("epsilon", "epsilon");
    }
    for (const size_t place : {size_t{0}, size_t{1}}) {
      const PlanStep* const step = Next(place);
      if (step == nullptr || step->name != "tf.AddV2" || format == "NCHW") continue;
      // Of a constant vector alone is it known that it is no larger than what it is added to.
      const TensorMetadata* const vector = constants_[instructions_[end()]->operands[2 - place]];
      return vector != nullptr && vector->rank() == 1 && AddFused("BiasAdd", place);
    }
    return false;
  }

  // Whether a normalization takes its statistics as arguments, and only its first result is used.
  static bool IsInference(const PlanStep& step) {
    return !step.attrs.GetOr("is_training", true) && !step.results.empty() && step.results[0] != PlanStep::kNoSlot &&
           std::ranges::count(step.results, PlanStep::kNoSlot) + 1 == std::ssize(step.results);
  }

  // A residual. Whether it has the shape of what it is added to is known when the program runs; constants seldom do.
  void AddTensor() {
    for (const size_t place : {size_t{0}, size_t{1}}) {
      const PlanStep* const step = Next(place);
      if (step == nullptr || step->name != "tf.AddV2") continue;
      if (constants_[instructions_[end()]->operands[2 - place]] == nullptr) AddFused("Add", place);
      return;
    }
  }

  void AddActivation(const Anchor& anchor) {
    const PlanStep* const step = Next(0);
    if (step == nullptr || step->results.size() != 1) return;
    if (step->name == "tandem.Gelu") {
      if (!anchor.has_gelu || is_exact_) return;
      AddFused(step->attrs.GetOr("approximate", false) ? "GeluApproximate" : "GeluExact", 0);
      return;
    }
    const auto* found = std::ranges::find(kActivations, step->name, &Activation::op);
    if (found == std::end(kActivations) || (is_exact_ && !found->is_exact)) return;
    if (AddFused(found->name, 0) && found->name == "LeakyRelu") AddNumber("leakyrelu_alpha", "alpha");
  }

  bool AddFused(std::string_view name, size_t place) {
    if (!AddMember(end(), place)) return false;
    fused_ops_.push_back(name);
    return true;
  }

  // What the fused op is to have as attribute `name` for that of the last member, whose default is the same.
  bool AddNumber(std::string_view name, std::string_view own_name) {
    if (float number; members_.back()->attrs.Get(own_name, &number)) numbers_.emplace_back(name, number);
    return true;
  }

  // Makes the fusion of the members, as a call of `fused_op`. False if the handler itself has none.
  bool Finish(std::string_view fused_op) {
    OpHandler& handler = *steps_[begin_].handler;
    StatusOr<Op> op = handler.MakeOp(fused_op);
    if (!op.ok()) return false;
    OwnKernels own = op->impl()->own_kernels();
    // In exact mode, what is rounded once is not what is rounded by each op.
    const DTypeSet dtypes = own.dtypes & (is_exact_ ? DTypeSet{DType::kF32, DType::kF64} : kFloatDTypes);
    if (own.handler != &handler || own.def->metadata == nullptr || dtypes.IsEmpty()) return false;
    OpAttrs more;
    more.SetArray<std::string_view>("fused_ops", fused_ops_);
    for (const auto& [name, number] : numbers_) more.Set(name, number);
    const std::span<const AttrEntry> of_anchor = members_[0]->attrs.entries();
    std::vector<AttrEntry> entries(of_anchor.begin(), of_anchor.end());
    entries.insert(entries.end(), more.entries().begin(), more.entries().end());
    auto whole = std::make_unique<PlanEpilogue::Member>(std::move(own.def));
    whole->dtypes = dtypes;
    auto fusion = std::make_unique<PlanFusion>();
    fusion->attrs = whole->attrs = OpAttrsRef(FrozenOpAttrs::Create(entries));
    fusion->op = *std::move(op);
    fusion->num_steps = members_.size();
    fusion->location = steps_[begin_].location;
    for (size_t i = 0; i < inputs_.size(); ++i) AddInput(i, *fusion);
    fusion->results.push_back(steps_[end() - 1].results[0]);
    fusion->epilogue = std::make_shared<const PlanEpilogue>(std::move(members_), std::move(whole));
    steps_[begin_].fusion = std::move(fusion);
    return true;
  }

  // An input that is one twice is moved with its last place.
  void AddInput(size_t i, PlanFusion& fusion) const {
    const auto& [value, operand] = inputs_[i];
    bool is_last_use = false;
    for (const Input& other : inputs_) is_last_use |= other.value == value && other.operand.is_last_use;
    for (size_t k = i + 1; k < inputs_.size(); ++k) is_last_use &= inputs_[k].value != value;
    fusion.inputs.push_back({.slot = operand.slot, .is_last_use = is_last_use, .on_device = operand.on_device});
  }

  struct Input {
    uint32_t value;
    PlanOperand operand;
  };

  const std::span<const ProgramInstruction* const> instructions_;
  const std::span<PlanStep> steps_;
  std::vector<size_t> last_uses_;
  std::vector<const TensorMetadata*> constants_;  // of each value; null for what is none
  bool is_exact_ = false;

  // What is being folded.
  size_t begin_ = 0;
  std::vector<std::unique_ptr<const PlanEpilogue::Member>> members_;
  std::vector<std::string_view> fused_ops_;
  std::vector<std::pair<std::string_view, float>> numbers_;
  std::vector<Input> inputs_;
};

}  // namespace

void FoldEpilogues(size_t num_values, std::span<const ProgramInstruction* const> instructions,
                   std::span<PlanStep> steps) {
  Folder folder(num_values, instructions, steps);
  for (size_t i = 0; i < steps.size();) i += folder.Fold(i);
}

}  // namespace tandem
