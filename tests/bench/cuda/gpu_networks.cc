// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "gpu_networks.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <future>
#include <limits>

#include "tandem/host_context.h"
#include "tandem/program_runner.h"

namespace tandem::bench {

Status GpuNetworks::Wait() {
  std::promise<Status> done;
  handler_.gpu().stream().WhenDone([&](const Status& status) { done.set_value(status); });
  return done.get_future().get();
}

StatusOr<std::vector<float>> GpuNetworks::ValuesOf(const TensorHandle& handle) {
  HostContext& host = runtime_.host();
  const TensorHandle on_host = handle.TransferTo(ExecutionContext(host, Location()), host.device());
  TANDEM_RETURN_IF_ERROR(host.Await(on_host));
  const Tensor& tensor = on_host.tensor();
  const auto* data = static_cast<const float*>(tensor.data());
  return std::vector<float>(data, data + tensor.num_elements());
}

Status GpuNetworks::MeasureWay(std::string_view name, std::string_view way, std::span<const float> expected,
                               const Run& run) {
  TANDEM_ASSIGN_OR_RETURN(const std::vector<float> given, ValuesOf(run()));
  const double difference = RelativeDifference(expected, given);
  if (options_.max_difference < std::numeric_limits<double>::infinity() && !(difference <= options_.max_difference)) {
    return Internal("expected ", name, " ", way, " to differ from the CPU's by at most ", options_.max_difference,
                    " of the largest element, got ", difference);
  }
  const Clock::time_point warm = Clock::now();
  do {
    TANDEM_RETURN_IF_ERROR(runtime_.host().Await(run()));
    TANDEM_RETURN_IF_ERROR(Wait());
  } while (SecondsSince(warm) < options_.warm_seconds);
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < options_.rounds; ++round) {
    const Clock::time_point begin = Clock::now();
    const TensorHandle result = run();
    TANDEM_RETURN_IF_ERROR(runtime_.host().Await(result));
    TANDEM_RETURN_IF_ERROR(Wait());
    best = std::min(best, SecondsSince(begin));
  }
  std::printf("%.*s_%.*s %.3f ms\n", static_cast<int>(name.size()), name.data(), static_cast<int>(way.size()),
              way.data(), best * 1e3);
  if (options_.traces.empty()) return Status();
  return Trace(options_.traces + "/" + std::string(name) + "_" + std::string(way) + ".json", run);
}

Status GpuNetworks::Trace(const std::string& file, const Run& run) {
  HostContext& host = runtime_.host();
  host.tracer().Clear();
  host.StartTracing();
  const Status ran = host.Await(run());
  const Status done = ran.ok() ? Wait() : ran;
  host.StopTracing();
  TANDEM_RETURN_IF_ERROR(done);
  std::ofstream stream(file);
  stream << host.tracer().ToJson();
  return stream.good() ? Status() : Internal("expected to write ", std::string_view(file), ", got an error");
}

Status GpuNetworks::MeasureProgram(std::string_view name, const RcRef<const Program>& program,
                                   std::span<const float> expected, const TensorHandle& input) {
  TANDEM_ASSIGN_OR_RETURN(const ProgramRunner runner,
                          ProgramRunner::Create(runtime_, program, ProgramRunner::Options()));
  return MeasureWay(name, "program", expected, [&] {
    TensorHandle argument = input.CopyRef();
    TensorHandle result;
    runner.Run("main", ExecutionContext(runtime_.host(), Location()), {&argument, 1}, {&result, 1});
    return result;
  });
}

}  // namespace tandem::bench
