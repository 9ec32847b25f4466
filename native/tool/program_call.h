// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramCall: a function of a program with its inputs and weights, as the command line gives them, ready to be run.

#ifndef TANDEM_NATIVE_TOOL_PROGRAM_CALL_H_
#define TANDEM_NATIVE_TOOL_PROGRAM_CALL_H_

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tandem/eager.h"
#include "tandem/program.h"
#include "tandem/program_runner.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tool/console.h"
#include "tool/devices.h"

namespace tandem::tool {

// What commands that run programs take.
struct ProgramCallOptions {
  std::string file;
  std::string function;  // empty: @main, or the only one
  std::vector<std::string> inputs;
  std::string weights;
  int threads = 0;  // 0: one per core
  bool exact = false;
  std::vector<std::string> op_libraries;
};

// Adds the options to a command.
void AddProgramCallOptions(CLI::App& app, ProgramCallOptions& options);

// A file of `inputs`, and for which input it is.
struct InputFileName {
  std::string input;  // its name or number; empty: the next
  std::string file;
};
// "x=a.npy" is a.npy for x; "a.npy" and "./x=a.npy" are files for the next input.
InputFileName ParseInput(const std::string& text);

// For one thread. The runtime outlives it.
class ProgramCall {
 public:
  // Reads the inputs and weights that the options name, for a function of `program`, which is their file. `device` is
  // the text of the handler that runs all ops; empty: those that the program names, which without any is the CPU.
  static StatusOr<ProgramCall> Prepare(eager::Runtime& runtime, Console& console, Devices& devices,
                                       const ProgramCallOptions& options, RcRef<const Program> program,
                                       const std::string& device);

  // Calls the function, waits for all that it gives and brings it to the host; its first error.
  StatusOr<std::vector<eager::Tensor>> Run() const;

  // Moves the inputs to the device of the handler that runs all ops, if there is one, once for many runs.
  void MoveInputs();

 private:
  ProgramCall(eager::Runtime& runtime, ProgramRunner runner, std::string function, std::vector<eager::Tensor> inputs,
              OpHandler* handler)
      : runtime_(&runtime),
        runner_(std::move(runner)),
        function_(std::move(function)),
        inputs_(std::move(inputs)),
        handler_(handler) {}

  eager::Runtime* runtime_;
  ProgramRunner runner_;
  std::string function_;
  std::vector<eager::Tensor> inputs_;
  OpHandler* handler_;
  size_t num_results_ = 0;
};

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_PROGRAM_CALL_H_
