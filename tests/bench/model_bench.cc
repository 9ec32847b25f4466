// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How long networks take: as eager calls, as a program whose ops are executed one by one, as a prepared program, and,
// if it is installed, in ONNX Runtime. All in one run, in turn; the best of many rounds. usage: tandem_model_bench
// [--rounds N] [--threads N] [--json FILE] [--traces]
// --json writes all times, in milliseconds.
// --traces writes traces of prepared programs to NETWORK-THREADS.json instead, and ONNX Runtime's to
// NETWORK-THREADS-onnx_DATE.json.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "networks.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_context.h"
#include "tandem/op_families.h"
#include "tandem/program_runner.h"
#ifdef TANDEM_BENCH_ONNX_RUNTIME
#include "onnx_model.h"
#endif

namespace {

using namespace tandem;  // NOLINT(google-build-using-namespace): a program of one file

[[noreturn]] void Die(std::string_view message) {
  std::fprintf(stderr, "model_bench: %.*s\n", static_cast<int>(message.size()), message.data());
  std::exit(1);
}
void Check(const Status& status) {
  if (!status.ok()) Die(status.ToString());
}
template <typename T>
T Get(StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}

struct Options {
  int rounds = 30;
  int threads = 0;  // 0: one and two
  bool traces = false;
  std::string json;
};

// One way to run a network.
struct Way {
  std::string_view name;
  std::function<void()> run;
  std::function<std::vector<float>()> result;
  std::vector<double> milliseconds = {};  // of each round

  double best() const { return *std::min_element(milliseconds.begin(), milliseconds.end()); }
};

class Bench {
 public:
  explicit Bench(int num_threads) : num_threads_(num_threads), runtime_(MakeOptions(num_threads)) {
    Check(RegisterAllOps(runtime_.registry()));
    cpu_ = Get(CreateCpuOpHandler(runtime_));
  }

  // Adds the times to `report`.
  template <typename Network>
  void Measure(std::string_view name, const Network& network, const Options& options, nlohmann::json& report) {
    EagerNetwork eager(runtime_, cpu_);
    eager.Load(network);
    const RcRef<const Program> program = Get(RecordNetwork(runtime_, *cpu_, network));
    const ProgramRunner one_by_one = Make(program, false);
    const ProgramRunner prepared = Make(program, true);
    if (options.traces) {
      Trace(name, prepared, eager.Input());
#ifdef TANDEM_BENCH_ONNX_RUNTIME
      const std::string prefix = std::string(name) + "-" + std::to_string(num_threads_) + "-onnx";
      const std::unique_ptr<OnnxSession> profiled = MakeOnnxSession(OnnxModelOf(network), num_threads_, prefix.c_str());
      for (int i = 0; i < 40; ++i) profiled->Run();
#endif
      return;
    }
    ways_.clear();
    AddWay("eager", [&] { return eager.Run(eager.Input()); });
    AddWay("program, one by one", [&] { return RunProgram(one_by_one, eager.Input()); });
    AddWay("program, prepared", [&] { return RunProgram(prepared, eager.Input()); });
#ifdef TANDEM_BENCH_ONNX_RUNTIME
    const std::unique_ptr<OnnxSession> session = MakeOnnxSession(OnnxModelOf(network), num_threads_);
    ways_.push_back({"ONNX Runtime", [&] { session->Run(); }, [&] { return session->Result(); }});
#endif
    for (Way& way : ways_) way.run();
    for (const Way& way : ways_) CheckAgreement(name, ways_[0].result(), way);
    for (int round = 0; round < options.rounds; ++round) {
      for (Way& way : ways_) way.milliseconds.push_back(Time(way.run));
    }
    Print(name);
    for (const Way& way : ways_) {
      report.push_back({{"network", name}, {"threads", num_threads_}, {"way", way.name}, {"ms", way.milliseconds}});
    }
    PrintMemory([&] { return RunProgram(prepared, eager.Input()); });
  }

 private:
  static HostContext::Options MakeOptions(int num_threads) {
    HostContext::Options options;
    options.work_queue = num_threads > 1 ? CreateMultiThreadedWorkQueue(num_threads) : CreateSingleThreadedWorkQueue();
    return options;
  }

