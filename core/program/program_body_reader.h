// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The instructions of a function of the text of a program.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_BODY_READER_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_BODY_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "program_draft.h"
#include "program_lexer.h"
#include "program_names.h"
#include "tandem/program.h"
#include "tandem/status.h"

namespace tandem {

// Reads the body of one function, of which the header is known, as are those of all others.
class ProgramBodyReader {
 public:
  // What it is given must outlive it.
  ProgramBodyReader(ProgramTokens& tokens, std::span<ProgramFunction> functions, const ProgramFunctionNames& names,
                    uint32_t index)
      : tokens_(tokens), functions_(functions), function_names_(names), function_(functions[index]) {}

  // Gives a parameter its name; the first comes first.
  Status NameParameter(const ProgramToken& value);
  // From the first instruction to behind the bracket at the end. `*num_instructions`, of all functions so far, grows by
  // those read.
  Status Read(size_t* num_instructions);

 private:
  // Gives what an instruction gives the next numbers, and names.
  Status Define(const ProgramDraft& draft, std::span<const ProgramType> types, ProgramInstruction* instruction);
  Status AddName(std::string_view name, size_t offset, uint32_t count);
  // Names for the values that have none in the text, since a program has names of all or none.
  void NameTheRest();

  ProgramTokens& tokens_;
  const std::span<ProgramFunction> functions_;
  const ProgramFunctionNames& function_names_;
  ProgramFunction& function_;
  ProgramValueNames value_names_;
  std::map<uint32_t, uint32_t> composites_;  // values that are composite ops made here, and their functions
};

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_BODY_READER_H_
