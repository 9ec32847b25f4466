// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GpuNetworks: how long inference with the networks of networks.h takes on a device.

#ifndef TANDEM_TESTS_BENCH_CUDA_GPU_NETWORKS_H_
#define TANDEM_TESTS_BENCH_CUDA_GPU_NETWORKS_H_

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "networks.h"
#include "tandem/shader/shader_op_handler.h"

namespace tandem::bench {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class GpuNetworks {
 public:
  struct Options {
    double warm_seconds;    // of runs before the first that counts: kernels are compiled, stretches become graphs
    int rounds;             // the best of these, each one run that is waited for
    double max_difference;  // from what the CPU gives (RelativeDifference); infinite: results are not looked at
    std::string traces;     // folder for a trace of one more run of each, NAME_WAY.json; empty: none is taken
  };
  // Both handlers are of `runtime`, and outlive this.
  GpuNetworks(CoreRuntime& runtime, shader::ShaderOpHandler& handler, OpHandler& cpu, const Options& options)
      : runtime_(runtime), handler_(handler), cpu_(cpu), options_(options) {}

  // Prints lines "NAME_eager VALUE ms" and "NAME_program VALUE ms". An error if results are not the CPU's.
  template <typename Network>
  Status Measure(std::string_view name, const Network& network) {
    EagerNetwork on_host(runtime_, &cpu_);
    on_host.Load(network);
    TANDEM_ASSIGN_OR_RETURN(const std::vector<float> expected, ValuesOf(on_host.Run(on_host.Input())));
    EagerNetwork eager(runtime_, &handler_);
    eager.Load(network);
    eager.MoveTo(*handler_.device());
    TANDEM_ASSIGN_OR_RETURN(const RcRef<const Program> program, RecordNetwork(runtime_, handler_, network));
    TANDEM_RETURN_IF_ERROR(MeasureWay(name, "eager", expected, [&] { return eager.Run(eager.Input()); }));
    return MeasureProgram(name, program, expected, eager.Input());
  }

 private:
  using Run = std::function<TensorHandle()>;

  Status MeasureProgram(std::string_view name, const RcRef<const Program>& program, std::span<const float> expected,
                        const TensorHandle& input);
  Status MeasureWay(std::string_view name, std::string_view way, std::span<const float> expected, const Run& run);
  Status Trace(const std::string& file, const Run& run);
  // Until the device has done all that it was given.
  Status Wait();
  StatusOr<std::vector<float>> ValuesOf(const TensorHandle& handle);

  CoreRuntime& runtime_;
  shader::ShaderOpHandler& handler_;
  OpHandler& cpu_;
  const Options options_;
};

}  // namespace tandem::bench

#endif  // TANDEM_TESTS_BENCH_CUDA_GPU_NETWORKS_H_
