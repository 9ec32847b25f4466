// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Times kernels by Tandem, Eigen, libtorch and oneDNN in one run, and prints them side by side with their ratios. Finds
// the errors of elementary functions, too: what is less accurate than kMostUlp is not compared with.

#include "kernel_bench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <numbers>
#include <string_view>
#include <tuple>
#include <utility>

namespace tandem::bench {

std::vector<float> Numbers(int64_t count, float lowest) {
  std::vector<float> numbers(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1664525 + 1013904223;
    number = static_cast<float>(state >> 8) * 0x1p-23f + lowest;
  }
  return numbers;
}

namespace {

constexpr std::string_view kLibraries[] = {"tandem", "Eigen", "libtorch", "oneDNN"};

// An elementary function in more than the precision of f64 where long double has that, and from where to where its
// errors are looked for.
struct Reference {
  std::string_view kernel;
  long double (*function)(long double);
  float first = -20, last = 20;
};
constexpr Reference kReferences[] = {
    {"exp 1M", [](long double x) { return std::exp(x); }},
    {"tanh 1M", [](long double x) { return std::tanh(x); }},
    {"sigmoid 1M", [](long double x) { return 1 / (1 + std::exp(-x)); }},
    {"erf 1M", [](long double x) { return std::erf(x); }},
    {"gelu 1M", [](long double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<long double>); }, -10, 10},
    {"sin 1M", [](long double x) { return std::sin(x); }},
    {"cos 1M", [](long double x) { return std::cos(x); }},
    {"log 1M", [](long double x) { return std::log(x); }, 0x1p-20f, 40},
    {"rsqrt 1M", [](long double x) { return 1 / std::sqrt(x); }, 0x1p-20f, 40},
};
constexpr int kArguments = 1 << 20;
// Units in the last place; as in report.py.
constexpr double kMostUlp = 4;

// Of a result of f32, in units of its last place; those of subnormal numbers are as of the least normal one.
double ErrorInUlp(float result, long double exact) {
  const float magnitude = std::max(std::abs(static_cast<float>(exact)), std::numeric_limits<float>::min());
  const float unit = std::nextafter(magnitude, std::numeric_limits<float>::infinity()) - magnitude;
  const auto error = static_cast<double>(std::abs(result - exact) / unit);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

// The largest error of the function on kArguments numbers at even distances; 0 if its kernel is not an elementary
// function.
double LargestError(const KernelBench& bench) {
  const auto* const reference = std::find_if(std::begin(kReferences), std::end(kReferences),
                                             [&](const Reference& of) { return of.kernel == bench.kernel; });
  if (bench.evaluate == nullptr || reference == std::end(kReferences)) return 0;
  std::vector<float> x(kArguments);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = reference->first + (reference->last - reference->first) * (static_cast<float>(i) / (kArguments - 1));
  }
  const std::vector<float> y = bench.evaluate(x);
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) largest = std::max(largest, ErrorInUlp(y[i], reference->function(x[i])));
  return largest;
}

void Run(benchmark::State& state, const KernelBench& bench, int threads) {
  const std::function<void()> run = bench.prepare(threads);
  if (run == nullptr) {
    state.SkipWithError("not computed by this library, here");
    return;
  }
  run();
  for (auto _ : state) run();
  // For the first of the repetitions to find, so that nothing is looked for that does not run.
  static std::map<std::pair<std::string, std::string>, double> errors;
  const auto [found, is_new] = errors.try_emplace({bench.library, bench.kernel});
  if (is_new) found->second = LargestError(bench);
  if (found->second > 0) state.counters["ulp"] = found->second;
}

