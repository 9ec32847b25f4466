// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What makes functions a program: values, operands, results and functions that fit together.

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "program_kernels.h"
#include "tandem/op_attrs.h"

namespace tandem {

namespace {

using More = ProgramKernelInfo::More;

// Of a constant: each takes memory of its own, even if one is written for all of them.
constexpr int64_t kMaxStrings = int64_t{1} << 20;

// What callers ask of a function, worked out once: a function may have as many results as a program has calls.
struct FunctionTraits {
  explicit FunctionTraits(const ProgramFunction& function)
      : takes_tensors(IsAllOf(function.parameter_types(), {ProgramType::kTensor})),
        gives_tensors(IsAllOf(function.result_types, {ProgramType::kTensor})),
        gives_values(IsAllOf(function.result_types, {ProgramType::kTensor, ProgramType::kShape, ProgramType::kChain})) {
  }

  static bool IsAllOf(std::span<const ProgramType> types, std::initializer_list<ProgramType> allowed) {
    return std::all_of(types.begin(), types.end(), [&](ProgramType type) {
      return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
    });
  }

  bool takes_tensors;  // alone
  bool gives_tensors;  // alone
  bool gives_values;   // alone: what may become known later
};

// The checks of one function, instruction by instruction.
class FunctionCheck {
 public:
  FunctionCheck(std::span<const ProgramFunction> functions, std::span<const FunctionTraits> traits,
                const ProgramFunction& function, std::string_view file)
      : functions_(functions), traits_(traits), function_(function), file_(file) {}

  Status Run() {
    if (function_.name.empty()) return Wrong("expected a name of the function, got an empty one");
    const size_t num_values = function_.value_types.size();
    if (num_values > Program::kMaxValues) {
      return Wrong("expected at most ", Program::kMaxValues, " values, got ", num_values);
    }
    if (function_.num_parameters > num_values) {
      return Wrong("expected types of ", function_.num_parameters, " parameters, got ", num_values);
    }
    if (!function_.value_names.empty() && function_.value_names.size() != num_values) {
      return Wrong("expected names of ", num_values, " values or none, got ", function_.value_names.size());
    }
    for (const ProgramType type : function_.value_types) TANDEM_RETURN_IF_ERROR(CheckType(type));
    for (const ProgramType type : function_.result_types) TANDEM_RETURN_IF_ERROR(CheckType(type));
    if (function_.instructions.empty()) return Wrong("expected tfrt.return at the end, got no instruction");
    num_defined_ = function_.num_parameters;
    for (const ProgramInstruction& instruction : function_.instructions) {
      instruction_ = &instruction;
      TANDEM_RETURN_IF_ERROR(CheckInstruction());
    }
    if (num_defined_ != num_values) return Wrong("expected ", num_values, " values, got ", num_defined_);
    return Status();
  }

 private:
  template <typename... Parts>
  Status Wrong(const Parts&... parts) const {
    const ProgramPosition& position = instruction_ == nullptr ? function_.position : instruction_->position;
    MessageBuilder text;
    text.Append(file_, ":");
    if (position.line > 0) text.Append(position.line, ":", position.column, ":");
    text.Append(" ", parts..., ", in @", function_.name);
    if (instruction_ != nullptr && position.line == 0) {
      text.Append(", instruction ", instruction_ - function_.instructions.data());
    }
    return Status::Error(StatusCode::kInvalidArgument, text.view());
  }

  Status CheckType(ProgramType type) const {
    if (static_cast<size_t>(type) < kNumProgramTypes) return Status();
    return Wrong("expected a type of values, got number ", static_cast<int>(type));
  }

  Status CheckInstruction() {
    if (static_cast<size_t>(instruction_->kernel) >= kNumProgramKernels) {
      return Wrong("expected a kernel, got number ", static_cast<int>(instruction_->kernel));
    }
    const ProgramKernelInfo& info = InfoOf(instruction_->kernel);
    for (const size_t count : {instruction_->operands.size(), instruction_->results.size()}) {
      if (count > Program::kMaxOperands) {
        return Wrong(info.name, ": expected at most ", Program::kMaxOperands, " operands and results, got ", count);
      }
    }
    const bool is_last = instruction_ == &function_.instructions.back();
    if ((instruction_->kernel == ProgramKernel::kReturn) != is_last) {
      return Wrong("expected tfrt.return as the last instruction and nowhere else, got ", info.name);
    }
    TANDEM_RETURN_IF_ERROR(CheckFunctions(info));
    TANDEM_RETURN_IF_ERROR(CheckOperands(info));
    TANDEM_RETURN_IF_ERROR(CheckPayload(info));
    return CheckResults(info);
  }

