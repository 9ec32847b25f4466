// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpDefBuilder: reads the specs of a definition, looks up what they refer to, and checks them against each other.

#include "tandem/op_def.h"

#include <algorithm>
#include <map>
#include <set>

#include "defs/op_def_parser.h"

namespace tandem {

bool OpDef::HasVariadicInputs() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const ArgDef& arg) { return arg.IsVariadic(); });
}

bool OpDef::HasVariadicOutputs() const {
  return std::any_of(outputs.begin(), outputs.end(), [](const ArgDef& arg) { return arg.IsVariadic(); });
}

int OpDef::FindAttr(std::string_view attr_name) const {
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].name == attr_name) return static_cast<int>(i);
  }
  return -1;
}

// Out of line, since programs have hundreds of calls.
OpDefBuilder::OpDefBuilder(std::string_view name) : name_(name) {}
OpDefBuilder::OpDefBuilder(const char* name) : OpDefBuilder(std::string_view(name)) {}
OpDefBuilder::OpDefBuilder(const OpDefBuilder&) = default;
OpDefBuilder::OpDefBuilder(OpDefBuilder&&) noexcept = default;
OpDefBuilder& OpDefBuilder::operator=(const OpDefBuilder&) = default;
OpDefBuilder& OpDefBuilder::operator=(OpDefBuilder&&) noexcept = default;
OpDefBuilder::~OpDefBuilder() = default;

OpDefBuilder& OpDefBuilder::Input(const char* spec) { return Input(std::string_view(spec)); }
OpDefBuilder& OpDefBuilder::HostInput(const char* spec) { return HostInput(std::string_view(spec)); }
OpDefBuilder& OpDefBuilder::Output(const char* spec) { return Output(std::string_view(spec)); }
OpDefBuilder& OpDefBuilder::Attr(const char* spec) { return Attr(std::string_view(spec)); }
OpDefBuilder& OpDefBuilder::Doc(const char* text) { return Doc(std::string_view(text)); }

OpDefBuilder& OpDefBuilder::Input(std::string_view spec) {
  inputs_.emplace_back(spec, false);
  return *this;
}

OpDefBuilder& OpDefBuilder::HostInput(std::string_view spec) {
  inputs_.emplace_back(spec, true);
  return *this;
}

OpDefBuilder& OpDefBuilder::Output(std::string_view spec) {
  outputs_.emplace_back(spec);
  return *this;
}

OpDefBuilder& OpDefBuilder::Attr(std::string_view spec) {
  attrs_.emplace_back(spec);
  return *this;
}

OpDefBuilder& OpDefBuilder::Doc(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(first);
  doc_ = text.substr(0, text.find_last_not_of(kSpace) + 1);
  return *this;
}

OpDefBuilder& OpDefBuilder::SideEffects() {
  side_effects_ = true;
  return *this;
}

OpDefBuilder& OpDefBuilder::Elementwise(std::span<const ElementExpression> expressions) {
  kind_ = OpKind::kElementwise;
  expressions_ = expressions;
  return *this;
}

OpDefBuilder& OpDefBuilder::MaxUlp(int max_ulp) {
  max_ulp_ = max_ulp;
  return *this;
}

OpDefBuilder& OpDefBuilder::Reduction() {
  kind_ = OpKind::kReduction;
  return *this;
}

OpDefBuilder& OpDefBuilder::Layout() {
  kind_ = OpKind::kLayout;
  return *this;
}

OpDefBuilder& OpDefBuilder::Aliases(int input) {
  aliased_input_ = input;
  return Layout();
}

namespace {

using internal::ParsedArg;
using internal::ParsedAttr;

// One definition while its specs are put together. Faults are collected, each with the spec it is in; a fault that
// only follows from another one is not reported.
class Assembly {
 public:
  explicit Assembly(OpDef& def) : def_(def) {}

  void AddAttr(const std::string& spec);
  void AddInput(const std::string& spec, bool host_input);
  void AddOutput(const std::string& spec);
  void CheckVariadicInputs();
  void CheckMetadata(const MetadataSignature& signature);
  void SetKernelTypeAttr();
  // Error if memory for the defaults cannot be had.
  Status SetDefaults();

  template <typename... Parts>
  void AddFault(const Parts&... parts) {
    MessageBuilder text;
    text.Append(parts...);
    if (!faults_.empty()) faults_ += "; ";
    faults_ += text.view();
  }
  const std::string& faults() const { return faults_; }

