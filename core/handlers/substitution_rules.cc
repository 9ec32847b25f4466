// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a rule needs of the definitions of its ops.

#include "substitution_rules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "defs/attr_comparison.h"
#include "defs/op_signature.h"
#include "tandem/small_array.h"

namespace tandem {

namespace {

const AttrDef* FindAttr(const OpDef& def, std::string_view name) {
  const int index = def.FindAttr(name);
  return index < 0 ? nullptr : &def.attrs[static_cast<size_t>(index)];
}

Status CannotHold(std::string_view what, const Status& reason) {
  return InvalidArgument(what, " can never hold: ", reason.detail());
}

Status CheckValues(const OpDef& def, const OpAttrsRef& attrs) {
  const OpSignature signature(def);
  for (const AttrEntry& entry : attrs.entries()) {
    const AttrDef* const attr = FindAttr(def, entry.name);
    if (attr == nullptr) return signature.UnknownAttr(attrs);
    TANDEM_RETURN_IF_ERROR(OpSignature::CheckAttr(*attr, entry));
  }
  return Status();
}

bool IsExact(const TensorPattern& pattern) {
  return pattern.dtype != DType::kInvalid && pattern.has_shape &&
         std::ranges::find(pattern.dims, -1) == pattern.dims.end();
}

// Whether what fits `narrow` fits `wide`.
bool CoversPattern(const TensorPattern& wide, const TensorPattern& narrow) {
  if (wide.dtype != DType::kInvalid && wide.dtype != narrow.dtype) return false;
  if (!wide.has_shape) return true;
  if (!narrow.has_shape || wide.dims.size() != narrow.dims.size()) return false;
  for (size_t i = 0; i < wide.dims.size(); ++i) {
    if (wide.dims[i] >= 0 && wide.dims[i] != narrow.dims[i]) return false;
  }
  return true;
}

}  // namespace

std::string NameOfReplacement(const Substitution& rule) {
  std::string name = rule.replacement.empty() ? rule.kernel_name : rule.replacement;
  if (name.empty()) name = "a kernel";
  return rule.origin.empty() ? name : name + " (" + rule.origin + ")";
}

Status InRule(const Substitution& rule, const Status& error) {
  if (error.ok() || rule.origin.empty()) return error;
  return MakeError(error.code(), std::string_view(rule.origin), ": ", error.detail());
}

StatusOr<PreparedSubstitution> PreparedSubstitution::Make(const OpRegistry& registry,
                                                          std::shared_ptr<const Substitution> rule) {
  PreparedSubstitution made;
  made.rule_ = std::move(rule);
  made.def_ = registry.FindShared(made.rule_->op);
  if (made.def_ == nullptr) return registry.NotFoundError(made.rule_->op);
  TANDEM_RETURN_IF_ERROR(made.CheckReplacement(registry));
  TANDEM_RETURN_IF_ERROR(made.CheckInputs());
  TANDEM_RETURN_IF_ERROR(made.CheckConditions());
  if (made.replacement_def_ != nullptr) TANDEM_RETURN_IF_ERROR(made.CheckReplacementAttrs());
  TANDEM_RETURN_IF_ERROR(made.AddUnpassed());
  TANDEM_RETURN_IF_ERROR(made.CheckPossible());
  return made;
}

Status PreparedSubstitution::CheckReplacement(const OpRegistry& registry) {
  const Substitution& rule = *rule_;
  if (rule.replacement.empty() != (rule.kernel.IsValid() && rule.kernel_handler != nullptr)) {
    return InvalidArgument("expected either an op or a kernel of a handler in place of ", def_->name, ", got ",
                           rule.replacement.empty() ? "neither" : "both");
  }
  if (rule.replacement.empty()) return Status();
  replacement_def_ = registry.FindShared(rule.replacement);
  if (replacement_def_ == nullptr) return registry.NotFoundError(rule.replacement);
  const OpDef& to = *replacement_def_;
  if (to.has_side_effects != def_->has_side_effects) {
    return InvalidArgument("expected an op with", def_->has_side_effects ? "" : "out", " side effects in place of ",
                           def_->name, ", got ", to.name);
  }
  const auto check = [&](std::string_view what, size_t from_count, size_t to_count, bool varies) {
    if (varies || from_count == to_count) return Status();
    return InvalidArgument("expected an op of ", from_count, what, " in place of ", def_->name, ", got ", to.name,
                           ", which has ", to_count);
  };
  TANDEM_RETURN_IF_ERROR(
      check(" inputs", def_->inputs.size(), to.inputs.size(), def_->HasVariadicInputs() || to.HasVariadicInputs()));
  return check(" outputs", def_->outputs.size(), to.outputs.size(),
               def_->HasVariadicOutputs() || to.HasVariadicOutputs());
}

Status PreparedSubstitution::CheckInputs() const {
  const OpDef& def = *def_;
  const std::vector<TensorPattern>& patterns = rule_->inputs;
  if (!def.HasVariadicInputs() && patterns.size() > def.inputs.size()) {
    return InvalidArgument("expected conditions of at most ", def.inputs.size(), " inputs of ", def.name, ", got ",
                           patterns.size());
  }
  std::vector<const TensorPattern*> bound(def.attrs.size(), nullptr);
  for (size_t i = 0; i < std::min(patterns.size(), def.inputs.size()) && !def.inputs[i].IsVariadic(); ++i) {
    const ArgDef& input = def.inputs[i];
    const DType dtype = patterns[i].dtype;
    if (dtype == DType::kInvalid) continue;
    DTypeSet allowed = {input.dtype};
    if (input.type_attr >= 0) {
      const auto type = static_cast<size_t>(input.type_attr);
      allowed = def.attrs[type].allowed_dtypes;
      if (bound[type] != nullptr && allowed.Contains(dtype)) allowed = {bound[type]->dtype};
      bound[type] = &patterns[i];
    }
    if (allowed.Contains(dtype)) continue;
    return InvalidArgument("the condition of input ", i, " (", input.name, ") of ", def.name,
                           " can never hold: expected ", allowed, ", got ", patterns[i]);
  }
  return Status();
}

Status PreparedSubstitution::CheckConditions() {
  for (const AttrEntry& entry : rule_->attrs.entries()) {
    const AttrDef* const attr = FindAttr(*def_, entry.name);
    if (attr != nullptr && attr->inferred) {
      return InvalidArgument("attribute ", entry.name, " of ", def_->name,
                             " follows from the inputs, expected a condition of these");
    }
    if (attr == nullptr) return OpSignature(*def_).UnknownAttr(rule_->attrs);
    if (!IsComparable(entry.type)) return InvalidArgument("attribute ", entry.name, " can be no condition");
    if (const Status valid = OpSignature::CheckAttr(*attr, entry); !valid.ok()) {
      return CannotHold("the condition of an attribute", valid);
    }
    conditions_.push_back(entry);
  }
  return Status();
}

bool PreparedSubstitution::IsPassed(std::string_view attr) const {
  return std::ranges::find(passed_, attr, &Passed::from) != passed_.end();
}

Status PreparedSubstitution::CheckSources() const {
  for (const Substitution::Attr& source : rule_->replacement_attrs_of_call) {
    const AttrDef* const from = FindAttr(*def_, source.from);
    const AttrDef* const to = FindAttr(*replacement_def_, source.to);
    const bool is_missing = from == nullptr || from->inferred;
    if (is_missing || to == nullptr || to->inferred) {
      return InvalidArgument("expected an attribute of ", is_missing ? def_->name : replacement_def_->name,
                             " that does not follow from its inputs, got ",
                             std::string_view(is_missing ? source.from : source.to));
    }
    if (from->kind != to->kind || from->is_list != to->is_list) {
      return InvalidArgument("attribute ", std::string_view(source.to), " of ", replacement_def_->name, " (",
                             std::string_view(to->spec), ") cannot be ", std::string_view(source.from), " of ",
                             def_->name, " (", std::string_view(from->spec), ")");
    }
  }
  return Status();
}

Status PreparedSubstitution::CheckReplacementAttrs() {
  const OpDef& to = *replacement_def_;
  TANDEM_RETURN_IF_ERROR(CheckValues(to, rule_->replacement_attrs));
  TANDEM_RETURN_IF_ERROR(CheckSources());
  for (const AttrDef& attr : to.attrs) {
    const bool is_constant = rule_->replacement_attrs.Find(attr.name) != nullptr;
    const auto& sources = rule_->replacement_attrs_of_call;
    const auto source = std::ranges::find(sources, attr.name, &Substitution::Attr::to);
    if (is_constant && source != sources.end()) {
      return InvalidArgument("attribute ", attr.name, " of ", to.name, " is given twice");
    }
    if (source != sources.end()) passed_.push_back({attr.name, source->from});
    if (is_constant || source != sources.end() || attr.inferred) continue;
    const AttrDef* const same = FindAttr(*def_, attr.name);
    if (same != nullptr && !same->inferred && same->kind == attr.kind && same->is_list == attr.is_list) {
      passed_.push_back({attr.name, same->name});
    } else if (!attr.has_default) {
      return InvalidArgument("attribute ", attr.name, " of ", to.name, ", which has no default, must be given");
    }
  }
  return Status();
}

// The replacement of a call does what the call does only if nothing that the call says is lost.
Status PreparedSubstitution::AddUnpassed() {
  for (const AttrDef& attr : def_->attrs) {
    const bool is_condition = rule_->attrs.Find(attr.name) != nullptr;
    if (attr.inferred || is_condition || IsPassed(attr.name)) continue;
    const AttrEntry* const usual = attr.has_default && def_->defaults ? def_->defaults->Find(attr.name) : nullptr;
    if (usual == nullptr || !IsComparable(usual->type)) {
      return InvalidArgument("attribute ", attr.name, " of ", def_->name,
                             " has no default, expected a condition of it, or that the replacement gets it");
    }
    conditions_.push_back(*usual);
  }
  return Status();
}

// What the op itself says of a call, where the rule leaves only one open.
Status PreparedSubstitution::CheckPossible() const {
  const OpDef& def = *def_;
  const bool is_one_call = !def.HasVariadicInputs() && !def.HasVariadicOutputs() && !def.has_host_inputs &&
                           def.metadata != nullptr && passed_.empty() && rule_->inputs.size() == def.inputs.size() &&
                           std::ranges::all_of(rule_->inputs, IsExact);
  if (!is_one_call) return Status();
  std::vector<TensorMetadata> inputs;
  for (const TensorPattern& pattern : rule_->inputs) inputs.emplace_back(pattern.dtype, TensorShape(pattern.dims));
  std::vector<const TensorMetadata*> args;
  for (const TensorMetadata& input : inputs) {
    if (!input.IsValid()) return CannotHold("the condition of an input", input.Validate());
    args.push_back(&input);
  }
  std::vector<TensorMetadata> results(def.outputs.size());
  const OpAttrsRef attrs = OpAttrsRef(FrozenOpAttrs::Create(conditions_)).WithDefaults(def.defaults.get());
  Status wrong = OpSignature(def).Bind(args, attrs, results).status();
  if (wrong.ok()) wrong = def.metadata({args, {}, attrs, results, def.metadata_closure.get()});
  return wrong.ok() ? wrong : CannotHold("the condition of the inputs", wrong);
}

bool PreparedSubstitution::Matches(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs) const {
  if (rule_->inputs.size() > args.size()) return false;
  for (size_t i = 0; i < rule_->inputs.size(); ++i) {
    if (!rule_->inputs[i].Matches(*args[i])) return false;
  }
  for (const AttrEntry& condition : conditions_) {
    const AttrEntry* const given = attrs.Find(condition.name);
    if (given == nullptr || !HaveSameValue(*given, condition)) return false;
  }
  return true;
}

bool PreparedSubstitution::Covers(const PreparedSubstitution& other) const {
  const std::vector<TensorPattern>& narrow = other.rule_->inputs;
  for (size_t i = 0; i < rule_->inputs.size(); ++i) {
    if (!CoversPattern(rule_->inputs[i], i < narrow.size() ? narrow[i] : TensorPattern())) return false;
  }
  // Further conditions say how many arguments there are.
  if (rule_->inputs.size() > narrow.size() && def_->HasVariadicInputs()) return false;
  return std::ranges::all_of(conditions_, [&](const AttrEntry& condition) {
    return std::ranges::any_of(other.conditions_, [&](const AttrEntry& known) {
      return known.name == condition.name && HaveSameValue(known, condition);
    });
  });
}

StatusOr<OpAttrsRef> PreparedSubstitution::ReplaceAttrs(const OpAttrsRef& attrs) const {
  if (replacement_def_ == nullptr) return attrs;
  if (passed_.empty()) return rule_->replacement_attrs;
  const std::span<const AttrEntry> constants = rule_->replacement_attrs.entries();
  SmallArray<AttrEntry, 8> entries;
  if (!entries.Init(constants.size() + passed_.size())) return Status::OutOfMemory();
  size_t count = 0;
  for (const AttrEntry& constant : constants) entries[count++] = constant;
  for (const Passed& passed : passed_) {
    const AttrEntry* const given = attrs.Find(passed.from);
    if (given == nullptr) continue;
    entries[count] = *given;
    entries[count++].name = passed.to;
  }
  RcRef<const FrozenOpAttrs> replaced = FrozenOpAttrs::Create(entries.span().first(count));
  if (!replaced) return Status::OutOfMemory();
  return OpAttrsRef(std::move(replaced));
}

}  // namespace tandem