  Status CheckFunctions(const ProgramKernelInfo& info) const {
    if (instruction_->functions.size() != info.num_functions) {
      return Wrong(info.name, ": expected ", info.num_functions, " functions, got ", instruction_->functions.size());
    }
    for (const uint32_t index : instruction_->functions) {
      if (index >= functions_.size()) {
        return Wrong(info.name, ": expected one of ", functions_.size(), " functions, got number ", index);
      }
    }
    return Status();
  }

  ProgramType TypeOf(uint32_t value) const { return function_.value_types[value]; }

  Status CheckOperands(const ProgramKernelInfo& info) const {
    const std::span<const uint32_t> operands = instruction_->operands;
    for (const uint32_t operand : operands) {
      if (operand >= num_defined_) {
        return Wrong(info.name, ": expected one of the ", num_defined_, " values defined before, got number ", operand);
      }
    }
    std::span<const ProgramType> wanted = info.operands;
    const bool is_short = operands.size() < wanted.size() || (info.optional == ProgramKernelInfo::Optional::kFirst &&
                                                              !operands.empty() && TypeOf(operands[0]) != wanted[0]);
    if (is_short && info.optional == ProgramKernelInfo::Optional::kFirst) wanted = wanted.subspan(1);
    if (is_short && info.optional == ProgramKernelInfo::Optional::kLast) wanted = wanted.first(wanted.size() - 1);
    if (operands.size() < wanted.size() || (info.more == More::kNone && operands.size() > wanted.size())) {
      return Wrong(info.name, ": expected ", wanted.size(), " operands, got ", operands.size());
    }
    for (size_t i = 0; i < wanted.size(); ++i) TANDEM_RETURN_IF_ERROR(CheckOperand(info, i, wanted[i]));
    for (size_t i = wanted.size(); i < operands.size(); ++i) {
      if (info.more == More::kChains) TANDEM_RETURN_IF_ERROR(CheckOperand(info, i, ProgramType::kChain));
      if (info.more == More::kTensors) TANDEM_RETURN_IF_ERROR(CheckOperand(info, i, ProgramType::kTensor));
    }
    if (instruction_->kernel == ProgramKernel::kReturn) return CheckReturn();
    // The arguments of the functions are the operands behind those of the kernel itself.
    const std::span<const uint32_t> arguments = operands.subspan(wanted.size());
    if (instruction_->kernel == ProgramKernel::kWhile) return CheckLoop(arguments);
    if (instruction_->kernel == ProgramKernel::kMakeCompositeOp) return CheckComposite();
    for (const uint32_t index : instruction_->functions) {
      TANDEM_RETURN_IF_ERROR(CheckArguments(functions_[index], arguments));
    }
    return Status();
  }

  Status CheckOperand(const ProgramKernelInfo& info, size_t i, ProgramType type) const {
    const ProgramType given = TypeOf(instruction_->operands[i]);
    if (given == type) return Status();
    return Wrong(info.name, ": expected operand ", i, " to be ", ProgramTypeName(type), ", got ",
                 ProgramTypeName(given));
  }

  Status CheckReturn() const {
    const std::span<const uint32_t> operands = instruction_->operands;
    if (operands.size() != function_.result_types.size()) {
      return Wrong("tfrt.return: expected ", function_.result_types.size(), " values, which the function gives, got ",
                   operands.size());
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      TANDEM_RETURN_IF_ERROR(CheckOperand(InfoOf(ProgramKernel::kReturn), i, function_.result_types[i]));
    }
    return Status();
  }

  Status CheckArguments(const ProgramFunction& callee, std::span<const uint32_t> arguments) const {
    const std::string_view kernel = ProgramKernelName(instruction_->kernel);
    if (arguments.size() != callee.num_parameters) {
      return Wrong(kernel, ": expected ", callee.num_parameters, " arguments for @", callee.name, ", got ",
                   arguments.size());
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (TypeOf(arguments[i]) == callee.value_types[i]) continue;
      return Wrong(kernel, ": expected argument ", i, " of @", callee.name, " to be ",
                   ProgramTypeName(callee.value_types[i]), ", got ", ProgramTypeName(TypeOf(arguments[i])));
    }
    return Status();
  }

  // Whether what a function gives may become known later, as that of a condition or a loop.
  Status CheckGives(uint32_t index, bool only_tensors) const {
    if (only_tensors ? traits_[index].gives_tensors : traits_[index].gives_values) return Status();
    return Wrong(ProgramKernelName(instruction_->kernel), ": expected @", functions_[index].name, " to give ",
                 only_tensors ? "tensors" : "tensors, shapes and chains", " alone");
  }

