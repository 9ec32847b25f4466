// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Instructions, each checked as it is read: what Program::Create would find wrong is found here, at the word that is.

#include "program_body_reader.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "program_kernels.h"

namespace tandem {

namespace {

using More = ProgramKernelInfo::More;
using Optional = ProgramKernelInfo::Optional;
using Types = std::vector<ProgramType>;

// "no operands", "1 operand", "2 operands"
std::string Count(size_t count, std::string_view what) {
  std::string text = count == 0 ? "no" : std::to_string(count);
  text.append(" ").append(what);
  return count == 1 ? text : text + "s";
}

bool AreAll(std::span<const ProgramType> types, std::initializer_list<ProgramType> allowed) {
  return std::all_of(types.begin(), types.end(), [&](ProgramType type) {
    return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
  });
}

// What is wrong with one instruction, and what it gives.
class DraftCheck {
 public:
  DraftCheck(const ProgramTokens& tokens, std::span<const ProgramFunction> functions, const ProgramFunction& function,
             const std::map<uint32_t, uint32_t>& composites, const ProgramDraft& draft)
      : tokens_(tokens), functions_(functions), function_(function), draft_(draft), info_(*draft.info) {
    const ProgramInstruction& instruction = draft.instruction;
    if (instruction.kernel != ProgramKernel::kExecuteCompositeOp || instruction.operands.empty()) return;
    const auto found = composites.find(instruction.operands[0]);
    if (found != composites.end()) composite_ = &functions[found->second];
  }

  Status Run(Types* results) {
    TANDEM_RETURN_IF_ERROR(CheckParts());
    TANDEM_RETURN_IF_ERROR(CheckOperands());
    TANDEM_RETURN_IF_ERROR(CheckFunctions());
    TANDEM_RETURN_IF_ERROR(FindResults(results));
    return CheckTypes(*results);
  }

 private:
  bool IsKernel(ProgramKernel kernel) const { return draft_.instruction.kernel == kernel; }
  std::span<const uint32_t> operands() const { return draft_.instruction.operands; }
  const ProgramFunction& Callee(size_t i) const { return functions_[draft_.instruction.functions[i]]; }

  template <typename... Parts>
  Status WrongKernel(const Parts&... parts) const {
    return tokens_.Wrong(draft_.kernel_offset, parts...);
  }

  Status CheckParts() const {
    const size_t num_functions = draft_.instruction.functions.size();
    if (num_functions < info_.num_functions) {
      return WrongKernel("expected ", Count(info_.num_functions, "function"), " for ", info_.name, ", got ",
                         num_functions);
    }
    if (!info_.name_meaning.empty() && !draft_.has_name) {
      return WrongKernel("expected ", info_.name_meaning, " in quotes for ", info_.name, ", got none");
    }
    if (!info_.makes_tensor || draft_.has_name || draft_.instruction.constant) return Status();
    const bool is_dense = IsKernel(ProgramKernel::kConstDenseTensor);
    return WrongKernel("expected ", is_dense ? "dense<...> or the name of a weight" : "{shape = ..., values = ...}",
                       " for ", info_.name, ", got none");
  }

  // Those of the kernel itself; those of the functions that it calls are behind them.
  Status CheckOperands() {
    std::span<const ProgramType> wanted = info_.operands;
    const size_t most = wanted.size();
    const bool leaves_one_out = info_.optional != Optional::kNone && operands().size() < most;
    if (leaves_one_out) wanted = info_.optional == Optional::kFirst ? wanted.subspan(1) : wanted.first(most - 1);
    const std::string expected =
        (info_.optional == Optional::kNone ? "" : std::to_string(most - 1) + " or ") + Count(most, "operand");
    if (operands().size() < wanted.size()) {
      return WrongKernel("expected ", info_.more == More::kNone ? "" : "at least ", expected, " for ", info_.name,
                         ", got ", operands().size());
    }
    if (info_.more == More::kNone && operands().size() > most) {
      return tokens_.Wrong(draft_.operand_offsets[most], "expected ", expected, " for ", info_.name, ", got ",
                           operands().size());
    }
    for (size_t i = 0; i < operands().size(); ++i) {
      if (i < wanted.size()) {
        TANDEM_RETURN_IF_ERROR(CheckOperand(i, wanted[i], info_.name));
      } else if (info_.more == More::kChains || info_.more == More::kTensors) {
        const bool is_chain = info_.more == More::kChains;
        TANDEM_RETURN_IF_ERROR(CheckOperand(i, is_chain ? ProgramType::kChain : ProgramType::kTensor, info_.name));
      }
    }
    first_argument_ = wanted.size();
    return IsKernel(ProgramKernel::kReturn) ? CheckReturn() : Status();
  }

