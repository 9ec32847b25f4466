// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs the benchmarks, then prints what is asked of them as ratios of times measured in the same run.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <string>

#include "heap_count.h"

namespace tandem::bench {
constinit thread_local uint64_t heap_calls = 0;
}  // namespace tandem::bench

namespace {

void* Count(std::size_t size, std::size_t alignment) {
  ++tandem::bench::heap_calls;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* CountOrAbort(std::size_t size, std::size_t alignment = 1) {
  void* memory = Count(size, alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

// Times per op on the processor, best of the repetitions (the one that others disturbed least), by name.
class RatioReporter final : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const auto items = run.counters.find("ns_per_op");
      const double time = items != run.counters.end() ? items->second.value : run.GetAdjustedCPUTime();
      const auto [entry, is_new] = best_.emplace(run.run_name.function_name + Args(run), time);
      if (!is_new && time < entry->second) entry->second = time;
    }
  }

  void PrintRatios() const {
    struct Pair {
      const char* ours;
      const char* theirs;
      double at_most;  // 0: no figure is asked for
    };
    static constexpr Pair kPairs[] = {
        {"AddMade/1", "TorchAdd/1", 0.18},
        {"AddByName/1", "TorchAdd/1", 0.22},
        {"AddMade/16", "TorchAdd/16", 0},
        {"AddByName/16", "TorchAdd/16", 0},
        {"AddMade/1024", "TorchAdd/1024", 0},
        {"AddByName/1024", "TorchAdd/1024", 0},
        {"AddChain100/1", "AddMade/1", 1.0},
        {"AddChain100/1", "TorchAddChain100/1", 0},
        {"EagerAdd/1", "TorchAdd/1", 0},
        {"EagerCall/add_number", "TorchCall/add_number", 0},
        {"EagerCall/sum_axis", "TorchCall/sum_axis", 0},
        {"EagerCall/matmul_transposed", "TorchCall/matmul_transposed", 0},
        {"EagerCall/reshape", "TorchCall/reshape", 0},
        {"EagerCall/transpose", "TorchCall/transpose", 0},
        {"EagerCall/concat", "TorchCall/concat", 0},
        {"EagerCall/slice", "TorchCall/slice", 0},
        {"EagerCall/cast", "TorchCall/cast", 0},
        {"PendingChain/2/1/1", "PendingChain/2/1/0", 0},
        {"PendingChain/10/1/1", "PendingChain/10/1/0", 0},
        {"PendingChain/100/1/1", "PendingChain/100/1/0", 0},
        {"PendingChain/10/1024/1", "PendingChain/10/1024/0", 0},
        {"PendingChain/10/4096/1", "PendingChain/10/4096/0", 0},
        {"PendingChain/10/16384/1", "PendingChain/10/16384/0", 0},
        {"PendingChain/10/1048576/1", "PendingChain/10/1048576/0", 0},
        {"TvmOp/1", "NegByName/1", 0},
        {"TvmOp/1024", "NegByName/1024", 0},
        {"TvmDso/1", "NegByName/1", 0},
        {"TvmDso/1024", "NegByName/1024", 0},
    };
    std::printf("\n%-26s %10s   %-26s %10s   %7s %8s\n", "tandem", "ns/op", "against", "ns/op", "ratio", "at most");
    for (const Pair& pair : kPairs) {
      const auto ours = best_.find(pair.ours);
      const auto theirs = best_.find(pair.theirs);
      if (ours == best_.end() || theirs == best_.end()) continue;
      std::printf("%-26s %10.1f   %-26s %10.1f   %7.3f", pair.ours, ours->second, pair.theirs, theirs->second,
                  ours->second / theirs->second);
      if (pair.at_most > 0) std::printf(" %8.2f", pair.at_most);
      std::printf("\n");
    }
  }

 private:
  static std::string Args(const Run& run) {
    const std::string threads = run.threads > 1 ? "/threads:" + std::to_string(run.threads) : "";
    return (run.run_name.args.empty() ? "" : "/" + run.run_name.args) + threads;
  }
  std::map<std::string, double> best_;
};

}  // namespace

void* operator new(std::size_t size) { return CountOrAbort(size); }
void* operator new[](std::size_t size) { return CountOrAbort(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return Count(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return Count(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return CountOrAbort(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Count(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.PrintRatios();
  return 0;
}