// A kernel with a number of threads, and its times in seconds and largest errors, by library.
struct Row {
  std::string kernel;
  std::string threads;
  std::map<std::string, std::vector<double>, std::less<>> seconds;
  std::map<std::string, double, std::less<>> ulp;
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Collects times, and shows only how far it is: the table says the rest.
class TableReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) std::fprintf(stderr, "%s: %s\n", run.benchmark_name().c_str(), run.error_message.c_str());
      if (run.run_type == Run::RT_Iteration && !run.error_occurred) Add(run);
    }
    std::fprintf(stderr, "\r%zu kernels timed", rows_.size());
  }

  void Print() {
    std::fprintf(stderr, "\r");
    // Runs come in random order.
    std::sort(rows_.begin(), rows_.end(),
              [](const Row& x, const Row& y) { return std::tie(x.kernel, x.threads) < std::tie(y.kernel, y.threads); });
    std::printf("%-46s %7s", "microseconds, median", "threads");
    for (std::string_view library : kLibraries)
      std::printf(" %10.*s", static_cast<int>(library.size()), library.data());
    std::printf(" %12s\n", "to the best");
    double worst = 0;
    int slower = 0;
    for (const Row& row : rows_) {
      const double ratio = PrintRow(row);
      worst = std::max(worst, ratio);
      slower += ratio > 1;
    }
    std::printf("\nTo the best of the others; %d of %zu slower than it, at most %.2f times.\n", slower, rows_.size(),
                worst);
    PrintErrors();
  }

 private:
  void Add(const Run& run) {
    const std::string& name = run.run_name.function_name;
    const size_t first = name.find('/'), second = name.rfind('/');
    const std::string kernel = name.substr(second + 1), threads = name.substr(first + 1, second - first - 1);
    const auto found = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const Row& row) { return row.kernel == kernel && row.threads == threads; });
    Row& row = found != rows_.end() ? *found : rows_.emplace_back(Row{kernel, threads, {}, {}});
    const double seconds = run.real_accumulated_time / static_cast<double>(run.iterations);
    const std::string library = name.substr(0, first);
    row.seconds[library].push_back(seconds);
    if (const auto ulp = run.counters.find("ulp"); ulp != run.counters.end()) row.ulp[library] = ulp->second.value;
  }

  static double Seconds(const Row& row, std::string_view library) {
    const auto found = row.seconds.find(library);
    return found == row.seconds.end() ? 0 : Median(found->second);
  }

  static bool IsAccurate(const Row& row, std::string_view library) {
    const auto found = row.ulp.find(library);
    return found == row.ulp.end() || found->second <= kMostUlp;
  }

  void PrintErrors() const {
    std::printf("\nLargest errors in units in the last place; nothing is compared with those above %g.\n", kMostUlp);
    for (const Row& row : rows_) {
      if (row.threads != rows_.front().threads) continue;
      for (const auto& [library, ulp] : row.ulp) {
        std::printf("%-46s %-10s %12.4g\n", row.kernel.c_str(), library.c_str(), ulp);
      }
    }
  }

  // The ratio to the best of the others; 0 without these.
  static double PrintRow(const Row& row) {
    std::printf("%-46s %7s", row.kernel.c_str(), row.threads.c_str());
    double best = 0;
    for (std::string_view library : kLibraries) {
      const double seconds = Seconds(row, library);
      if (library != kLibraries[0] && seconds > 0 && IsAccurate(row, library))
        best = best > 0 ? std::min(best, seconds) : seconds;
      seconds > 0 ? std::printf(" %10.1f", seconds * 1e6) : std::printf(" %10s", "-");
    }
    const double ratio = best > 0 ? Seconds(row, kLibraries[0]) / best : 0;
    ratio > 0 ? std::printf(" %11.2f%s\n", ratio, ratio > 1 ? "!" : "") : std::printf(" %11s\n", "-");
    return ratio;
  }

  std::vector<Row> rows_;
};

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  // Short runs, several times over and in random order, so that what disturbs one library disturbs all.
  std::string defaults[] = {"--benchmark_min_time=0.03", "--benchmark_repetitions=5",
                            "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> args = {argv[0]};
  for (std::string& option : defaults) args.push_back(option.data());
  args.insert(args.end(), argv + 1, argv + argc);
  int count = static_cast<int>(args.size());
  args.push_back(nullptr);
  benchmark::Initialize(&count, args.data());
  if (benchmark::ReportUnrecognizedArguments(count, args.data())) return 1;

  std::vector<tandem::bench::KernelBench> list;
  tandem::bench::ListTandemKernels(list);
  tandem::bench::ListEigenKernels(list);
#ifdef TANDEM_BENCH_TORCH
  tandem::bench::ListTorchKernels(list);
#endif
#ifdef TANDEM_BENCH_DNNL
  tandem::bench::ListDnnlKernels(list);
#endif
  for (const tandem::bench::KernelBench& bench : list) {
    for (int threads : {1, 2}) {
      const std::string name = bench.library + "/" + std::to_string(threads) + "/" + bench.kernel;
      benchmark::RegisterBenchmark(name.c_str(), tandem::bench::Run, bench, threads)->UseRealTime();
    }
  }
  tandem::bench::TableReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.Print();
  return 0;
}
