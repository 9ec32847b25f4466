// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the steps of a group give for inputs of some metadata.

#include "tandem/elementwise_group.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "defs/op_signature.h"
#include "tandem/kernel_op_handler.h"

namespace tandem {

namespace {

constexpr size_t kMaxStepOperands = 8;

// The metadata function of a group as an op.
struct GroupMetadata {
  std::shared_ptr<const ElementwiseGroup> group;

  Status operator()(const MetadataFrame& frame) const {
    const RcRef<const ElementwiseGroup::Typing> typing = group->Infer(frame.args);
    if (!typing) return Internal("expected arguments that the group can be computed for");
    const std::span<const uint32_t> outputs = group->outputs();
    for (size_t i = 0; i < outputs.size(); ++i) frame.results[i] = typing->results[outputs[i]];
    return Status();
  }
};

}  // namespace

ElementwiseFuser::~ElementwiseFuser() = default;

bool ElementwiseFuser::CanCompute(std::span<const TensorMetadata>, std::span<const TensorMetadata>) const {
  return true;
}

StatusOr<Op> ElementwiseFuser::MakeOp(KernelOpHandler& handler, std::shared_ptr<const ElementwiseGroup> group) const {
  TANDEM_ASSIGN_OR_RETURN(const Kernel kernel, MakeKernel(group));
  TANDEM_ASSIGN_OR_RETURN(OpDef built, ElementwiseGroup::MakeDefinition(std::move(group)));
  return handler.MakeOpOf(std::make_shared<const OpDef>(std::move(built)), kernel);
}

struct ElementwiseGroup::Signatures {
  std::vector<OpSignature> of_steps;
};

ElementwiseGroup::ElementwiseGroup(const ElementwiseFuser& fuser, uint32_t num_inputs,
                                   std::vector<ElementwiseStep> steps, std::vector<uint32_t> outputs)
    : fuser_(fuser), num_inputs_(num_inputs), steps_(std::move(steps)), outputs_(std::move(outputs)) {
  auto signatures = std::make_unique<Signatures>();
  signatures->of_steps.reserve(steps_.size());
  for (const ElementwiseStep& step : steps_) signatures->of_steps.emplace_back(*step.def);
  signatures_ = std::move(signatures);
}

ElementwiseGroup::~ElementwiseGroup() = default;

bool ElementwiseGroup::InferStep(size_t i, Typing& typing) const {
  const ElementwiseStep& step = steps_[i];
  const OpSignature& signature = signatures_->of_steps[i];
  std::array<const TensorMetadata*, kMaxStepOperands> storage;
  if (step.operands.size() > storage.size()) return false;
  for (size_t k = 0; k < step.operands.size(); ++k) {
    const uint32_t operand = step.operands[k];
    storage[k] = operand < num_inputs_ ? &typing.inputs[operand] : &typing.results[operand - num_inputs_];
  }
  const std::span<const TensorMetadata* const> args(storage.data(), step.operands.size());
  const OpAttrsRef attrs = step.attrs.WithDefaults(step.def->defaults.get());
  const std::span<TensorMetadata> result(&typing.results[i], 1);
  if (!signature.CheckArgumentCount(args.size()).ok()) return false;
  const StatusOr<DType> dtype = signature.Bind(args, attrs, result);
  if (!dtype.ok() || !step.dtypes.Contains(*dtype) || !fuser_.CanFuse(*step.def, *dtype)) return false;
  typing.kernel_dtypes[i] = *dtype;
  const DType defined = result[0].dtype;
  const Status inferred = step.def->metadata({args, {}, attrs, result, step.def->metadata_closure.get()});
  if (!inferred.ok() || !result[0].IsValid()) return false;
  if (defined != DType::kInvalid && defined != result[0].dtype) return false;
  return result[0].shape == typing.results[0].shape;
}

RcRef<const ElementwiseGroup::Typing> ElementwiseGroup::Infer(std::span<const TensorMetadata* const> inputs) const {
  const auto is_same = [](const TensorMetadata* given, const TensorMetadata& known) { return *given == known; };
  {
    const std::lock_guard lock(mutex_);
    if (last_ && std::ranges::equal(inputs, last_->inputs, is_same)) return last_->is_possible ? last_ : nullptr;
  }
  RcRef<Typing> typing = MakeRef<Typing>();
  if (!typing || inputs.size() != num_inputs_ || !typing->inputs.Init(inputs.size()) ||
      !typing->results.Init(steps_.size()) || !typing->kernel_dtypes.Init(steps_.size())) {
    return nullptr;
  }
  for (size_t i = 0; i < inputs.size(); ++i) typing->inputs[i] = *inputs[i];
  typing->is_possible = true;
  for (size_t i = 0; i < steps_.size() && typing->is_possible; ++i) typing->is_possible = InferStep(i, *typing);
  typing->is_possible = typing->is_possible && fuser_.CanCompute(typing->inputs.span(), typing->results.span());
  RcRef<const Typing> inferred(std::move(typing));
  const std::lock_guard lock(mutex_);
  last_ = inferred;  // whatever it is
  return inferred->is_possible ? inferred : nullptr;
}

StatusOr<OpDef> ElementwiseGroup::MakeDefinition(std::shared_ptr<const ElementwiseGroup> group) {
  // Named after its steps, for traces and profiles.
  std::string name = "tandem.Fused(";
  constexpr size_t kMaxNamed = 8;
  for (size_t i = 0; i < std::min(group->steps_.size(), kMaxNamed); ++i) {
    if (i > 0) name += ", ";
    name += group->steps_[i].def->name;
  }
  name += group->steps_.size() > kMaxNamed ? ", ...)" : ")";
  // "inputs: T", "T: list(type) >= 0" and outputs of any dtype; written out, so that who fuses needs no parser.
  OpDef def;
  AttrDef& types = def.attrs.emplace_back();
  types.name = "T";
  types.kind = AttrKind::kType;
  types.is_list = types.has_minimum = types.inferred = true;
  types.spec = "T: list(type) >= 0";
  ArgDef& inputs = def.inputs.emplace_back();
  inputs.name = "inputs";
  inputs.type_list_attr = 0;
  for (size_t i = 0; i < group->outputs_.size(); ++i) {
    ArgDef& output = def.outputs.emplace_back();
    output.name = "output" + std::to_string(i);
    output.any_dtype = true;
  }
  def.metadata = EraseMetadataClosure<GroupMetadata>();
  def.metadata_closure = std::make_shared<const GroupMetadata>(GroupMetadata{std::move(group)});
  def.own_name = std::make_shared<const std::string>(std::move(name));
  def.name = *def.own_name;
  return def;
}

}  // namespace tandem