  ProgramRunner Make(const RcRef<const Program>& program, bool fuse) {
    ProgramRunner::Options options;
    options.fuse = fuse;
    return Get(ProgramRunner::Create(runtime_, program, options));
  }
  TensorHandle RunProgram(const ProgramRunner& runner, TensorHandle input) {
    TensorHandle result;
    runner.Run("main", ExecutionContext(runtime_.host(), Location()), {&input, 1}, {&result, 1});
    return result;
  }
  void AddWay(std::string_view name, std::function<TensorHandle()> call) {
    const auto result = std::make_shared<TensorHandle>();
    ways_.push_back({name,
                     [this, result, call] {
                       *result = call();
                       Check(runtime_.host().Await(*result));
                     },
                     [result] {
                       const Tensor& tensor = result->tensor();
                       const auto* data = static_cast<const float*>(tensor.data());
                       return std::vector<float>(data, data + tensor.num_elements());
                     }});
  }
  static void CheckAgreement(std::string_view name, const std::vector<float>& expected, const Way& way) {
    const double difference = RelativeDifference(expected, way.result());
    if (difference <= 1e-3) return;
    std::fprintf(stderr, "model_bench: %.*s: %.*s differs by %g of the largest element\n",
                 static_cast<int>(name.size()), name.data(), static_cast<int>(way.name.size()), way.name.data(),
                 difference);
    std::exit(1);
  }

  // Milliseconds of a run: the mean of some.
  static double Time(const std::function<void()>& run) {
    using Clock = std::chrono::steady_clock;
    constexpr auto kRound = std::chrono::milliseconds(20);
    // Until the threads of the way before have stopped to look for work, which takes them from the next one.
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    run();
    int count = 0;
    const Clock::time_point begin = Clock::now();
    Clock::time_point end = begin;
    while (end - begin < kRound) {
      run();
      ++count;
      end = Clock::now();
    }
    return std::chrono::duration<double, std::milli>(end - begin).count() / count;
  }

  void Print(std::string_view name) const {
    const Way& last = ways_.back();
    std::printf("\n%.*s, %d thread%s\n", static_cast<int>(name.size()), name.data(), num_threads_,
                num_threads_ == 1 ? "" : "s");
    for (const Way& way : ways_) {
      std::printf("  %-22.*s %9.3f ms %8.2f times %.*s\n", static_cast<int>(way.name.size()), way.name.data(),
                  way.best(), way.best() / last.best(), static_cast<int>(last.name.size()), last.name.data());
    }
  }

  // What the host's allocator does in a run.
  void PrintMemory(const std::function<TensorHandle()>& call) {
    const HostAllocator& allocator = runtime_.host().allocator();
    const HostAllocator::Stats before = allocator.stats();
    Check(runtime_.host().Await(call()));
    const HostAllocator::Stats after = allocator.stats();
    std::printf("  prepared: %llu buffers a run, %llu of them kept blocks; %.1f MB in use between runs\n",
                static_cast<unsigned long long>(after.num_allocations - before.num_allocations),
                static_cast<unsigned long long>(after.num_cache_hits - before.num_cache_hits),
                static_cast<double>(after.bytes_in_use) / 1e6);
  }

  void Trace(std::string_view name, const ProgramRunner& runner, const TensorHandle& input) {
    const auto run = [&] { Check(runtime_.host().Await(RunProgram(runner, input.CopyRef()))); };
    for (int i = 0; i < 20; ++i) run();
    runtime_.host().StartTracing();
    for (int i = 0; i < 20; ++i) run();
    runtime_.host().StopTracing();
    const std::string file = std::string(name) + "-" + std::to_string(num_threads_) + ".json";
    std::ofstream(file) << runtime_.host().tracer().ToJson();
    runtime_.host().tracer().Clear();
    std::printf("%s\n", file.c_str());
  }

  const int num_threads_;
  CoreRuntime runtime_;
  KernelOpHandler* cpu_ = nullptr;
  std::vector<Way> ways_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--traces") {
      options.traces = true;
    } else if (i + 1 < argc && argument == "--rounds") {
      options.rounds = std::atoi(argv[++i]);
    } else if (i + 1 < argc && argument == "--threads") {
      options.threads = std::atoi(argv[++i]);
    } else if (i + 1 < argc && argument == "--json") {
      options.json = argv[++i];
    } else {
      Die("usage: tandem_model_bench [--rounds N] [--threads N] [--json FILE] [--traces]");
    }
  }
  const MobileNet mobile_net = MobileNet::Make(224, 1, 1000);
  const Bert bert = Bert::Make(128, 128, 2, 2, 30522);
  const std::vector<int> all = options.threads > 0 ? std::vector<int>{options.threads} : std::vector<int>{1, 2};
  nlohmann::json report = nlohmann::json::array();
  for (const int num_threads : all) {
    Bench bench(num_threads);
    bench.Measure("MobileNetV2", mobile_net, options, report);
    bench.Measure("BERT-tiny", bert, options, report);
  }
  if (options.json.empty()) return 0;
  std::ofstream file(options.json);
  file << report.dump(1) << '\n';
  file.close();
  if (!file) Die("the file of --json cannot be written: " + options.json);
  return 0;
}
