// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conformance cases of every op with memory for no allocation, for one, for two and so on until none fails (ER-5): each
// time the results or ResourceExhausted, nothing left, and no abort.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "../unit/failing_heap.h"
#include "call.h"
#include "call_source.h"
#include "effort.h"
#include "random.h"
#include "tandem/core_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"
#include "watchdog.h"

namespace tandem::fuzz {
namespace {

constexpr int kHangSeconds = 120;
constexpr int kMostAllocations = 2000;

std::atomic<const char*> current_op{"none"};
std::atomic<int> current_allocation{0};

void SayCurrent() {
  WriteError("heap_fuzzer: it was a case of ");
  WriteError(current_op);
  WriteError(", allocation ");
  WriteError(static_cast<uint64_t>(current_allocation));
  WriteError("\n");
}

struct World {
  World() : runtime(Options()) {
    if (!RegisterAllOps(runtime.registry()).ok()) throw std::runtime_error("the ops cannot be registered");
    StatusOr<KernelOpHandler*> handler = CreateCpuOpHandler(runtime);
    if (!handler.ok()) throw std::runtime_error(handler.status().ToString());
    cpu = *handler;
  }
  static HostContext::Options Options() {
    HostContext::Options options;
    options.work_queue = CreateSingleThreadedWorkQueue();
    options.diagnostic_handler = [](const Status&) {};
    options.allocator.min_cached_size = SIZE_MAX;  // so that every buffer is an allocation
    return options;
  }
  CoreRuntime runtime;
  OpHandler* cpu = nullptr;
};

class HeapFuzzer {
 public:
  HeapFuzzer() : source_(world_.runtime.registry(), "") {}
  CallSource& source() { return source_; }