  Status CheckLoop(std::span<const uint32_t> arguments) const {
    const ProgramFunction& condition = functions_[instruction_->functions[0]];
    const ProgramFunction& body = functions_[instruction_->functions[1]];
    for (const uint32_t index : instruction_->functions) {
      TANDEM_RETURN_IF_ERROR(CheckArguments(functions_[index], arguments));
      TANDEM_RETURN_IF_ERROR(CheckGives(index, /*only_tensors=*/true));
    }
    if (condition.result_types.size() != 1) {
      return Wrong("corert.while: expected @", condition.name, " to give one tensor, the condition, got ",
                   condition.result_types.size(), " results");
    }
    if (body.result_types.size() == arguments.size()) return Status();
    return Wrong("corert.while: expected @", body.name, " to give as many results as it takes, ", arguments.size(),
                 ", got ", body.result_types.size());
  }

  Status CheckComposite() const {
    const uint32_t index = instruction_->functions[0];
    if (!traits_[index].takes_tensors) {
      return Wrong("corert.make_composite_op: expected @", functions_[index].name, " to take tensors alone");
    }
    return CheckGives(index, /*only_tensors=*/true);
  }

  Status CheckPayload(const ProgramKernelInfo& info) const {
    const bool is_weight = instruction_->kernel == ProgramKernel::kConstDenseTensor && !instruction_->constant;
    const std::string_view meaning = is_weight ? "the name of a weight" : info.name_meaning;
    if (meaning.empty() != instruction_->name.empty()) {
      return Wrong(info.name, ": expected ", meaning.empty() ? "no name" : meaning, ", got ",
                   meaning.empty() ? instruction_->name : "none");
    }
    if (instruction_->attrs && !info.takes_attrs) return Wrong(info.name, ": expected no attributes");
    if (instruction_->attrs) TANDEM_RETURN_IF_ERROR(CheckAttrs(info, instruction_->attrs->entries()));
    if (is_weight) return CheckMetadata(info, instruction_->weight_metadata);
    if (info.makes_tensor != (instruction_->constant != nullptr)) {
      return Wrong(info.name, ": expected ", info.makes_tensor ? "a" : "no", " constant");
    }
    return info.makes_tensor ? CheckConstant(info, *instruction_->constant) : Status();
  }

  // Values that could neither be written nor be used. Lists are nested at most kMaxAttrDepth deep.
  Status CheckAttrs(const ProgramKernelInfo& info, std::span<const AttrEntry> entries) const {
    for (const AttrEntry& entry : entries) {
      for (uint32_t i = 0; i < entry.size; ++i) {
        if (entry.type == AttrType::kDType && static_cast<const DType*>(entry.data)[i] == DType::kInvalid) {
          return Wrong(info.name, ": expected attribute ", entry.name, " to be a dtype");
        }
        if (entry.type == AttrType::kAttrs) {
          TANDEM_RETURN_IF_ERROR(CheckAttrs(info, static_cast<const OpAttrsRef*>(entry.data)[i].entries()));
        }
        if (entry.type != AttrType::kTensor) continue;
        const TensorAttr& tensor = static_cast<const TensorAttr*>(entry.data)[i];
        TANDEM_RETURN_IF_ERROR(CheckMetadata(info, tensor.metadata));
        const auto elements = static_cast<size_t>(tensor.metadata.num_elements());
        const bool has_all =
            tensor.metadata.dtype == DType::kString ? tensor.strings.size() == elements : tensor.data != nullptr;
        if (!has_all && elements > 0) {
          return Wrong(info.name, ": expected attribute ", entry.name, " to have the elements of ", tensor.metadata);
        }
      }
    }
    return Status();
  }

  Status CheckMetadata(const ProgramKernelInfo& info, const TensorMetadata& metadata) const {
    if (metadata.IsValid()) return Status();
    return Wrong(info.name, ": ", metadata.Validate().detail());
  }

  Status CheckConstant(const ProgramKernelInfo& info, const ProgramConstant& constant) const {
    TANDEM_RETURN_IF_ERROR(CheckMetadata(info, constant.metadata));
    const bool is_string = constant.metadata.dtype == DType::kString;
    if (is_string != (instruction_->kernel == ProgramKernel::kConstStringTensor)) {
      return Wrong(info.name, ": expected ", is_string ? "numbers" : "strings", ", got ", constant.metadata);
    }
    const uint64_t elements = constant.is_splat ? 1 : static_cast<uint64_t>(constant.metadata.num_elements());
    if (is_string && constant.metadata.num_elements() > kMaxStrings) {
      return Wrong(info.name, ": expected at most ", kMaxStrings, " strings, got ", constant.metadata);
    }
    if (constant.strings.size() != (is_string ? elements : 0)) {
      return Wrong(info.name, ": expected ", is_string ? elements : 0, " strings, got ", constant.strings.size());
    }
    if (constant.bytes.size() != elements * DTypeSize(constant.metadata.dtype)) {
      return Wrong(info.name, ": expected ", elements * DTypeSize(constant.metadata.dtype), " bytes, got ",
                   constant.bytes.size());
    }
    if (constant.metadata.dtype != DType::kBool) return Status();
    for (const std::byte byte : constant.bytes) {
      if (byte > std::byte{1}) return Wrong(info.name, ": expected bools of 0 or 1, got ", static_cast<int>(byte));
    }
    return Status();
  }