  template <typename User>
  Status CheckOperand(size_t i, ProgramType type, const User& user) const {
    const uint32_t value = operands()[i];
    const ProgramType given = function_.value_types[value];
    if (given == type) return Status();
    return tokens_.Wrong(draft_.operand_offsets[i], "expected a value of type ", ProgramTypeName(type), " for ", user,
                         ", got %", ProgramTokens::Shown(function_.value_names[value]), " of type ",
                         ProgramTypeName(given));
  }

  Status CheckReturn() const {
    const Types& wanted = function_.result_types;
    const std::string name = "@" + ProgramTokens::Shown(function_.name);
    if (operands().size() < wanted.size()) {
      return WrongKernel("expected ", Count(wanted.size(), "result"), " of ", name, ", got ", operands().size());
    }
    if (operands().size() > wanted.size()) {
      return tokens_.Wrong(draft_.operand_offsets[wanted.size()], "expected ", Count(wanted.size(), "result"), " of ",
                           name, ", got ", operands().size());
    }
    for (size_t i = 0; i < wanted.size(); ++i) TANDEM_RETURN_IF_ERROR(CheckOperand(i, wanted[i], name));
    return Status();
  }

  // That a function takes the arguments; what is wrong with their number is wrong at the offset.
  Status CheckArguments(const ProgramFunction& callee, size_t offset) const {
    const size_t count = operands().size() - first_argument_;
    const std::string name = "@" + ProgramTokens::Shown(callee.name);
    if (count != callee.num_parameters) {
      return tokens_.Wrong(offset, "expected ", Count(callee.num_parameters, "argument"), " for ", name, ", got ",
                           count);
    }
    for (size_t i = 0; i < count; ++i) {
      TANDEM_RETURN_IF_ERROR(CheckOperand(first_argument_ + i, callee.value_types[i], name));
    }
    return Status();
  }

  Status CheckFunctions() const {
    if (composite_ != nullptr) TANDEM_RETURN_IF_ERROR(CheckArguments(*composite_, draft_.operand_offsets[0]));
    const size_t count = draft_.instruction.functions.size();
    const bool is_composite = IsKernel(ProgramKernel::kMakeCompositeOp);
    for (size_t i = 0; i < count && !is_composite; ++i) {
      TANDEM_RETURN_IF_ERROR(CheckArguments(Callee(i), draft_.function_offsets[i]));
    }
    const bool is_loop = IsKernel(ProgramKernel::kWhile);
    const bool is_condition = IsKernel(ProgramKernel::kCond) || IsKernel(ProgramKernel::kTensorCond);
    if (is_condition && Callee(0).result_types != Callee(1).result_types) {
      return WrongFunction(1, "to give results of the same types as @" + ProgramTokens::Shown(Callee(0).name));
    }
    for (size_t i = 0; i < count; ++i) {
      const ProgramFunction& callee = Callee(i);
      if (is_composite && !AreAll(callee.parameter_types(), {ProgramType::kTensor})) {
        return WrongFunction(i, "to take tensors alone");
      }
      if ((is_loop || is_composite || IsKernel(ProgramKernel::kTensorCond)) &&
          !AreAll(callee.result_types, {ProgramType::kTensor})) {
        return WrongFunction(i, "to give tensors alone");
      }
      if (IsKernel(ProgramKernel::kCond) &&
          !AreAll(callee.result_types, {ProgramType::kTensor, ProgramType::kShape, ProgramType::kChain})) {
        return WrongFunction(i, "to give tensors, shapes and chains alone");
      }
    }
    return is_loop ? CheckLoop() : Status();
  }

