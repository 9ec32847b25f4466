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

// The calls of EagerCall that libtorch computes, too; its reshape, transpose and slice are views.
template <typename Fn>
void TorchCall(benchmark::State& state, Fn call) {
  at::set_num_threads(1);
  const c10::InferenceMode guard;
  const at::Tensor x = at::arange(1, 7, at::kFloat).reshape({2, 3});
  for (auto _ : state) benchmark::DoNotOptimize(call(x));
}
BENCHMARK_CAPTURE(TorchCall, add_number, [](const at::Tensor& x) { return at::add(x, 1); });
BENCHMARK_CAPTURE(TorchCall, sum_axis, [](const at::Tensor& x) { return at::sum(x, {0}); });
BENCHMARK_CAPTURE(TorchCall, matmul_transposed, [](const at::Tensor& x) { return at::mm(x, x.t()); });
BENCHMARK_CAPTURE(TorchCall, reshape, [](const at::Tensor& x) { return at::reshape(x, {3, 2}); });
BENCHMARK_CAPTURE(TorchCall, transpose, [](const at::Tensor& x) { return at::transpose(x, 0, 1); });
BENCHMARK_CAPTURE(TorchCall, concat, [](const at::Tensor& x) { return at::cat({x, x}, 0); });
BENCHMARK_CAPTURE(TorchCall, slice, [](const at::Tensor& x) { return x.slice(1, 1, 3); });
BENCHMARK_CAPTURE(TorchCall, cast, [](const at::Tensor& x) { return x.to(at::kInt); });

}  // namespace
