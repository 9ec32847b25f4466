// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The same calls through libtorch, in the same program and run.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>

namespace {

at::Tensor Input(int64_t elements) { return elements == 1 ? at::ones({}) : at::ones({elements}); }

void TorchAdd(benchmark::State& state) {
  at::set_num_threads(1);
  const c10::InferenceMode guard;
  const at::Tensor x = Input(state.range(0));
  const at::Tensor y = Input(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(at::add(x, y));
}
BENCHMARK(TorchAdd)->Arg(1)->Arg(16)->Arg(1024)->Threads(1);

void TorchAddChain100(benchmark::State& state) {
  static constexpr int kLength = 100;
  at::set_num_threads(1);
  const c10::InferenceMode guard;
  const at::Tensor x = Input(state.range(0));
  for (auto _ : state) {
    at::Tensor sum = x;
    for (int i = 0; i < kLength; ++i) sum = at::add(sum, x);
    benchmark::DoNotOptimize(sum);
  }
  state.counters["ns_per_op"] = benchmark::Counter(static_cast<double>(state.iterations()) * kLength * 1e-9,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(TorchAddChain100)->Arg(1)->Arg(16)->Arg(1024);

}  // namespace
