// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One instruction of the text of a program as it is written: what its parts are, before they are known to fit together.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_DRAFT_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_DRAFT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "program_kernels.h"
#include "program_lexer.h"
#include "program_names.h"
#include "tandem/dtype.h"
#include "tandem/program.h"
#include "tandem/status.h"

namespace tandem {

// Types of a signature, and where each begins.
struct ProgramTypeList {
  std::vector<ProgramType> types;
  std::vector<size_t> offsets;
  size_t offset = 0;  // of the first or the bracket before it
};

struct ProgramDraft {
  // Of the left side: "%a", or "%r:3" for three values.
  struct Result {
    std::string_view name;
    size_t offset;
    uint32_t count;
  };
  using Types = ProgramTypeList;

  std::vector<Result> results;
  uint32_t num_results = 0;  // of all
  const ProgramKernelInfo* info = nullptr;
  size_t kernel_offset = 0;
  DType dtype = DType::kInvalid;  // of kCreateDenseTensor and kConstStringTensor
  std::vector<size_t> operand_offsets;
  std::vector<size_t> function_offsets;
  bool has_name = false;
  bool has_attrs = false;
  std::optional<uint32_t> count;  // of results, behind the colon
  size_t count_offset = 0;
  std::optional<Types> operand_types;
  std::optional<Types> result_types;
  // With kernel, operands, functions, name, attributes, tensor and position. Names are not empty.
  ProgramInstruction instruction;
};

// Reads one instruction, which begins at the current token, and looks up what it names.
Status ReadProgramDraft(ProgramTokens& tokens, const ProgramFunctionNames& functions, const ProgramValueNames& values,
                        ProgramDraft* draft);

// "!tfrt.chain" at the current token.
Status ReadProgramType(ProgramTokens& tokens, ProgramType* type);

// One type, or any number of them in brackets, behind those that there are.
Status ReadProgramTypes(ProgramTokens& tokens, ProgramDraft::Types* types);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_DRAFT_H_