  Status CheckLoop() const {
    if (Callee(0).result_types.size() != 1) {
      return WrongFunction(0,
                           "to give one tensor, the condition, not " + std::to_string(Callee(0).result_types.size()));
    }
    const size_t count = operands().size() - first_argument_;
    if (Callee(1).result_types.size() == count) return Status();
    return WrongFunction(1, "to give as many results as it takes arguments, " + std::to_string(count) + ", not " +
                                std::to_string(Callee(1).result_types.size()));
  }

  Status WrongFunction(size_t i, const std::string& what) const {
    return tokens_.Wrong(draft_.function_offsets[i], "expected @", ProgramTokens::Shown(Callee(i).name), " ", what);
  }

  Status FindResults(Types* types) const {
    if (info_.gives_function_results) {
      *types = functions_[draft_.instruction.functions.back()].result_types;
    } else if (composite_ != nullptr) {
      *types = composite_->result_types;
    } else {
      types->assign(info_.results.begin(), info_.results.end());
      if (info_.gives_tensors) return CountTensors(types);
    }
    if (draft_.count && *draft_.count != types->size()) {
      return tokens_.Wrong(draft_.count_offset, "expected ", Count(types->size(), "result"), " of ", info_.name,
                           ", got ", *draft_.count);
    }
    return CheckNamed(types->size());
  }

  // Of an op, as many as are named or counted.
  Status CountTensors(Types* types) const {
    const size_t before = types->size();
    const size_t named = draft_.num_results;
    if (named > 0 && named < before) return CheckNamed(before);
    const size_t num_tensors = draft_.count ? *draft_.count : named - std::min(named, before);
    types->resize(before + num_tensors, ProgramType::kTensor);
    if (!draft_.count || named == 0 || named == types->size()) return Status();
    return tokens_.Wrong(draft_.count_offset, "expected ", Count(named - before, "result"), " of the op, as ",
                         named == 1 ? "is" : "are", " named, got ", *draft_.count);
  }

  // None or all results have names.
  Status CheckNamed(size_t count) const {
    if (draft_.num_results == 0 || draft_.num_results == count) return Status();
    return tokens_.Wrong(draft_.results[0].offset, "expected names for ", Count(count, "result"), " of ", info_.name,
                         ", got ", draft_.num_results);
  }

  // What the signature says. That of a call may leave out what is not passed on.
  Status CheckTypes(const Types& results) const {
    if (draft_.operand_types) {
      Types known;
      const bool is_short = draft_.operand_types->types.size() != operands().size() &&
                            draft_.operand_types->types.size() == operands().size() - first_argument_;
      for (const uint32_t value : operands().subspan(is_short ? first_argument_ : 0)) {
        known.push_back(function_.value_types[value]);
      }
      TANDEM_RETURN_IF_ERROR(CompareTypes(*draft_.operand_types, known, "operand"));
    }
    return draft_.result_types ? CompareTypes(*draft_.result_types, results, "result") : Status();
  }

  Status CompareTypes(const ProgramDraft::Types& given, const Types& known, std::string_view what) const {
    if (given.types.size() != known.size()) {
      return tokens_.Wrong(given.offset, "expected types of ", Count(known.size(), what), ", got ", given.types.size());
    }
    for (size_t i = 0; i < known.size(); ++i) {
      if (given.types[i] == known[i]) continue;
      return tokens_.Wrong(given.offsets[i], "expected ", ProgramTypeName(known[i]), ", the type of ", what, " ", i,
                           ", got ", ProgramTypeName(given.types[i]));
    }
    return Status();
  }

