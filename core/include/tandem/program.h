// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Program: functions of op calls as data (section PR of the contract): what text, the binary form and recordings give,
// and what a ProgramRunner executes.
//
//   TANDEM_ASSIGN_OR_RETURN(auto program, tandem::Program::FromText(text, "digits.mlir"));
//   TANDEM_ASSIGN_OR_RETURN(auto bytes, program->ToBytes());

#ifndef TANDEM_PROGRAM_H_
#define TANDEM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/export.h"
#include "tandem/frozen_op_attrs.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// What a value of a program is. The numbers are part of the binary form: append only.
enum class ProgramType : uint8_t {
  kChain = 0,      // !tfrt.chain: orders effects
  kTensor = 1,     // !corert.tensorhandle: a tensor, possibly pending
  kOpHandler = 2,  // !corert.ophandler
  kOp = 3,         // !corert.op: a function of the program to be called as an op
  kShape = 4,      // !corert.shape: the dimensions of a tensor
};
inline constexpr int kNumProgramTypes = 5;

// "!tfrt.chain", ...
TANDEM_EXPORT std::string_view ProgramTypeName(ProgramType type);

// What an instruction does; program_kernels.h has names and signatures. The numbers are part of the binary form: append
// only.
enum class ProgramKernel : uint8_t {
  kNewChain = 0,
  kMergeChains,
  kReturn,
  kCall,
  kCond,
  kTensorCond,
  kWhile,
  kGetOpHandler,
  kRegisterOpHandler,
  kExecuteOp,
  kExecuteOpSeq,
  kMakeCompositeOp,
  kExecuteCompositeOp,
  kConstDenseTensor,
  kCreateDenseTensor,
  kConstStringTensor,
  kPrintTensor,
  kTensorToShape,
  kTransfer,
};
inline constexpr int kNumProgramKernels = 19;

// "corert.executeop", ...
TANDEM_EXPORT std::string_view ProgramKernelName(ProgramKernel kernel);

// Where something stands in the text that a program was read from, counted from 1; 0 if it is not known.
struct ProgramPosition {
  uint32_t line = 0;
  uint32_t column = 0;
};

// A tensor that is part of a program. Immutable once it is in one.
struct ProgramConstant {
  TensorMetadata metadata;
  // Row-major elements as the host has them; or one element, which stands for all, if `is_splat`. Bools are 0 or 1.
  std::vector<std::byte> bytes;
  // The elements if the dtype is string, of which `bytes` has none; one of them if `is_splat`.
  std::vector<std::string> strings;
  bool is_splat = false;
};

// Values are numbered within their function: parameters first, then results in the order of instructions.
struct ProgramInstruction {
  ProgramKernel kernel = ProgramKernel::kReturn;
  std::vector<uint32_t> operands;
  std::vector<uint32_t> results;
  // Of the program, by index: what is called; of a condition what to do if it holds and if it does not; of a loop its
  // condition and its body; of a composite op the function.
  std::vector<uint32_t> functions;
  // The op, the op handler, or the weight that a kConstDenseTensor without a constant takes from outside.
  std::string name;
  // Of an op; null if there are none.
  RcRef<const FrozenOpAttrs> attrs;
  // Of the kernels that make a tensor.
  std::shared_ptr<const ProgramConstant> constant;
  // Of a weight from outside: what it has to be.
  TensorMetadata weight_metadata;
  ProgramPosition position;
};

// A function. Its last instruction is its only kReturn.
struct ProgramFunction {
  std::string name;
  uint32_t num_parameters = 0;
  std::vector<ProgramType> value_types;  // of every value
  std::vector<std::string> value_names;  // of every value, without "%"; or empty: they are called by their numbers
  std::vector<ProgramType> result_types;
  std::vector<ProgramInstruction> instructions;
  ProgramPosition position;

  std::span<const ProgramType> parameter_types() const { return std::span(value_types).first(num_parameters); }
};

// Immutable, and checked: kernels have the operands, results, functions and attributes they take, each value is defined
// once and before its use, functions exist and are called with what they expect. Whether ops, op handlers and weights
// exist is for a ProgramRunner to find out. Any thread may read it.
class TANDEM_EXPORT Program final : public RefCounted<Program> {
 public:
  // Most of what one program may have, so that hostile input neither overflows nor exhausts a machine by a few bytes.
  static constexpr size_t kMaxFunctions = size_t{1} << 16;
  static constexpr size_t kMaxInstructions = size_t{1} << 24;  // of all functions
  static constexpr size_t kMaxValues = size_t{1} << 24;        // of a function
  static constexpr size_t kMaxOperands = size_t{1} << 16;      // of an instruction; also its results

  // From text, in the language that core/program/README.md describes. `file` is what errors and locations call it.
  // InvalidArgument with the position, the line and a mark under the place if something is wrong with it.
  static StatusOr<RcRef<const Program>> FromText(std::string_view text, std::string_view file);
  // From the binary form, of which nothing is trusted: DataLoss naming `file` and the offset of the byte that is wrong,
  // Unimplemented if a later version wrote it.
  static StatusOr<RcRef<const Program>> FromBytes(std::span<const std::byte> bytes, std::string_view file);
  // From either, told apart by the first bytes.
  static StatusOr<RcRef<const Program>> Read(std::span<const std::byte> content, std::string_view file);
  // Of functions made by the caller; the same checks, by which an error names function and instruction.
  static StatusOr<RcRef<const Program>> Create(std::vector<ProgramFunction> functions, std::string_view file);

  // Text that reads back as the same program, but for positions.
  std::string ToText() const;
  // Bytes that read back as the same program, but for the names of values. The same program gives the same bytes on
  // every machine.
  std::vector<std::byte> ToBytes() const;

  const std::string& file() const { return file_; }
  std::span<const ProgramFunction> functions() const { return functions_; }
  // Null if there is none.
  const ProgramFunction* Find(std::string_view function) const;
  // Its index in functions().
  uint32_t IndexOf(const ProgramFunction& function) const {
    return static_cast<uint32_t>(&function - functions_.data());
  }

 private:
  friend class RefCounted<Program>;
  Program(std::vector<ProgramFunction> functions, std::string_view file);
  ~Program() = default;

  const std::string file_;
  const std::vector<ProgramFunction> functions_;
};

// The line of the text where `position` is, cut around it if it is long, a newline, and a mark under the place, as
// errors of reading a text show it. Empty if the text has no such place, or is the binary form.
TANDEM_EXPORT std::string ShowProgramPlace(std::string_view text, const ProgramPosition& position);

}  // namespace tandem

#endif  // TANDEM_PROGRAM_H_
