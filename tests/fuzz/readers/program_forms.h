// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What must hold of both forms of a program that a fuzzer has read.

#ifndef TANDEM_TESTS_FUZZ_READERS_PROGRAM_FORMS_H_
#define TANDEM_TESTS_FUZZ_READERS_PROGRAM_FORMS_H_

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "tandem/program.h"

namespace tandem::fuzz {

// Aborts unless the text that the program is written as reads back as a program with the same text.
inline void CheckText(const Program& program) {
  const std::string text = program.ToText();
  const auto copy = Program::FromText(text, "written");
  if (!copy.ok() || (*copy)->ToText() != text) std::abort();
}

// Aborts unless each form is read back, with nothing lost on the way to the other.
inline void CheckForms(const Program& program) {
  CheckText(program);
  const std::vector<std::byte> bytes = program.ToBytes();
  const auto copy = Program::FromBytes(bytes, "written");
  if (!copy.ok() || (*copy)->ToBytes() != bytes) std::abort();
  CheckText(**copy);
}

}  // namespace tandem::fuzz

#endif  // TANDEM_TESTS_FUZZ_READERS_PROGRAM_FORMS_H_