  const ProgramTokens& tokens_;
  const std::span<const ProgramFunction> functions_;
  const ProgramFunction& function_;
  const ProgramDraft& draft_;
  const ProgramKernelInfo& info_;
  const ProgramFunction* composite_ = nullptr;  // of the op that is executed, if it is made in this function
  size_t first_argument_ = 0;                   // the operand that is the first passed on
};

}  // namespace

Status ProgramBodyReader::NameParameter(const ProgramToken& value) { return AddName(value.content, value.offset, 1); }

Status ProgramBodyReader::Read(size_t* num_instructions) {
  for (;;) {
    if (tokens_.Is('}')) {
      return tokens_.Wrong(tokens_.token().offset, "expected tfrt.return as the last instruction of @",
                           ProgramTokens::Shown(function_.name), ", got '}'");
    }
    ProgramDraft draft;
    TANDEM_RETURN_IF_ERROR(ReadProgramDraft(tokens_, function_names_, value_names_, &draft));
    if (++*num_instructions > Program::kMaxInstructions) {
      return tokens_.Wrong(draft.kernel_offset, "expected at most ", Program::kMaxInstructions, " instructions");
    }
    Types types;
    TANDEM_RETURN_IF_ERROR(DraftCheck(tokens_, functions_, function_, composites_, draft).Run(&types));
    ProgramInstruction& instruction = function_.instructions.emplace_back(std::move(draft.instruction));
    TANDEM_RETURN_IF_ERROR(Define(draft, types, &instruction));
    if (instruction.kernel == ProgramKernel::kMakeCompositeOp) {
      composites_.emplace(instruction.results[0], instruction.functions[0]);
    }
    if (instruction.kernel == ProgramKernel::kReturn) break;
  }
  NameTheRest();
  return tokens_.Expect('}', "'}' behind tfrt.return");
}

Status ProgramBodyReader::Define(const ProgramDraft& draft, std::span<const ProgramType> types,
                                 ProgramInstruction* instruction) {
  if (types.size() > Program::kMaxOperands) {
    return tokens_.Wrong(draft.kernel_offset, "expected at most ", Program::kMaxOperands, " results, got ",
                         types.size());
  }
  const size_t first = function_.value_types.size();
  if (types.size() > Program::kMaxValues - first) {
    return tokens_.Wrong(draft.kernel_offset, "expected at most ", Program::kMaxValues, " values of a function");
  }
  if (draft.results.empty()) {
    TANDEM_RETURN_IF_ERROR(AddName({}, draft.kernel_offset, static_cast<uint32_t>(types.size())));
  }
  for (const ProgramDraft::Result& result : draft.results) {
    TANDEM_RETURN_IF_ERROR(AddName(result.name, result.offset, result.count));
  }
  function_.value_types.insert(function_.value_types.end(), types.begin(), types.end());
  for (size_t i = 0; i < types.size(); ++i) instruction->results.push_back(static_cast<uint32_t>(first + i));
  return Status();
}

Status ProgramBodyReader::AddName(std::string_view name, size_t offset, uint32_t count) {
  const auto first = static_cast<uint32_t>(function_.value_names.size());
  if (!name.empty()) {
    if (const ProgramNamedValues* before = value_names_.Add(name, {first, count, offset})) {
      return tokens_.Wrong(offset, "expected a name that is new, got '%", ProgramTokens::Shown(name), "', which line ",
                           tokens_.LineOf(before->offset), " defines");
    }
  }
  if (count == 1 && !name.empty()) {
    function_.value_names.emplace_back(name);
    return Status();
  }
  // A few characters stand for many values, each of which takes about so much.
  constexpr uint64_t kBytesOfValue = 40;
  TANDEM_RETURN_IF_ERROR(tokens_.Claim(offset, count * (kBytesOfValue + name.size())));
  for (uint32_t i = 0; i < count; ++i) {
    std::string& full = function_.value_names.emplace_back(name);
    if (!name.empty()) full.append("#").append(std::to_string(i));
  }
  return Status();
}

void ProgramBodyReader::NameTheRest() {
  for (size_t i = 0; i < function_.value_names.size(); ++i) {
    std::string& name = function_.value_names[i];
    if (!name.empty()) continue;
    name = std::to_string(i);
    while (value_names_.Find(name) != nullptr) name.insert(0, "_");
  }
}

}  // namespace tandem
