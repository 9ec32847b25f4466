// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op libraries that the command line names.

#ifndef TANDEM_NATIVE_TOOL_OP_LIBRARIES_H_
#define TANDEM_NATIVE_TOOL_OP_LIBRARIES_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tandem/eager.h"
#include "tandem/load_op_library.h"
#include "tandem/status.h"

namespace tandem::tool {

// Adds the option --op-library to a command.
void AddOpLibraryOption(CLI::App& app, std::vector<std::string>& paths);

// Loads them in their order. They go before the runtime.
StatusOr<std::vector<LoadedOpLibrary>> LoadOpLibraries(eager::Runtime& runtime, const std::vector<std::string>& paths);

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_OP_LIBRARIES_H_
