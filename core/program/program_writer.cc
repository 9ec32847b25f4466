// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Writes programs in the language that README.md describes, in the way that its tables show.

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program_kernels.h"
#include "program_value_writer.h"
#include "tandem/op_attrs.h"
#include "tandem/program.h"

namespace tandem {
namespace {

bool IsNumber(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

// What the values of a function are called: by their names if these can be written, else by their numbers.
class ValueNames {
 public:
  explicit ValueNames(const ProgramFunction& function)
      : names_(function.value_names), has_names_(AreWritable(function)) {}

  // "%a", "%r#1"
  void AppendValue(uint32_t value, std::string* out) const {
    *out += '%';
    *out += has_names_ ? names_[value] : std::to_string(value);
  }
  // "%a, %r:2"
  void AppendResults(std::span<const uint32_t> results, std::string* out) const {
    for (size_t i = 0; i < results.size();) {
      if (i > 0) *out += ", ";
      const size_t count = has_names_ ? GroupSize(results.subspan(i)) : 1;
      if (count == 1) {
        AppendValue(results[i], out);
      } else {
        out->append(1, '%').append(BaseName(results[i])).append(1, ':').append(std::to_string(count));
      }
      i += count;
    }
  }

 private:
  // "r" of "r#1"
  std::string_view BaseName(uint32_t value) const {
    const std::string_view name = names_[value];
    return name.substr(0, name.find('#'));
  }
  // How many results, from the first on, one name defines: "r", or "r#0", "r#1" and so on. 0 if none could.
  size_t GroupSize(std::span<const uint32_t> results) const {
    const std::string base(BaseName(results[0]));
    if (base.size() == names_[results[0]].size()) return 1;
    size_t count = 0;
    while (count < results.size() && names_[results[count]] == base + '#' + std::to_string(count)) ++count;
    return count > 1 ? count : 0;
  }

  // Whether text can have these names, each once.
  bool AreWritable(const ProgramFunction& function) const {
    if (names_.empty()) return false;
    std::set<std::string_view> known;
    const auto define = [&known](std::string_view name) {
      return (IsProgramIdentifier(name) || IsNumber(name)) && known.insert(name).second;
    };
    for (uint32_t value = 0; value < function.num_parameters; ++value) {
      if (!define(names_[value])) return false;
    }
    for (const ProgramInstruction& instruction : function.instructions) {
      const std::span<const uint32_t> results = instruction.results;
      for (size_t i = 0; i < results.size();) {
        const size_t count = GroupSize(results.subspan(i));
        if (count == 0 || !define(BaseName(results[i]))) return false;
        i += count;
      }
    }
    return true;
  }

  const std::span<const std::string> names_;
  const bool has_names_;
};

class FunctionWriter {
 public:
  FunctionWriter(std::span<const ProgramFunction> functions, const ProgramFunction& function, std::string* out)
      : functions_(functions), function_(function), names_(function), out_(*out) {}

  void Write() {
    out_ += "func ";
    AppendProgramSymbol(function_.name, &out_);
    out_ += '(';
    for (uint32_t i = 0; i < function_.num_parameters; ++i) {
      if (i > 0) out_ += ", ";
      names_.AppendValue(i, &out_);
      out_.append(": ").append(ProgramTypeName(function_.value_types[i]));
    }
    out_ += ')';
    const bool is_one = function_.result_types.size() == 1;
    if (!function_.result_types.empty()) {
      out_ += is_one ? " -> " : " -> (";
      WriteTypes(function_.result_types);
      if (!is_one) out_ += ')';
    }
    out_ += " {\n";
    for (const ProgramInstruction& instruction : function_.instructions) WriteInstruction(instruction);
    out_ += "}\n";
  }

 private:
  void WriteInstruction(const ProgramInstruction& instruction) {
    out_ += "  ";
    names_.AppendResults(instruction.results, &out_);
    if (!instruction.results.empty()) out_ += " = ";
    out_ += ProgramKernelName(instruction.kernel);
    WriteItems(instruction);
    out_ += '\n';
  }

  // What follows the kernel.
  void WriteItems(const ProgramInstruction& instruction) {
    const std::span<const uint32_t> operands = instruction.operands;
    switch (instruction.kernel) {
      case ProgramKernel::kReturn:
        WriteOperands(operands);
        if (operands.empty()) return;
        out_ += " : ";
        return WriteTypes(function_.result_types);
      case ProgramKernel::kCall:
        WriteFunctions(instruction);
        return WriteInBrackets(operands);
      case ProgramKernel::kCond:
      case ProgramKernel::kTensorCond:
        WriteOperands(operands.first(1));
        WriteFunctions(instruction);
        out_ += ' ';
        return WriteInBrackets(operands.subspan(1));
      case ProgramKernel::kWhile:
        WriteFunctions(instruction);
        out_ += ' ';
        return WriteInBrackets(operands);
      case ProgramKernel::kExecuteOp:
        return WriteOp(instruction, 1);
      case ProgramKernel::kExecuteOpSeq:
        return WriteOp(instruction, 2);
      case ProgramKernel::kExecuteCompositeOp:
        WriteInBrackets(operands.first(1));
        out_ += ' ';
        return WriteInBrackets(operands.subspan(1));
      case ProgramKernel::kConstDenseTensor:
        return WriteConstant(instruction);
      case ProgramKernel::kCreateDenseTensor:
        out_.append(1, '.').append(DTypeName(instruction.constant->metadata.dtype));
        [[fallthrough]];
      case ProgramKernel::kConstStringTensor:
        out_ += ' ';
        return AppendProgramCreation(*instruction.constant, &out_);
      default:
        WriteOperands(operands);
        WriteFunctions(instruction);
        if (instruction.name.empty()) return;
        out_ += ' ';
        return AppendProgramString(instruction.name, &out_);
    }
  }

  // The first operands are the kernel's, the others the op's.
  void WriteOp(const ProgramInstruction& instruction, size_t num_first) {
    const std::span<const uint32_t> operands = instruction.operands;
    WriteInBrackets(operands.first(num_first));
    out_ += ' ';
    AppendProgramString(instruction.name, &out_);
    WriteInBrackets(operands.subspan(num_first));
    const OpAttrsRef attrs(instruction.attrs);
    if (attrs.entries().empty()) return;
    out_ += ' ';
    AppendProgramAttrs(attrs.entries(), &out_);
  }

  void WriteConstant(const ProgramInstruction& instruction) {
    out_ += ' ';
    if (instruction.constant) return AppendProgramDense(*instruction.constant, &out_);
    AppendProgramString(instruction.name, &out_);
    out_ += " : ";
    AppendProgramTensorType(instruction.weight_metadata, &out_);
  }

  // " %a, %b"
  void WriteOperands(std::span<const uint32_t> operands) {
    if (operands.empty()) return;
    out_ += ' ';
    WriteValues(operands);
  }
  void WriteInBrackets(std::span<const uint32_t> operands) {
    out_ += '(';
    WriteValues(operands);
    out_ += ')';
  }
  void WriteValues(std::span<const uint32_t> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      names_.AppendValue(values[i], &out_);
    }
  }
  // " @f @g"
  void WriteFunctions(const ProgramInstruction& instruction) {
    for (const uint32_t index : instruction.functions) {
      out_ += ' ';
      AppendProgramSymbol(functions_[index].name, &out_);
    }
  }
  void WriteTypes(std::span<const ProgramType> types) {
    for (size_t i = 0; i < types.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += ProgramTypeName(types[i]);
    }
  }

  const std::span<const ProgramFunction> functions_;
  const ProgramFunction& function_;
  const ValueNames names_;
  std::string& out_;
};

}  // namespace

std::string Program::ToText() const {
  std::string text;
  for (const ProgramFunction& function : functions()) {
    if (!text.empty()) text += '\n';
    FunctionWriter(functions(), function, &text).Write();
  }
  return text;
}

}  // namespace tandem