 private:
  // Reports `error` as the fault of a spec.
  void AddSpecFault(std::string_view what, std::string_view spec, const Status& error) {
    AddFault(what, " \"", spec, "\": ", error.detail());
  }
  Status ClaimName(const std::string& name, std::string_view what);
  Status AddArg(const std::string& spec, bool is_input, ArgDef* arg);
  Status Resolve(const ParsedArg& parsed, bool is_input, ArgDef* arg);
  Status ResolveNumber(const ParsedArg& parsed, ArgDef* arg) const;
  void MarkInferred(const ArgDef& arg);
  bool IsFaultyAttr(const std::string& name) const { return faulty_attrs_.contains(name); }

  OpDef& def_;
  std::vector<ParsedAttr> parsed_attrs_;
  std::map<std::string, std::string> names_;  // what each name was given to
  std::set<std::string> faulty_attrs_;
  bool args_ok_ = true;
  std::string faults_;
};

Status Assembly::ClaimName(const std::string& name, std::string_view what) {
  const auto [entry, inserted] = names_.emplace(name, what);
  if (inserted) return Status();
  return InvalidArgument("the name ", name, " is already that of an ", entry->second);
}

void Assembly::AddAttr(const std::string& spec) {
  ParsedAttr parsed;
  Status error = internal::ParseAttrSpec(spec, &parsed);
  if (!parsed.def.name.empty()) {
    if (Status taken = ClaimName(parsed.def.name, "attribute"); !taken.ok()) {
      return AddSpecFault("attribute", spec, error.ok() ? taken : error);
    }
    if (!error.ok()) faulty_attrs_.insert(parsed.def.name);
  }
  if (!error.ok()) return AddSpecFault("attribute", spec, error);
  def_.attrs.push_back(parsed.def);
  parsed_attrs_.push_back(std::move(parsed));
}

void Assembly::AddInput(const std::string& spec, bool host_input) {
  ArgDef arg;
  arg.host_input = host_input;
  if (Status error = AddArg(spec, /*is_input=*/true, &arg); !error.ok()) AddSpecFault("input", spec, error);
  MarkInferred(arg);
  def_.has_host_inputs = def_.has_host_inputs || host_input;
  def_.inputs.push_back(std::move(arg));
}

void Assembly::AddOutput(const std::string& spec) {
  ArgDef arg;
  if (Status error = AddArg(spec, /*is_input=*/false, &arg); !error.ok()) AddSpecFault("output", spec, error);
  def_.outputs.push_back(std::move(arg));
}

Status Assembly::AddArg(const std::string& spec, bool is_input, ArgDef* arg) {
  const auto add = [&]() -> Status {
    ParsedArg parsed;
    TANDEM_RETURN_IF_ERROR(internal::ParseArgSpec(spec, &parsed));
    arg->name = parsed.name;
    TANDEM_RETURN_IF_ERROR(ClaimName(parsed.name, is_input ? "input" : "output"));
    return Resolve(parsed, is_input, arg);
  };
  Status status = add();
  args_ok_ = args_ok_ && status.ok();
  return status;
}

Status Assembly::Resolve(const ParsedArg& parsed, bool is_input, ArgDef* arg) {
  if (IsFaultyAttr(parsed.type) || IsFaultyAttr(parsed.number)) {
    args_ok_ = false;
    return Status();
  }
  if (!parsed.number.empty()) TANDEM_RETURN_IF_ERROR(ResolveNumber(parsed, arg));
  const std::string_view type = parsed.type;
  if (type == "any") {
    if (is_input) return InvalidArgument("only an output can be of any dtype, use a type attribute");
    if (arg->number_attr >= 0) return InvalidArgument("outputs of any dtype cannot be repeated, use a list(type)");
    arg->any_dtype = true;
    return Status();
  }
  if (const std::optional<DType> dtype = ParseDType(type)) {
    arg->dtype = *dtype;
    return Status();
  }
  const int index = def_.FindAttr(type);
  if (index < 0) return InvalidArgument(type, " is neither a dtype nor an attribute of the op");
  const AttrDef& attr = def_.attrs[index];
  if (attr.kind != AttrKind::kType) {
    return InvalidArgument("expected a type attribute, got ", type, ", which is \"", attr.spec, "\"");
  }
  if (!attr.is_list) {
    arg->type_attr = index;
  } else if (arg->number_attr < 0) {
    arg->type_list_attr = index;
  } else {
    return InvalidArgument("expected a dtype or a type attribute after '*', got the list ", type);
  }
  return Status();
}

Status Assembly::ResolveNumber(const ParsedArg& parsed, ArgDef* arg) const {
  const std::string_view number = parsed.number;
  const int index = def_.FindAttr(number);
  if (index < 0) return InvalidArgument(number, " is not an attribute of the op");
  const AttrDef& attr = def_.attrs[index];
  if (attr.kind != AttrKind::kInt || attr.is_list || !attr.has_minimum || attr.minimum < 0) {
    return InvalidArgument("expected an attribute such as \"", number, ": int >= 1\" before '*', got \"", attr.spec,
                           "\"");
  }
  arg->number_attr = index;
  return Status();
}

void Assembly::MarkInferred(const ArgDef& arg) {
  for (int index : {arg.type_attr, arg.type_list_attr, arg.number_attr}) {
    if (index >= 0) def_.attrs[index].inferred = true;
  }
}

// The attribute that says how many tensors `arg` stands for, or -1.
int CountAttr(const ArgDef& arg) { return arg.number_attr >= 0 ? arg.number_attr : arg.type_list_attr; }

void Assembly::CheckVariadicInputs() {
  const ArgDef* first = nullptr;
  for (const ArgDef& arg : def_.inputs) {
    if (!arg.IsVariadic()) continue;
    if (first == nullptr) first = &arg;
    if (CountAttr(arg) == CountAttr(*first)) continue;
    AddFault("inputs ", first->name, " and ", arg.name,
             ": both vary in number, by different attributes, so that arguments cannot be told apart");
  }
}

void Assembly::CheckMetadata(const MetadataSignature& signature) {
  if (!args_ok_) return;
  int64_t num_args = 0;  // that every call has
  size_t num_leading = 0;
  while (num_leading < def_.inputs.size() && !def_.inputs[num_leading].IsVariadic()) ++num_leading;
  for (const ArgDef& arg : def_.inputs) num_args += arg.IsVariadic() ? def_.attrs[CountAttr(arg)].minimum : 1;
  if (signature.num_args > num_args) {
    AddFault("metadata function: takes ", signature.num_args, " arguments, the op has ",
             def_.HasVariadicInputs() ? "at least " : "", num_args);
    return;
  }
  for (int i = 0; i < signature.num_args; ++i) {
    if ((signature.host_args >> i & 1) == 0) continue;
    const auto position = static_cast<size_t>(i);
    if (position < num_leading && def_.inputs[position].host_input) continue;
    AddFault("metadata function: takes argument ", i, " as a HostInput, the op does not define it by HostInput");
  }
  if (signature.num_results < 0) return;
  if (def_.HasVariadicOutputs()) {
    AddFault("metadata function: gives ", signature.num_results, " results, the op has a varying number");
  } else if (static_cast<size_t>(signature.num_results) != def_.outputs.size()) {
    AddFault("metadata function: gives ", signature.num_results, " results, the op has ", def_.outputs.size());
  }
}

void Assembly::SetKernelTypeAttr() {
  for (size_t i = 0; i < def_.attrs.size(); ++i) {
    const AttrDef& attr = def_.attrs[i];
    if (attr.kind != AttrKind::kType || attr.is_list) continue;
    if (def_.kernel_type_attr < 0 || attr.name == "T") def_.kernel_type_attr = static_cast<int>(i);
  }
}

Status Assembly::SetDefaults() {
  OpAttrs defaults;
  for (const ParsedAttr& attr : parsed_attrs_) {
    if (attr.def.has_default && !internal::AddDefault(attr, defaults)) return Status::OutOfMemory();
  }
  if (defaults.empty()) return Status();
  def_.defaults = FrozenOpAttrs::Create(defaults.entries());
  return def_.defaults ? Status() : Status::OutOfMemory();
}

}  // namespace

