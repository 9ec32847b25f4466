// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// `tandem run`: calls a function of a program, and prints or writes what it gives.

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "file.h"
#include "tool/command.h"
#include "tool/content.h"
#include "tool/devices.h"
#include "tool/op_libraries.h"
#include "tool/program_call.h"
#include "tool/progress.h"
#include "tool/quantities.h"
#include "tool/tensor_files.h"

namespace tandem::tool {

namespace {

constexpr int kShownElements = 16;

struct RunOptions {
  ProgramCallOptions call;
  std::string device;
  std::string output;
  std::string trace;
  std::string shadow;
  std::string substitute;
  bool profile = false;
  uint64_t repeat = 1;
};

// The first error that an op has given, whether or not anyone uses its result.
class FirstError {
 public:
  void Hear(const Status& error) {
    const std::lock_guard lock(mutex_);
    if (error_.ok()) error_ = error;
  }
  Status Get() {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  std::mutex mutex_;
  Status error_;
};

// Runs the program, and gives the results of the last time.
StatusOr<std::vector<eager::Tensor>> RunRepeatedly(const ProgramCall& call, Console& console, uint64_t repeat,
                                                   std::vector<double>& seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<eager::Tensor> results;
  Progress progress(console, "running");
  for (uint64_t i = 0; i < repeat; ++i) {
    const Clock::time_point start = Clock::now();
    TANDEM_ASSIGN_OR_RETURN(results, call.Run());
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    progress.Update(i + 1, repeat);
  }
  return results;
}

Status ShowResults(const std::vector<eager::Tensor>& results, Console& console, const std::string& output) {
  if (!output.empty()) return WriteTensors(results, console, output);
  for (size_t i = 0; i < results.size(); ++i) {
    console.Print(console.Bold("output" + std::to_string(i)) + ": " + results[i].ToString(kShownElements) + "\n");
  }
  return Status();
}

void PrintTimes(std::vector<double> seconds, Console& console) {
  std::sort(seconds.begin(), seconds.end());
  console.Print(std::to_string(seconds.size()) + " runs: fastest " + FormatDuration(seconds.front()) + ", median " +
                FormatDuration(Percentile(seconds, 50)) + ", slowest " + FormatDuration(seconds.back()) + "\n");
}

Status RunProgram(const RunOptions& options, Console& console) {
  // Before any work.
  if (!options.output.empty()) TANDEM_RETURN_IF_ERROR(CheckReplaceable(options.output));
  if (!options.trace.empty()) TANDEM_RETURN_IF_ERROR(CheckReplaceable(options.trace));
  TANDEM_ASSIGN_OR_RETURN(RcRef<const Program> program, ReadProgram(options.call.file));
  FirstError first_error;
  TANDEM_ASSIGN_OR_RETURN(
      const std::unique_ptr<eager::Runtime> runtime,
      eager::Runtime::Create({.num_threads = options.call.threads,
                              .on_diagnostic = [&first_error](const Status& error) { first_error.Hear(error); },
                              .print = [&console](std::string_view text) { console.Print(text); },
                              .exact = options.call.exact}));
  TANDEM_ASSIGN_OR_RETURN(const std::vector<LoadedOpLibrary> libraries,
                          LoadOpLibraries(*runtime, options.call.op_libraries));
  Devices devices(*runtime, console,
                  {.profile = options.profile, .shadow = options.shadow, .substitute = options.substitute});
  TANDEM_ASSIGN_OR_RETURN(const ProgramCall call, ProgramCall::Prepare(*runtime, console, devices, options.call,
                                                                       std::move(program), options.device));
  HostContext& host = runtime->host();
  if (!options.trace.empty()) host.StartTracing();
  std::vector<double> seconds;
  StatusOr<std::vector<eager::Tensor>> results = RunRepeatedly(call, console, options.repeat, seconds);
  // What nobody waits for has its part in the trace, the profile and the errors, too.
  devices.Drain();
  Status status = results.status();
  if (!options.trace.empty()) {
    host.StopTracing();
    const std::string trace = host.tracer().ToJson();
    const Status written = WriteContent(options.trace, std::as_bytes(std::span(trace)));
    if (status.ok()) status = written;
  }
  if (status.ok()) status = ShowResults(*results, console, options.output);
  if (status.ok() && options.repeat > 1) PrintTimes(std::move(seconds), console);
  if (!devices.profile().Entries().empty()) console.Print(devices.profile().ToText());
  if (const std::string summary = devices.ShadowSummary(); !summary.empty()) {
    console.Print(summary + "\n");
    if (status.ok()) status = devices.ShadowStatus();
  } else if (status.ok()) {
    // With a shadow these may be its reference's.
    status = first_error.Get();
  }
  return status;
}

}  // namespace

Command MakeRunCommand(CLI::App& tool) {
  CLI::App& app =
      *tool.add_subcommand("run", "run a function of a program, and print or write what it gives")->group("Commands");
  const auto options = std::make_shared<RunOptions>();
  AddProgramCallOptions(app, options->call);
  app.add_option("--output", options->output,
                 "write the results instead of printing them: .safetensors (as output0, output1, ...), or one result "
                 "to .npy or .png (f32 from 0 to 1, or u8)")
      ->option_text("FILE")
      ->check([](const std::string& path) { return std::string(CheckTensorFileName(path).message()); });
  app.add_option("--device", options->device,
                 std::string("run all ops there, whatever op handlers the program names: ") + kDeviceHelp)
      ->option_text("DEVICE");
  app.add_option("--trace", options->trace, "write what ran when, for chrome://tracing or ui.perfetto.dev")
      ->option_text("FILE.json");
  app.add_flag("--profile", options->profile, "print how often and how long each op ran");
  app.add_option("--shadow", options->shadow,
                 "run each op on this device, too, and compare; results that differ are told, and a failure")
      ->option_text("DEVICE");
  app.add_option("--substitute", options->substitute,
                 "run other ops, or functions of libraries, in place of those that this table names")
      ->option_text("FILE.json");
  app.add_option("--repeat", options->repeat, "run it so often; the results are those of the last time")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000));
  app.footer(
      "Examples:\n"
      "  tandem run add.mlir --input x.npy --input y.npy\n"
      "  tandem run digits.tdp --function predict --weights digits.safetensors --input image=three.png\n"
      "  tandem run digits.tdp --input images.safetensors --output answers.safetensors --device vulkan\n"
      "  tandem run model.mlir --device vulkan --shadow cpu    # where does the GPU compute something else?\n"
      "  tandem run model.mlir --profile --trace model.json --repeat 10");
  return {&app, [options](Console& console) { return ExitWith(RunProgram(*options, console), console); }};
}

}  // namespace tandem::tool
