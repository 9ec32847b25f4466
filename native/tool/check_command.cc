// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// `tandem check`: reads programs, and says what is wrong with them.

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tool/command.h"
#include "tool/content.h"
#include "tool/devices.h"
#include "tool/op_libraries.h"

namespace tandem::tool {

namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::string device;
  std::vector<std::string> op_libraries;
};

std::string Plural(size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

// Tells each op that the handler cannot run, at its first place; how many these are.
size_t CheckOps(const Program& program, OpHandler& handler, Console& console) {
  std::set<std::string_view> seen;
  size_t missing = 0;
  for (const ProgramFunction& function : program.functions()) {
    for (const ProgramInstruction& instruction : function.instructions) {
      if (instruction.kernel != ProgramKernel::kExecuteOp && instruction.kernel != ProgramKernel::kExecuteOpSeq)
        continue;
      if (!seen.insert(instruction.name).second) continue;
      const StatusOr<Op> op = handler.MakeOp(instruction.name);
      if (op.ok()) continue;
      ++missing;
      std::string place = program.file();
      if (instruction.position.line > 0) {
        place += ":" + std::to_string(instruction.position.line) + ":" + std::to_string(instruction.position.column);
      }
      console.PrintError(place + ": " + ErrorText(op.status()) + ShowPlace(program.file(), instruction.position));
    }
  }
  return missing;
}

// Whether the program is right.
bool CheckFile(const std::string& file, OpHandler* handler, Console& console) {
  const StatusOr<RcRef<const Program>> read = ReadProgram(file);
  if (!read.ok()) {
    console.PrintError(read.status());
    return false;
  }
  const Program& program = **read;
  if (handler != nullptr && CheckOps(program, *handler, console) > 0) return false;
  size_t instructions = 0;
  for (const ProgramFunction& function : program.functions()) instructions += function.instructions.size();
  console.Print(program.file() + ": ok: " + Plural(program.functions().size(), "function") + ", " +
                Plural(instructions, "instruction") + "\n");
  return true;
}

ExitCode Check(const CheckOptions& options, Console& console) {
  std::unique_ptr<eager::Runtime> runtime;
  std::vector<LoadedOpLibrary> libraries;
  OpHandler* handler = nullptr;
  if (!options.device.empty()) {
    const auto find = [&]() -> StatusOr<OpHandler*> {
      TANDEM_ASSIGN_OR_RETURN(runtime, eager::Runtime::Create({.num_threads = 1}));
      TANDEM_ASSIGN_OR_RETURN(libraries, LoadOpLibraries(*runtime, options.op_libraries));
      return Devices(*runtime, console, {}).Find(options.device);
    };
    const StatusOr<OpHandler*> found = find();
    if (!found.ok()) return ExitWith(found.status(), console);
    handler = *found;
  }
  bool is_right = true;
  for (const std::string& file : options.files) is_right = CheckFile(file, handler, console) && is_right;
  return is_right ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

Command MakeCheckCommand(CLI::App& tool) {
  CLI::App& app = *tool.add_subcommand("check", "read programs, and say what is wrong with them")->group("Commands");
  const auto options = std::make_shared<CheckOptions>();
  app.add_option("FILE", options->files, "programs: text or the binary form; - is standard input")->required();
  app.add_option("--device", options->device, std::string("also check that all ops can be run there: ") + kDeviceHelp)
      ->option_text("DEVICE");
  AddOpLibraryOption(app, options->op_libraries);
  app.footer(
      "The exit code is 1 if any of the programs is wrong.\n\n"
      "Examples:\n"
      "  tandem check *.mlir\n"
      "  tandem check digits.tdp --device cpu");
  return {&app, [options](Console& console) { return Check(*options, console); }};
}

}  // namespace tandem::tool