StatusOr<OpDef> OpDefBuilder::Build() const {
  OpDef def;
  def.own_name = std::make_shared<const std::string>(name_);
  def.name = *def.own_name;
  def.doc = doc_;
  def.has_side_effects = side_effects_;
  def.metadata = metadata_;
  def.metadata_closure = metadata_closure_;
  def.kind = kind_;
  def.expressions = expressions_;
  def.max_ulp = max_ulp_;
  def.aliased_input = aliased_input_;
  Assembly assembly(def);
  if (!internal::IsOpName(name_)) {
    assembly.AddFault("name \"", name_, "\": expected prefix.Name of letters, digits and underscores");
  }
  for (const std::string& spec : attrs_) assembly.AddAttr(spec);
  if (attrs_.size() > OpDef::kMaxAttrs) {
    assembly.AddFault("expected at most ", OpDef::kMaxAttrs, " attributes, got ", attrs_.size());
  }
  for (const auto& [spec, host_input] : inputs_) assembly.AddInput(spec, host_input);
  for (const std::string& spec : outputs_) assembly.AddOutput(spec);
  assembly.CheckVariadicInputs();
  if (metadata_signature_) assembly.CheckMetadata(*metadata_signature_);
  assembly.SetKernelTypeAttr();
  if (!assembly.faults().empty()) return Status::Error(StatusCode::kInvalidArgument, assembly.faults(), name_);
  TANDEM_RETURN_IF_ERROR(assembly.SetDefaults().WithContext(name_, Location()));
  return def;
}

}  // namespace tandem
