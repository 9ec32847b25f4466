// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What eager calls cost on a GPU, by CUDA or by Vulkan. Prints a line for each figure, "NAME VALUE UNIT", of the best
// of several rounds; run.sh makes a table of these and of what others take. usage: tandem_gpu_bench cuda|vulkan

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <string_view>

#include "tandem/cuda/cuda_op_handler.h"
#include "tandem/eager.h"
#include "tandem/ops.h"
#ifdef TANDEM_BENCH_VULKAN
#include "tandem/vulkan/vulkan_op_handler.h"
#endif

namespace tandem::bench {
namespace {

using Clock = std::chrono::steady_clock;
using eager::Runtime;
using eager::Tensor;

constexpr int kRounds = 7;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

StatusOr<shader::ShaderOpHandler*> MakeHandler(Runtime& runtime, std::string_view device) {
  if (device == "cuda") {
    cuda::CudaOptions options;
    options.fallback = &runtime.handler();
    return cuda::CreateCudaOpHandler(runtime.core(), options);
  }
#ifdef TANDEM_BENCH_VULKAN
  if (device == "vulkan") {
    vulkan::VulkanOptions options;
    options.fallback = &runtime.handler();
    return vulkan::CreateVulkanOpHandler(runtime.core(), options);
  }
#endif
  return InvalidArgument("expected cuda, or vulkan where it is built, got ", device);
}

class Bench {
 public:
  Bench(Runtime& runtime, shader::ShaderOpHandler& handler) : runtime_(runtime), handler_(handler) {}

  void Run() {
    std::printf("device %s\n", std::string(handler_.gpu().queue().adapter_name()).c_str());
    SmallOps();
    Bandwidth();
    Products();
  }

 private:
  // Until all that was issued is done.
  void Wait() {
    std::promise<Status> done;
    handler_.gpu().stream().WhenDone([&](const Status& status) { done.set_value(status); });
    if (const Status status = done.get_future().get(); !status.ok()) Fail(status);
  }
  [[noreturn]] static void Fail(const Status& status) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
  Tensor Ones(const TensorShape& shape) { return eager::ones(runtime_, shape, DType::kF32).To(*handler_.device()); }

  // Seconds of `count` calls, in the best round; the first one compiles.
  template <typename F>
  double Best(int count, F call) {
    double best = 1e30;
    for (int round = 0; round <= kRounds; ++round) {
      Tensor last = call();
      Wait();
      const Clock::time_point begin = Clock::now();
      for (int i = 0; i < count; ++i) last = call();
      Wait();
      if (round > 0) best = std::min(best, SecondsSince(begin));
    }
    return best;
  }

  void SmallOps() {
    const Tensor x = Ones({64});
    constexpr int kCount = 10000;
    double issue = 1e30;
    for (int round = 0; round <= kRounds; ++round) {
      Tensor y = x + x;
      Wait();
      const Clock::time_point begin = Clock::now();
      // Each by itself, since those that follow each other on large tensors would be one.
      for (int i = 0; i < kCount; ++i) y = x + x;
      issue = std::min(issue, SecondsSince(begin));
      Wait();
    }
    std::printf("small_op_issue %.3f us\n", issue / kCount * 1e6);
    std::printf("small_op_rate %.0f op/s\n", kCount / Best(kCount, [&] { return x + x; }));
  }

  void Bandwidth() {
    constexpr int64_t kElements = int64_t{1} << 28;  // 1 GiB
    constexpr double kGigabytes = kElements * 4 / 1e9;
    {
      const Tensor x = Ones({kElements}), y = Ones({kElements});
      constexpr int kCount = 10;
      const gpu::BufferId from = BufferOf(x), to = BufferOf(y);
      const double copy = Best(kCount, [&] {
        const StatusOr<uint64_t> copied = handler_.gpu().queue().Copy(from, 0, to, 0, kElements * 4, {});
        if (!copied.ok()) Fail(copied.status());
        return Tensor();
      });
      std::printf("copy_1GiB %.0f GB/s\n", 2 * kGigabytes * kCount / copy);
      std::printf("add_1GiB %.0f GB/s\n", 3 * kGigabytes * kCount / Best(kCount, [&] { return x + y; }));
    }
    const Tensor rows = Ones({16384, 4096});
    const double gigabytes = 16384.0 * 4096 * 4 / 1e9;
    const Tensor scale = Ones({4096});
    const auto print = [&](const char* name, double moved, auto call) {
      constexpr int kCount = 20;
      std::printf("%s %.0f GB/s\n", name, moved * gigabytes * kCount / Best(kCount, call));
    };
    print("softmax_16384x4096", 2, [&] { return eager::softmax(rows); });
    print("layer_norm_16384x4096", 2, [&] { return eager::layerNorm(rows, scale, scale); });
    print("sum_rows_16384x4096", 1, [&] { return eager::sum(rows, {1}); });
    print("sum_columns_16384x4096", 1, [&] { return eager::sum(rows, {0}); });
    print("transpose_16384x4096", 2, [&] { return eager::transpose(rows, {1, 0}); });
  }

  void Products() {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      if (dtype == DType::kBF16 && !handler_.gpu().limits().has_all_dtypes) continue;
      for (const int64_t size : {1024, 4096, 8192}) {
        const Tensor a = eager::ones(runtime_, {size, size}, dtype).To(*handler_.device());
        const int count = size <= 1024 ? 50 : 3;
        const double flops = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
        std::printf("matmul_%s_%d %.0f GFLOP/s\n", std::string(DTypeName(dtype)).c_str(), static_cast<int>(size),
                    flops * count / Best(count, [&] { return eager::matMul(a, a); }) / 1e9);
      }
    }
  }

  static gpu::BufferId BufferOf(const Tensor& tensor) {
    if (const Status status = tensor.Await(); !status.ok()) Fail(status);
    return gpu::GpuDevice::BufferOf(*tensor.handle().value()).id();
  }

  Runtime& runtime_;
  shader::ShaderOpHandler& handler_;
};

int Main(std::string_view device) {
  auto runtime = Runtime::Create();
  if (!runtime.ok()) return 1;
  const StatusOr<shader::ShaderOpHandler*> handler = MakeHandler(**runtime, device);
  if (!handler.ok()) {
    std::fprintf(stderr, "skipped: %s\n", handler.status().ToString().c_str());
    return 77;
  }
  (*runtime)->UseHandler(**handler);
  Bench(**runtime, **handler).Run();
  return 0;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: tandem_gpu_bench cuda|vulkan\n");
    return 2;
  }
  return tandem::bench::Main(argv[1]);
}