  // The text of what is wrong with the call when its n-th allocation fails, and all after it if `fails_rest`.
  std::string Run(const Call& call, bool is_queued, bool fails_rest) {
    HostContext& host = world_.runtime.host();
    // Below zero, what is short goes to the queue, too.
    host.set_inline_cost_limit(is_queued ? -1 : 50'000);
    std::string failure;
    const StatusCode expected = MakeCall(call, -1, false, failure).code();  // makes what is kept between calls
    for (int n = 0; n < kMostAllocations && failure.empty(); ++n) {
      current_allocation = n;
      const int64_t failures_before = thread_heap.num_failures;
      const int64_t live_before = AsyncValue::NumLive();
      const int64_t blocks_before = num_live_blocks;
      Status status = MakeCall(call, n, fails_rest, failure);
      const bool has_failed = thread_heap.num_failures > failures_before;
      const bool is_memory = status.code() == StatusCode::kResourceExhausted;
      if (failure.empty() && status.code() != expected && !(has_failed && is_memory)) {
        failure = "gives " + status.ToString();
      }
      status = Status();  // it is a block of the heap
      if (failure.empty() && AsyncValue::NumLive() != live_before) failure = "leaves async values";
      if (failure.empty() && host.allocator().stats().bytes_in_use != 0) failure = "leaves bytes of tensors";
      if (failure.empty() && num_live_blocks > blocks_before && LeaksEachTime(call, n, fails_rest, failure)) {
        failure = "leaves blocks of the heap";
      }
      ++num_calls_;
      if (!failure.empty()) return "allocation " + std::to_string(n) + ": " + failure;
      if (!has_failed) return {};
    }
    return failure.empty() ? "makes too many allocations" : failure;
  }
  uint64_t num_calls() const { return num_calls_; }

 private:
  // What is kept between calls may be made late, and an op keeps up to 16 sets of attributes, one a call; a leak is
  // there each time.
  bool LeaksEachTime(const Call& call, int allowed, bool fails_rest, std::string& failure) {
    constexpr int kRepetitions = 40;
    int num_leaks = 0;
    for (int i = 0; i < kRepetitions; ++i) {
      const int64_t blocks_before = num_live_blocks;
      static_cast<void>(MakeCall(call, allowed, fails_rest, failure));
      num_leaks += num_live_blocks > blocks_before ? 1 : 0;
    }
    return num_leaks > kRepetitions / 2;
  }

  // The first error of results and chain, with memory for `allowed` allocations; negative: for all.
  Status MakeCall(const Call& call, int allowed, bool fails_rest, std::string& failure) {
    HostContext& host = world_.runtime.host();
    std::vector<TensorHandle> args;
    for (const InputSpec& input : call.inputs) args.push_back(MakeInput(host, input));
    OpAttrs attrs;
    SetAttrs(call.attrs, attrs);
    std::vector<TensorHandle> results(static_cast<size_t>(call.num_results));
    AsyncValueRef<Chain> chain = MakeReadyChain();
    const bool has_chain = call.num_results == 0 || world_.runtime.registry().Find(call.op)->has_side_effects;
    const int64_t throwing_before = thread_heap.num_throwing;
    thread_heap.fails_once = !fails_rest;
    WithMemoryFor(allowed, [&] {
      world_.runtime.Execute(call.op, world_.cpu, Location::Current(), args, attrs, results,
                             has_chain ? &chain : nullptr);
      host.Quiesce();
    });
    thread_heap.fails_once = false;
    if (thread_heap.num_throwing != throwing_before) failure = "makes an allocation that may not fail";
    Status first;
    for (const TensorHandle& arg : args) {
      if (arg.IsValid()) failure = "EX-2: an argument is not consumed";
    }
    for (const TensorHandle& result : results) {
      if (!result.IsValid() || !result.IsAvailable()) {
        failure = "EX-3: a result is null or pending";
      } else if (result.IsError() && first.ok()) {
        first = result.GetError();
      }
    }
    if (!chain.IsValid() || !chain.IsAvailable()) {
      failure = "EX-3: the chain is null or pending";
    } else if (chain.IsError() && first.ok()) {
      first = chain.GetError();
    }
    return first;
  }

  static TensorHandle MakeInput(HostContext& host, const InputSpec& input) {
    const TensorSpec& spec = input.tensor;
    const std::vector<std::string_view> strings(spec.strings.begin(), spec.strings.end());
    StatusOr<Tensor> tensor = spec.metadata.dtype == DType::kString
                                  ? MakeString(spec.metadata.shape, strings, host.device(), host.allocator())
                                  : MakeDense(spec.metadata, spec.bytes, host.device(), host.allocator());
    if (!tensor.ok()) throw std::runtime_error(tensor.status().ToString());
    return TensorHandle::MakeAvailable(std::move(*tensor));
  }

  World world_;
  CallSource source_;
  uint64_t num_calls_ = 0;
};

int Main(int argc, char** argv) {
  size_t cases_of_op = 4;
  uint64_t seed = 1;
  std::string ops;
  std::vector<std::string> files;
  CLI::App app("Lets each allocation of op calls fail.");
  app.add_option("--seed", seed, "What the cases are drawn from")->capture_default_str();
  app.add_option("--cases", cases_of_op, "How many cases of each op")->capture_default_str();
  AddFullOption(app, cases_of_op, "--cases");
  app.add_option("--ops", ops, "Only ops with this in their name");
  app.add_option("files", files, "Case files, as tests/conformance/cases/*.jsonl")->required();
  CLI11_PARSE(app, argc, argv);
  Watchdog watchdog(&SayCurrent, kHangSeconds);
  int num_failures = 0;
  try {
    HeapFuzzer fuzzer;
    for (const std::string& file : files) fuzzer.source().ReadCases(file);
    for (const auto& [op, cases] : fuzzer.source().cases()) {
      if (op.find(ops) == std::string::npos) continue;
      current_op = op.c_str();
      Random random(seed);
      for (size_t i = 0; i < std::min(cases_of_op, cases.size()); ++i) {
        watchdog.Note();
        const Call& call = cases_of_op < cases.size() ? random.Pick(cases) : cases[i];
        const bool is_queued = random.OneIn(3);
        const bool fails_rest = random.OneIn(2);
        const std::string failure = fuzzer.Run(call, is_queued, fails_rest);
        if (failure.empty()) continue;
        ++num_failures;
        std::printf("FAILED [%s] %s%s%s\n  %s\n", op.c_str(), failure.c_str(), is_queued ? ", queued" : "",
                    fails_rest ? ", and all allocations after it" : "", TextOf(call).c_str());
        break;  // others of the op would be the same
      }
    }
    std::printf("heap_fuzzer: %zu ops, %llu calls, %d failures\n", fuzzer.source().cases().size(),
                static_cast<unsigned long long>(fuzzer.num_calls()), num_failures);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heap_fuzzer: %s\n", error.what());
    return 2;
  }
  return num_failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tandem::fuzz

int main(int argc, char** argv) { return tandem::fuzz::Main(argc, argv); }