  Status CheckResults(const ProgramKernelInfo& info) {
    const std::span<const uint32_t> results = instruction_->results;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] != num_defined_ || num_defined_ == function_.value_types.size()) {
        return Wrong(info.name, ": expected result ", i, " to be value ", num_defined_, " of ",
                     function_.value_types.size(), ", got ", results[i]);
      }
      ++num_defined_;
    }
    const std::span<const ProgramType> wanted =
        info.gives_function_results ? functions_[instruction_->functions.back()].result_types : info.results;
    if (results.size() < wanted.size() || (!info.gives_tensors && results.size() > wanted.size())) {
      return Wrong(info.name, ": expected ", wanted.size(), " results, got ", results.size());
    }
    TANDEM_RETURN_IF_ERROR(CheckAlternatives());
    for (size_t i = 0; i < results.size(); ++i) {
      const ProgramType type = i < wanted.size() ? wanted[i] : ProgramType::kTensor;
      if (TypeOf(results[i]) == type) continue;
      return Wrong(info.name, ": expected result ", i, " to be ", ProgramTypeName(type), ", got ",
                   ProgramTypeName(TypeOf(results[i])));
    }
    return CheckComposedResults();
  }

  // Of a condition: both functions give the same.
  Status CheckAlternatives() const {
    const bool is_tensor_cond = instruction_->kernel == ProgramKernel::kTensorCond;
    if (instruction_->kernel != ProgramKernel::kCond && !is_tensor_cond) return Status();
    const ProgramFunction& first = functions_[instruction_->functions[0]];
    const ProgramFunction& second = functions_[instruction_->functions[1]];
    if (first.result_types != second.result_types) {
      return Wrong(ProgramKernelName(instruction_->kernel), ": expected @", first.name, " and @", second.name,
                   " to give the same types");
    }
    return CheckGives(instruction_->functions[1], is_tensor_cond);
  }

  // Of a composite op that is made in this function: as many as its function gives.
  Status CheckComposedResults() {
    if (instruction_->kernel == ProgramKernel::kMakeCompositeOp) {
      composites_.emplace_back(instruction_->results[0], instruction_->functions[0]);
    }
    if (instruction_->kernel != ProgramKernel::kExecuteCompositeOp) return Status();
    // Values are defined in the order of their numbers.
    const uint32_t op = instruction_->operands[0];
    const auto found = std::lower_bound(composites_.begin(), composites_.end(), std::pair(op, uint32_t{0}));
    if (found == composites_.end() || found->first != op) return Status();
    const ProgramFunction& callee = functions_[found->second];
    TANDEM_RETURN_IF_ERROR(CheckArguments(callee, std::span(instruction_->operands).subspan(1)));
    if (callee.result_types.size() == instruction_->results.size()) return Status();
    return Wrong("corert.execute_crt_op: expected ", callee.result_types.size(), " results of @", callee.name, ", got ",
                 instruction_->results.size());
  }

  const std::span<const ProgramFunction> functions_;
  const std::span<const FunctionTraits> traits_;
  const ProgramFunction& function_;
  const std::string_view file_;
  const ProgramInstruction* instruction_ = nullptr;
  size_t num_defined_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> composites_;  // values that are composite ops, and their functions
};

}  // namespace

Status CheckProgram(std::span<const ProgramFunction> functions, std::string_view file) {
  if (functions.size() > Program::kMaxFunctions) {
    return InvalidArgument(file, ": expected at most ", Program::kMaxFunctions, " functions, got ", functions.size());
  }
  const std::vector<FunctionTraits> traits(functions.begin(), functions.end());
  std::set<std::string_view> names;
  size_t num_instructions = 0;
  for (const ProgramFunction& function : functions) {
    TANDEM_RETURN_IF_ERROR(FunctionCheck(functions, traits, function, file).Run());
    if (!names.insert(function.name).second) {
      return InvalidArgument(file, ": expected one function of a name, got two @", function.name);
    }
    num_instructions += function.instructions.size();
  }
  if (num_instructions <= Program::kMaxInstructions) return Status();
  return InvalidArgument(file, ": expected at most ", Program::kMaxInstructions, " instructions, got ",
                         num_instructions);
}

}  // namespace tandem
