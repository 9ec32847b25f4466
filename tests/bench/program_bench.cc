// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What programs cost: chains of element-wise ops eagerly, as programs, with and without fusion, and, if it is
// installed, in ONNX Runtime; the best of several runs, taken in turn. usage: tandem_program_bench [--device
// cpu|vulkan] [--no-fusion], the latter for eager calls

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"
#include "tandem/program.h"
#include "tandem/program_runner.h"
#ifdef TANDEM_BENCH_ONNX_RUNTIME
#include "onnx_model.h"
#endif
#ifdef TANDEM_BENCH_VULKAN
#include "tandem/vulkan/vulkan_op_handler.h"
#endif

namespace {

using namespace tandem;  // NOLINT(google-build-using-namespace): a program of one file

[[noreturn]] void Die(const Status& error) {
  std::fprintf(stderr, "program_bench: %s\n", error.ToString().c_str());
  std::exit(1);
}
template <typename T>
T Get(StatusOr<T> value) {
  if (!value.ok()) Die(value.status());
  return *std::move(value);
}

// The ops of a chain, one after the other, each with y as its second argument where it takes two.
struct Chain {
  std::string name;
  std::vector<std::string> ops;
  int64_t elements;
};

bool TakesTwo(std::string_view op) {
  return op == "tf.AddV2" || op == "tf.Mul" || op == "tf.Sub" || op == "tf.Maximum";
}

#ifdef TANDEM_BENCH_ONNX_RUNTIME
// The names of a chain's ops in ONNX.
std::vector<std::string> OnnxOps(const Chain& chain) {
  std::vector<std::string> ops;
  for (const std::string& op : chain.ops) {
    const std::string name = op.substr(op.find('.') + 1);
    ops.push_back(name == "AddV2" ? "Add" : name == "Maximum" ? "Max" : name);
  }
  return ops;
}
#endif

std::string TextOf(const Chain& chain, const std::string& device) {
  std::string text =
      "func @main(%x0: !corert.tensorhandle, %y: !corert.tensorhandle) -> !corert.tensorhandle {\n"
      "  %device = corert.get_op_handler(\"" +
      device + "\")\n";
  for (size_t i = 0; i < chain.ops.size(); ++i) {
    const std::string x = "%x" + std::to_string(i);
    text += "  %x" + std::to_string(i + 1) + " = corert.executeop(%device) \"" + chain.ops[i] + "\"(" + x +
            (TakesTwo(chain.ops[i]) ? ", %y" : "") + ")\n";
  }
  return text + "  tfrt.return %x" + std::to_string(chain.ops.size()) + " : !corert.tensorhandle\n}\n";
}

class Bench {
 public:
  Bench(int num_threads, const std::string& device, bool fuse)
      : num_threads_(num_threads), runtime_(MakeOptions(num_threads, fuse)) {
    if (Status status = RegisterAllOps(runtime_.registry()); !status.ok()) Die(status);
    handler_ = Get(CreateCpuOpHandler(runtime_));
    if (device == "cpu") return;
#ifdef TANDEM_BENCH_VULKAN
    if (device == "vulkan") {
      vulkan::VulkanOptions options;
      options.fallback = handler_;
      shader::ShaderOpHandler* const handler = Get(vulkan::CreateVulkanOpHandler(runtime_, options));
      std::printf("%.*s\n", static_cast<int>(handler->gpu().queue().adapter_name().size()),
                  handler->gpu().queue().adapter_name().data());
      handler_ = handler;
      // Results are there before the device has computed them.
      wait_ = [&queue = handler->gpu().queue()] {
        std::promise<void> done;
        queue.WhenDone([&](const Status&) { done.set_value(); });
        done.get_future().wait();
      };
      return;
    }
#endif
    Die(InvalidArgument("expected a device of this build, got ", std::string_view(device)));
  }

  // Runs the whole chain and waits for the result.
  using Way = std::function<void()>;

