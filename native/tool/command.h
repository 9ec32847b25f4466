// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Command: a part of the tool with its own options, such as `run`.

#ifndef TANDEM_NATIVE_TOOL_COMMAND_H_
#define TANDEM_NATIVE_TOOL_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "tandem/status.h"
#include "tool/console.h"

namespace tandem::tool {

// What the tool ends with.
enum class ExitCode {
  kOk = 0,
  kFailed = 1,  // the work could not be done, or what was checked is wrong
  kUsage = 2,   // the command line is wrong, and nothing was done
};

// Tells the error, if it is one.
inline ExitCode ExitWith(const Status& status, Console& console) {
  if (status.ok()) return ExitCode::kOk;
  console.PrintError(status);
  return ExitCode::kFailed;
}

struct Command {
  CLI::App* app;  // its part of the command line
  // Called once, when the command line has been read. Errors have been told to the console by the end.
  std::function<ExitCode(Console&)> run;
};

// Each adds a command to the tool.
Command MakeRunCommand(CLI::App& tool);
Command MakeCheckCommand(CLI::App& tool);
Command MakeConvertCommand(CLI::App& tool);
Command MakeBenchCommand(CLI::App& tool);
Command MakeOpsCommand(CLI::App& tool);
Command MakeDevicesCommand(CLI::App& tool);
Command MakeCompletionCommand(CLI::App& tool);

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_COMMAND_H_
