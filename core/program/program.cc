// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs made of functions, and where their instructions stand.

#include "tandem/program.h"

#include <algorithm>
#include <utility>

#include "program_binary.h"
#include "program_kernels.h"

namespace tandem {

Program::Program(std::vector<ProgramFunction> functions, std::string_view file)
    : file_(file), functions_(std::move(functions)) {}

StatusOr<RcRef<const Program>> Program::Create(std::vector<ProgramFunction> functions, std::string_view file) {
  TANDEM_RETURN_IF_ERROR(CheckProgram(functions, file));
  return RcRef<const Program>::Take(new Program(std::move(functions), file));
}

StatusOr<RcRef<const Program>> Program::Read(std::span<const std::byte> content, std::string_view file) {
  if (IsBinaryProgram(content)) return FromBytes(content, file);
  return FromText({reinterpret_cast<const char*>(content.data()), content.size()}, file);
}

const ProgramFunction* Program::Find(std::string_view function) const {
  const auto found = std::find_if(functions_.begin(), functions_.end(),
                                  [&](const ProgramFunction& candidate) { return candidate.name == function; });
  return found == functions_.end() ? nullptr : &*found;
}

}  // namespace tandem