  void Measure(const Chain& chain) {
    const TensorHandle x = Fill(chain.elements, 1.0f);
    const TensorHandle y = Fill(chain.elements, 0.5f);
    const ProgramRunner fused = Make(chain, true);
    const ProgramRunner unfused = Make(chain, false);
    std::vector<Op> ops;
    for (const std::string& op : chain.ops) ops.push_back(Get(runtime_.MakeOp(op, handler_)));
    std::vector<std::pair<const char*, Way>> ways = {
        {"by name", [&] { Await(Eager(chain, x, y, nullptr)); }},
        {"ops made once", [&] { Await(Eager(chain, x, y, &ops)); }},
        {"program, not fused", [&] { Await(RunProgram(unfused, x, y)); }},
        {"program", [&] { Await(RunProgram(fused, x, y)); }},
    };
#ifdef TANDEM_BENCH_ONNX_RUNTIME
    const std::unique_ptr<OnnxSession> session =
        MakeOnnxSession(OnnxChainOf(OnnxOps(chain), chain.elements), num_threads_);
    ways.emplace_back("ONNX Runtime", [&] { session->Run(); });
#endif
    // One op alone, which longer chains are compared with.
    const Chain one = {"", {chain.ops[0]}, chain.elements};
    std::vector<double> best(ways.size() + 1, std::numeric_limits<double>::max());
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < ways.size(); ++i) best[i] = std::min(best[i], Time(ways[i].second));
      best.back() = std::min(best.back(), Time([&] { Await(Eager(one, x, y, nullptr)); }));
    }
    std::printf("\n%s\n", chain.name.c_str());
    for (size_t i = 0; i < ways.size(); ++i) {
      std::printf("  %-20s %12.1f ns per op %10.2f times one op\n", ways[i].first,
                  best[i] / static_cast<double>(chain.ops.size()), best[i] / best.back());
    }
  }

 private:
  static constexpr int kRounds = 9;

  static HostContext::Options MakeOptions(int num_threads, bool fuse) {
    HostContext::Options options;
    options.fuse = fuse;
    options.work_queue = num_threads > 1 ? CreateMultiThreadedWorkQueue(num_threads) : CreateSingleThreadedWorkQueue();
    return options;
  }
  TensorHandle Fill(int64_t elements, float value) {
    const std::vector<float> values(static_cast<size_t>(elements), value);
    HostContext& host = runtime_.host();
    const TensorHandle there = TensorHandle::MakeAvailable(
        Get(MakeDense({DType::kF32, {elements}}, std::as_bytes(std::span(values)), host.device(), host.allocator())));
    return there.TransferTo(ExecutionContext(host, Location()), *handler_->device());
  }
  ProgramRunner Make(const Chain& chain, bool fuse) {
    ProgramRunner::Options options;
    options.fuse = fuse;
    return Get(ProgramRunner::Create(runtime_, Get(Program::FromText(TextOf(chain, handler_->name()), "bench.mlir")),
                                     options));
  }
  TensorHandle Eager(const Chain& chain, const TensorHandle& x, const TensorHandle& y, const std::vector<Op>* ops) {
    const ExecutionContext exec(runtime_.host(), Location());
    TensorHandle value = x.CopyRef();
    for (size_t i = 0; i < chain.ops.size(); ++i) {
      TensorHandle args[2] = {std::move(value), TensorHandle()};
      const bool takes_two = TakesTwo(chain.ops[i]);
      if (takes_two) args[1] = y.CopyRef();
      const std::span<TensorHandle> span(args, takes_two ? 2 : 1);
      TensorHandle result;
      if (ops != nullptr) {
        (*ops)[i](exec, span, OpAttrsRef(), {&result, 1});
      } else {
        runtime_.Execute(exec, chain.ops[i], handler_, span, OpAttrsRef(), {&result, 1});
      }
      value = std::move(result);
    }
    return value;
  }
  TensorHandle RunProgram(const ProgramRunner& runner, const TensorHandle& x, const TensorHandle& y) {
    TensorHandle args[2] = {x.CopyRef(), y.CopyRef()};
    TensorHandle result;
    runner.Run("main", ExecutionContext(runtime_.host(), Location()), args, {&result, 1});
    return result;
  }
  void Await(const TensorHandle& result) {
    if (const Status status = runtime_.host().Await(result); !status.ok()) Die(status);
    wait_();
  }
  // Of one call, in nanoseconds: the mean over some 20 ms.
  static double Time(const Way& way) {
    using Clock = std::chrono::steady_clock;
    // Until the threads of the way before have stopped to look for work, which takes them from this one.
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    int count = 0;
    const Clock::time_point begin = Clock::now();
    Clock::time_point end = begin;
    while (end - begin < std::chrono::milliseconds(20)) {
      way();
      ++count;
      end = Clock::now();
    }
    return std::chrono::duration<double, std::nano>(end - begin).count() / count;
  }

  const int num_threads_;
  CoreRuntime runtime_;
  KernelOpHandler* handler_ = nullptr;
  std::function<void()> wait_ = [] {};  // for all that the device has to do
};

}  // namespace

int main(int argc, char** argv) {
  std::string device = "cpu";
  bool fuse = true;
  for (int i = 1; i < argc; ++i) {
    if (i + 1 < argc && std::string_view(argv[i]) == "--device") {
      device = argv[++i];
    } else if (std::string_view(argv[i]) == "--no-fusion") {
      fuse = false;
    } else {
      std::fprintf(stderr, "usage: tandem_program_bench [--device cpu|vulkan] [--no-fusion]\n");
      return 2;
    }
  }
  const std::vector<std::string> adds(100, "tf.AddV2");
  const std::vector<std::string> two(2, "tf.AddV2");
  // Cheap ones, which memory decides about, and such that compute for longer.
  const std::vector<std::string> mixed = {"tf.AddV2", "tf.Mul", "tf.Sub", "tf.Maximum", "tf.AddV2",
                                          "tf.Mul",   "tf.Abs", "tf.Neg", "tf.AddV2",   "tf.Relu"};
  const std::vector<std::string> costly = {"tf.AddV2",   "tf.Tanh", "tf.Mul",      "tf.Exp",   "tf.Sub",
                                           "tf.Sigmoid", "tf.Mul",  "tandem.Gelu", "tf.AddV2", "tf.Relu"};
  for (const int num_threads : device == "cpu" ? std::vector<int>{1, 2} : std::vector<int>{1}) {
    std::printf("\n%d thread%s\n", num_threads, num_threads == 1 ? "" : "s");
    Bench bench(num_threads, device, fuse);
    bench.Measure({"2 adds of 1 element", two, 1});
    bench.Measure({"100 adds of 1 element", adds, 1});
    bench.Measure({"100 adds of 1000 elements", adds, 1000});
    bench.Measure({"2 adds of 4096 elements", two, 4096});
    bench.Measure({"10 element-wise ops on 4096 elements", mixed, 4096});
    bench.Measure({"10 element-wise ops on 1 million elements", mixed, 1'000'000});
    bench.Measure({"10 ops on 1 million elements, exponentials among them", costly, 1'000'000});
  }
  return 0;
}
