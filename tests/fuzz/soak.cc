// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The soak: small ops of several kinds, very many of them, in flat memory.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

#include "effort.h"
#include "tandem/core_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"

namespace tandem::fuzz {
namespace {

constexpr int kSamples = 50;
// What the heap may grow by for reasons of its own, in bytes.
constexpr int64_t kMostGrowth = int64_t{8} << 20;

// Bytes of memory that the process has resident, or 0 where the system does not say.
int64_t ResidentBytes() {
  std::ifstream stream("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  stream >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

class Soak {
 public:
  Soak() : runtime_({}) {
    if (!RegisterAllOps(runtime_.registry()).ok()) throw std::runtime_error("the ops cannot be registered");
    StatusOr<KernelOpHandler*> cpu = CreateCpuOpHandler(runtime_);
    if (!cpu.ok()) throw std::runtime_error(cpu.status().ToString());
    cpu_ = *cpu;
  }

  // Ten op calls, among them one that waits, one that is wrong and one with a larger result.
  void Round() {
    const TensorHandle x = Filled(4, 1);
    TensorHandle y = Call("tf.AddV2", x.CopyRef(), x.CopyRef());
    for (int i = 0; i < 4; ++i) y = Call("tf.Mul", std::move(y), x.CopyRef());
    y = Call("tf.Maximum", std::move(y), Filled(100, 2).CopyRef());  // shapes that do not fit: an error
    if (!y.IsError()) throw std::runtime_error("a wrong call was no error");
    const RcRef<TensorValue> promise =
        MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {4}), &runtime_.host().device());
    const TensorHandle late(AsyncValueRef<Tensor>(RcRef<AsyncValue>(promise)), &runtime_.host().device());
    const TensorHandle waits = Call("tf.Sub", late.CopyRef(), x.CopyRef());
    promise->value() = x.tensor();
    promise->SetConcrete();
    Check(waits);
    Check(Call("tf.AddV2", Filled(1000, 1), Filled(1000, 2)));
    Check(Call("tf.Sub", x.CopyRef(), Filled(4, 3)));
    Check(Call("tf.Minimum", x.CopyRef(), Filled(1, 3)));
    num_ops_ += 10;
  }
  int64_t num_ops() const { return num_ops_; }
  HostContext& host() { return runtime_.host(); }

 private:
  TensorHandle Filled(int64_t size, float value) {
    StatusOr<Tensor> tensor =
        AllocateDense({DType::kF32, {size}}, runtime_.host().device(), runtime_.host().allocator());
    if (!tensor.ok()) throw std::runtime_error(tensor.status().ToString());
    std::ranges::fill(MutableDenseData<float>(*tensor), value);
    return TensorHandle::MakeAvailable(std::move(*tensor));
  }
  TensorHandle Call(const char* op, TensorHandle a, TensorHandle b) {
    TensorHandle args[2] = {std::move(a), std::move(b)};
    TensorHandle result;
    runtime_.Execute(op, cpu_, Location::Current(), args, OpAttrsRef(), {&result, 1});
    return result;
  }
  void Check(const TensorHandle& handle) {
    if (const Status status = runtime_.host().Await(handle); !status.ok()) throw std::runtime_error(status.ToString());
  }

  CoreRuntime runtime_;
  OpHandler* cpu_ = nullptr;
  int64_t num_ops_ = 0;
};

int Main(int argc, char** argv) {
  int64_t num_ops = 1'000'000;
  CLI::App app("Calls small ops for long and looks at the memory.");
  app.add_option("--calls", num_ops, "How many op calls")->capture_default_str()->check(CLI::PositiveNumber);
  AddFullOption(app, num_ops, "--calls");
  CLI11_PARSE(app, argc, argv);
  try {
    Soak soak;
    const int64_t live_before = AsyncValue::NumLive();
    int64_t base = 0;
    int64_t most = 0;
    for (int sample = 0; sample < kSamples; ++sample) {
      while (soak.num_ops() < num_ops / kSamples * (sample + 1)) soak.Round();
      const int64_t resident = ResidentBytes();
      if (sample == kSamples / 10) base = resident;  // once everything that is kept has been made
      if (sample >= kSamples / 10) most = std::max(most, resident);
    }
    const size_t in_use = soak.host().allocator().stats().bytes_in_use;
    std::printf("soak: %lld op calls, resident memory %.1f MiB after a tenth, %.1f MiB at most from there on\n",
                static_cast<long long>(soak.num_ops()), static_cast<double>(base) / (1 << 20),
                static_cast<double>(most) / (1 << 20));
    const bool is_flat = most - base <= kMostGrowth && in_use == 0 && AsyncValue::NumLive() == live_before;
    if (!is_flat) std::printf("FAILED: memory has grown, or %zu bytes of tensors are left\n", in_use);
    return is_flat ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "soak: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace tandem::fuzz

int main(int argc, char** argv) { return tandem::fuzz::Main(argc, argv); }
