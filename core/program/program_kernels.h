// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The kernels of programs: how each is called and what it gives, in one table that readers, writers and checks share.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_KERNELS_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_KERNELS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tandem/program.h"

namespace tandem {

// What an instruction of a kernel has. Its operands are one value of each type in `operands`, of which the first or the
// last may be left out, and then what `more` says.
struct ProgramKernelInfo {
  enum class Optional : uint8_t { kNone, kFirst, kLast };
  enum class More : uint8_t { kNone, kChains, kTensors, kAny };

  std::string_view name;  // in the text
  std::span<const ProgramType> operands = {};
  Optional optional = Optional::kNone;
  More more = More::kNone;
  // How many functions it names.
  uint8_t num_functions = 0;
  // What its name is: "the name of an op". Empty: it has none.
  std::string_view name_meaning = {};
  bool takes_attrs = false;
  bool makes_tensor = false;  // from a constant, or a kConstDenseTensor from a weight
  // Its results are one value of each of these types, and then any number of tensors, or what its functions give.
  std::span<const ProgramType> results = {};
  bool gives_tensors = false;
  bool gives_function_results = false;
};

const ProgramKernelInfo& InfoOf(ProgramKernel kernel);

// By the name in the text; "corert.create_dense_tensor.f32" and the like are kCreateDenseTensor. Empty if unknown.
std::optional<ProgramKernel> FindProgramKernel(std::string_view name);

// The nearest known name to one that is unknown; empty if none is near.
std::string_view NearestProgramKernelName(std::string_view name);

// What Program::Create checks: InvalidArgument, which names the function, the instruction and its position, if the
// functions are no program. Those whose positions are known are told as text is: "FILE:LINE:COLUMN: ...".
Status CheckProgram(std::span<const ProgramFunction> functions, std::string_view file);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_KERNELS_H_
