// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// `tandem bench`: how long a function of a program takes on devices.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/profile_op_handler.h"
#include "tool/command.h"
#include "tool/content.h"
#include "tool/devices.h"
#include "tool/op_libraries.h"
#include "tool/program_call.h"
#include "tool/progress.h"
#include "tool/quantities.h"

namespace tandem::tool {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxRuns = 1'000'000;

struct BenchOptions {
  ProgramCallOptions call;
  std::vector<std::string> devices;
  size_t repeat = 0;  // 0: as often as there is time for
  double seconds = 2;
};

// Empty, or what is wrong with the text. CLI::Range would let NaN pass.
std::string CheckSeconds(const std::string& text) {
  double seconds = 0;
  if (CLI::detail::lexical_cast(text, seconds) && seconds >= 0.001 && seconds <= 86'400) return "";
  return "expected a number from 0.001 to 86400, got " + text;
}

struct Measurement {
  int64_t ops = 0;              // calls of a run
  std::vector<double> seconds;  // of each run, sorted
};

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

StatusOr<std::unique_ptr<eager::Runtime>> MakeRuntime(const ProgramCallOptions& options) {
  return eager::Runtime::Create(
      {.num_threads = options.threads, .print = [](std::string_view) {}, .exact = options.exact});
}

// How many op calls a run makes, in a runtime of its own, since what counts them takes time.
StatusOr<int64_t> CountOps(const BenchOptions& options, const RcRef<const Program>& program, const std::string& device,
                           Console& console) {
  TANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<eager::Runtime> runtime, MakeRuntime(options.call));
  TANDEM_ASSIGN_OR_RETURN(const std::vector<LoadedOpLibrary> libraries,
                          LoadOpLibraries(*runtime, options.call.op_libraries));
  Devices devices(*runtime, console, {.profile = true, .shadow = {}, .substitute = {}});
  TANDEM_ASSIGN_OR_RETURN(const ProgramCall call,
                          ProgramCall::Prepare(*runtime, console, devices, options.call, program, device));
  TANDEM_RETURN_IF_ERROR(call.Run().status());
  runtime->host().Quiesce();
  int64_t ops = 0;
  for (const OpProfile& entry : devices.profile().Entries()) ops += entry.calls;
  return ops;
}

// Runs the program until `repeat` runs are done, or the time is over; at least once.
Status Measure(const ProgramCall& call, size_t repeat, double limit, Progress& progress, std::vector<double>& seconds) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const Clock::time_point start = Clock::now();
    TANDEM_RETURN_IF_ERROR(call.Run().status());
    seconds.push_back(SecondsSince(start));
    const double elapsed = SecondsSince(begin);
    if (seconds.size() == repeat || seconds.size() == kMaxRuns || (repeat == 0 && elapsed >= limit)) return Status();
    if (repeat > 0) {
      progress.Update(seconds.size(), repeat);
    } else {
      progress.Update(static_cast<uint64_t>(elapsed * 1e3), static_cast<uint64_t>(limit * 1e3));
    }
  }
}

StatusOr<Measurement> MeasureDevice(const BenchOptions& options, const RcRef<const Program>& program,
                                    const std::string& device, Console& console) {
  Measurement measurement;
  TANDEM_ASSIGN_OR_RETURN(measurement.ops, CountOps(options, program, device, console));
  TANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<eager::Runtime> runtime, MakeRuntime(options.call));
  TANDEM_ASSIGN_OR_RETURN(const std::vector<LoadedOpLibrary> libraries,
                          LoadOpLibraries(*runtime, options.call.op_libraries));
  Devices devices(*runtime, console, {});
  TANDEM_ASSIGN_OR_RETURN(ProgramCall call,
                          ProgramCall::Prepare(*runtime, console, devices, options.call, program, device));
  call.MoveInputs();
  Progress progress(console, device.empty() ? options.call.file : device);
  // Until memory, caches and clocks are as they will be.
  std::vector<double> warm_up;
  for (int i = 0; i < 2; ++i) {
    TANDEM_RETURN_IF_ERROR(Measure(call, 0, options.repeat > 0 ? 0 : options.seconds / 8, progress, warm_up));
  }
  TANDEM_RETURN_IF_ERROR(Measure(call, options.repeat, options.seconds, progress, measurement.seconds));
  std::sort(measurement.seconds.begin(), measurement.seconds.end());
  return measurement;
}

std::vector<std::string> RowOf(const std::string& device, const Measurement& measurement) {
  double total = 0;
  for (const double seconds : measurement.seconds) total += seconds;
  const double runs = static_cast<double>(measurement.seconds.size());
  std::vector<std::string> row = {device.empty() ? "(as named)" : device, std::to_string(measurement.seconds.size()),
                                  std::to_string(measurement.ops)};
  for (const double percent : {50, 90, 99}) row.push_back(FormatDuration(Percentile(measurement.seconds, percent)));
  row.push_back(FormatCount(runs / total));
  row.push_back(FormatCount(runs * static_cast<double>(measurement.ops) / total));
  return row;
}

ExitCode Bench(const BenchOptions& options, Console& console) {
  std::vector<std::vector<std::string>> table = {
      {"device", "runs", "ops a run", "p50", "p90", "p99", "runs/s", "ops/s"}};
  const std::vector<std::string> as_named = {""};
  const StatusOr<RcRef<const Program>> program = ReadProgram(options.call.file);
  if (!program.ok()) return ExitWith(program.status(), console);
  ExitCode code = ExitCode::kOk;
  for (const std::string& device : options.devices.empty() ? as_named : options.devices) {
    const StatusOr<Measurement> measurement = MeasureDevice(options, *program, device, console);
    if (measurement.ok()) {
      table.push_back(RowOf(device, *measurement));
    } else {
      console.PrintError(device.empty() ? ErrorText(measurement.status())
                                        : device + ": " + ErrorText(measurement.status()));
      code = ExitCode::kFailed;
    }
  }
  if (table.size() > 1) console.Print(FormatTable(console, table, /*first_right=*/1));
  return code;
}

}  // namespace

Command MakeBenchCommand(CLI::App& tool) {
  CLI::App& app = *tool.add_subcommand("bench", "measure how long a function of a program takes")->group("Commands");
  const auto options = std::make_shared<BenchOptions>();
  AddProgramCallOptions(app, options->call);
  app.add_option("--device", options->devices,
                 std::string("measure all ops there; may be given several times; default: what the program names. ") +
                     kDeviceHelp)
      ->option_text("DEVICE")
      ->allow_extra_args(false);
  CLI::Option* const repeat = app.add_option("--repeat", options->repeat, "measure so many runs")
                                  ->option_text("N")
                                  ->check(CLI::Range(1, 1'000'000));
  app.add_option("--seconds", options->seconds,
                 "measure for so long on each device, after a quarter of it to warm up; default: 2")
      ->option_text("S")
      ->check(CheckSeconds)
      ->excludes(repeat);
  app.footer(
      "A run is a call of the function until all its results are on the host; inputs are on the device\n"
      "before. p50, p90 and p99 are the times that so many percent of the runs do not exceed. What the\n"
      "program prints is dropped.\n\n"
      "Examples:\n"
      "  tandem bench digits.tdp --weights digits.safetensors --input images.npy\n"
      "  tandem bench model.mlir --device cpu --device vulkan\n"
      "  tandem bench model.mlir --threads 1 --seconds 10");
  return {&app, [options](Console& console) { return Bench(*options, console); }};
}

}  // namespace tandem::tool
