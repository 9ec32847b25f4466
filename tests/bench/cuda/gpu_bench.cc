// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What eager calls and networks cost on a GPU, by CUDA or by Vulkan. Prints a line for each figure, "NAME VALUE UNIT",
// of the best of several rounds; report.py makes a table of these and of what others take.
// usage: tandem_gpu_bench cuda|vulkan [--small] [--trace FOLDER]
//        tandem_gpu_bench cuda-emulated --kernels FOLDER [--collect]
// --small, and the emulation (tests/cuda/README.md), take sizes that only show that all of it works; --trace writes
// what one run of each network was on the device.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu_networks.h"
#include "tandem/cuda/cuda_op_handler.h"
#include "tandem/eager.h"
#include "tandem/ops.h"
#ifdef TANDEM_BENCH_VULKAN
#include "tandem/vulkan/vulkan_op_handler.h"
#endif
#ifdef TANDEM_BENCH_EMULATED_CUDA
#include "cuda_device.h"
#include "cuda_handler.h"
#include "cuda_queue.h"
#include "emulated_driver.h"
#endif

namespace tandem::bench {
namespace {

using eager::Runtime;
using eager::Tensor;

struct Sizes {
  int rounds;
  int num_small_ops;
  int repeats;  // of a large op in a round
  int64_t elements;
  int64_t rows, columns;
  std::array<int64_t, 3> products;
  double warm_seconds;
  int64_t image, classes;
  double width;
  int64_t tokens, hidden, heads, layers, vocabulary;
};
constexpr Sizes kFull = {.rounds = 7,
                         .num_small_ops = 10000,
                         .repeats = 20,
                         .elements = int64_t{1} << 28,  // 1 GiB
                         .rows = 16384,
                         .columns = 4096,
                         .products = {1024, 4096, 8192},
                         .warm_seconds = 3,
                         .image = 224,
                         .classes = 1000,
                         .width = 1,
                         .tokens = 128,
                         .hidden = 768,
                         .heads = 12,
                         .layers = 12,
                         .vocabulary = 30522};
constexpr std::array<const char*, 3> kProductNames = {"small", "medium", "large"};
constexpr Sizes kSmall = {.rounds = 1,
                          .num_small_ops = 8,
                          .repeats = 2,
                          .elements = 1 << 12,
                          .rows = 24,
                          .columns = 40,
                          .products = {16, 32, 48},
                          .warm_seconds = 0,
                          .image = 32,
                          .classes = 10,
                          .width = 0.25,
                          .tokens = 8,
                          .hidden = 16,
                          .heads = 2,
                          .layers = 2,
                          .vocabulary = 50};

struct Settings {
  std::string device;
  std::string kernels;
  bool collects = false;
  bool is_small = false;
  std::string traces;
};

bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

#ifdef TANDEM_BENCH_EMULATED_CUDA
StatusOr<shader::ShaderOpHandler*> MakeEmulatedHandler(Runtime& runtime, cuda::EmulatedCuda& emulated) {
  TANDEM_RETURN_IF_ERROR(emulated.Open());
  TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<cuda::CudaDevice> device, cuda::CudaDevice::Create(emulated.driver(), ""));
  cuda::CudaQueueOptions options;
  options.cache_folder = "off";
  if (IsSet("TANDEM_CUDA_GRAPHS")) options.graphs = emulated.graphs();
  TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<cuda::CudaQueue> queue,
                          cuda::CudaQueue::Create(std::move(device), cuda::Nvrtc(emulated.nvrtc()), options));
  cuda::CudaOptions handler;
  handler.fallback = &runtime.handler();
  return cuda::AddCudaOpHandler(runtime.core(), std::move(queue), handler);
}
#endif

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
  return MakeError(StatusCode::kNotFound, "expected a device of this build, got ", device);
}

class Bench {
 public:
  // `cpu` is the handler that results are compared with.
  Bench(Runtime& runtime, shader::ShaderOpHandler& handler, OpHandler& cpu, const Settings& settings)
      : runtime_(runtime),
        handler_(handler),
        cpu_(cpu),
        sizes_(settings.is_small ? kSmall : kFull),
        collects_(settings.collects),
        traces_(settings.traces) {}

  void Run() {
    std::printf("device %s\n", std::string(handler_.gpu().queue().adapter_name()).c_str());
    SmallOps();
    Bandwidth();
    Products();
    Convolutions();
    Networks();
  }

 private:
  // Until all that was called is done; a call whose kernel is still compiled has issued nothing before `last` is there.
  void Wait(const Tensor& last) {
    if (last.IsValid()) Check(last.Await());
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
    for (int round = 0; round <= sizes_.rounds; ++round) {
      Tensor last = call();
      Wait(last);
      const Clock::time_point begin = Clock::now();
      for (int i = 0; i < count; ++i) last = call();
      Wait(last);
      if (round > 0) best = std::min(best, SecondsSince(begin));
    }
    return best;
  }

  void SmallOps() {
    const Tensor x = Ones({64});
    const int count = sizes_.num_small_ops;
    double issue = 1e30;
    for (int round = 0; round <= sizes_.rounds; ++round) {
      Tensor y = x + x;
      Wait(y);
      const Clock::time_point begin = Clock::now();
      // Each by itself, since those that follow each other on large tensors would be one.
      for (int i = 0; i < count; ++i) y = x + x;
      issue = std::min(issue, SecondsSince(begin));
      Wait(y);
    }
    std::printf("small_op_issue %.3f us\n", issue / count * 1e6);
    std::printf("small_op_rate %.0f op/s\n", count / Best(count, [&] { return x + x; }));
  }

  void Bandwidth() {
    const int64_t elements = sizes_.elements;
    const int repeats = sizes_.repeats;
    {
      const double gigabytes = static_cast<double>(elements) * 4 / 1e9;
      const Tensor x = Ones({elements}), y = Ones({elements});
      const gpu::BufferId from = BufferOf(x), to = BufferOf(y);
      const double copy = Best(repeats, [&] {
        const StatusOr<uint64_t> copied =
            handler_.gpu().queue().Copy(from, 0, to, 0, static_cast<uint64_t>(elements) * 4, {});
        if (!copied.ok()) Fail(copied.status());
        return Tensor();
      });
      std::printf("copy %.4g GB/s\n", 2 * gigabytes * repeats / copy);
      // Each is waited for: of calls that follow each other, those whose results nobody has are never made.
      std::printf("add %.4g GB/s\n", 3 * gigabytes / Best(1, [&] { return x + y; }));
    }
    const Tensor rows = Ones({sizes_.rows, sizes_.columns});
    const Tensor scale = Ones({sizes_.columns});
    const double gigabytes = static_cast<double>(sizes_.rows * sizes_.columns) * 4 / 1e9;
    const auto print = [&](const char* name, double moved, auto call) {
      std::printf("%s %.4g GB/s\n", name, moved * gigabytes * repeats / Best(repeats, call));
    };
    print("softmax", 2, [&] { return eager::softmax(rows); });
    print("layer_norm", 2, [&] { return eager::layerNorm(rows, scale, scale); });
    print("sum_rows", 1, [&] { return eager::sum(rows, {1}); });
    print("sum_columns", 1, [&] { return eager::sum(rows, {0}); });
    print("transpose", 2, [&] { return eager::transpose(rows, {1, 0}); });
  }

  void Products() {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      if (dtype == DType::kBF16 && !handler_.gpu().limits().has_all_dtypes) continue;
      for (size_t i = 0; i < kProductNames.size(); ++i) {
        const int64_t size = sizes_.products[i];
        const Tensor a = eager::ones(runtime_, {size, size}, dtype).To(*handler_.device());
        const int count = size <= 4096 ? 50 : 10;
        const double flops = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
        std::printf("matmul_%s_%s %.4g GFLOP/s\n", std::string(DTypeName(dtype)).c_str(), kProductNames[i],
                    flops * count / Best(count, [&] { return eager::matMul(a, a); }) / 1e9);
      }
    }
  }

  void Convolutions() {
    struct Case {
      const char* name;
      int64_t batch, image, channels, out_channels, window, stride;
      bool is_depthwise;
    };
    constexpr Case kCases[] = {
        {"conv_3x3_56", 1, 56, 64, 64, 3, 1, false},
        {"conv_3x3_14", 1, 14, 256, 256, 3, 1, false},
        {"conv_3x3_56_batch", 32, 56, 64, 64, 3, 1, false},
        {"conv_3x3_14_batch", 32, 14, 256, 256, 3, 1, false},
        {"conv_7x7_224_batch", 32, 224, 3, 64, 7, 2, false},
        {"conv_1x1_7", 1, 7, 960, 160, 1, 1, false},
        {"conv_1x1_56", 1, 56, 24, 144, 1, 1, false},
        {"conv_1x1_14_batch", 32, 14, 256, 1024, 1, 1, false},
        {"depthwise_3x3_14", 1, 14, 576, 576, 3, 1, true},
        {"depthwise_3x3_112", 1, 112, 32, 32, 3, 1, true},
        {"depthwise_3x3_56_batch", 32, 56, 144, 144, 3, 1, true},
    };
    for (const Case& c : kCases) {
      const int64_t batch = sizes_.rounds == 1 ? 1 : c.batch;
      const int64_t image = sizes_.rounds == 1 ? std::min<int64_t>(c.image, 8) : c.image;
      const Tensor x = Ones({batch, image, image, c.channels});
      const Tensor filter = Ones({c.window, c.window, c.channels, c.is_depthwise ? 1 : c.out_channels});
      const std::vector<int64_t> strides = {1, c.stride, c.stride, 1};
      const int count = sizes_.repeats;
      const double seconds = Best(count, [&] {
        return c.is_depthwise ? eager::depthwiseConv2dNative(x, filter, strides, "SAME")
                              : eager::conv2d(x, filter, strides, "SAME");
      });
      std::printf("%s %.4g us\n", c.name, seconds / count * 1e6);
    }
  }

  void Networks() {
    GpuNetworks::Options options = {sizes_.warm_seconds, 3 * sizes_.rounds, IsSet("TANDEM_CUDA_TF32") ? 0.05 : 1e-3,
                                    traces_};
    if (collects_) options.max_difference = std::numeric_limits<double>::infinity();
    GpuNetworks networks(runtime_.core(), handler_, cpu_, options);
    Check(networks.Measure("mobilenet", MobileNet::Make(sizes_.image, sizes_.width, sizes_.classes)));
    Check(networks.Measure("bert",
                           Bert::Make(sizes_.tokens, sizes_.hidden, sizes_.heads, sizes_.layers, sizes_.vocabulary)));
  }
  static void Check(const Status& status) {
    if (!status.ok()) Fail(status);
  }

  static gpu::BufferId BufferOf(const Tensor& tensor) {
    if (const Status status = tensor.Await(); !status.ok()) Fail(status);
    return gpu::GpuDevice::BufferOf(*tensor.handle().value()).id();
  }

  Runtime& runtime_;
  shader::ShaderOpHandler& handler_;
  OpHandler& cpu_;
  const Sizes sizes_;
  const bool collects_;
  const std::string traces_;
};

int Main(const Settings& settings) {
#ifdef TANDEM_BENCH_EMULATED_CUDA
  // Outlives the runtime, whose device it is.
  std::unique_ptr<cuda::EmulatedCuda> emulated;
#endif
  auto created = Runtime::Create();
  if (!created.ok()) return 1;
  Runtime& runtime = **created;
  StatusOr<shader::ShaderOpHandler*> handler = nullptr;
#ifdef TANDEM_BENCH_EMULATED_CUDA
  if (settings.device == "cuda-emulated") {
    emulated = std::make_unique<cuda::EmulatedCuda>(cuda::EmulatedCuda::Options{settings.kernels, settings.collects});
    handler = MakeEmulatedHandler(runtime, *emulated);
  } else {
    handler = MakeHandler(runtime, settings.device);
  }
#else
  handler = MakeHandler(runtime, settings.device);
#endif
  if (!handler.ok()) {
    std::fprintf(stderr, "skipped: %s\n", handler.status().ToString().c_str());
    return 77;
  }
  OpHandler& cpu = runtime.handler();
  runtime.UseHandler(**handler);
  Bench(runtime, **handler, cpu, settings).Run();
  return 0;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  tandem::bench::Settings settings;
  bool is_right = argc >= 2;
  if (is_right) settings.device = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--small") {
      settings.is_small = true;
    } else if (argument == "--collect") {
      settings.collects = true;
    } else if (argument == "--trace" && i + 1 < argc) {
      settings.traces = argv[++i];
    } else if (argument == "--kernels" && i + 1 < argc) {
      settings.kernels = argv[++i];
    } else {
      is_right = false;
    }
  }
  if (settings.device == "cuda-emulated") settings.is_small = true;
  if (!is_right || (settings.device == "cuda-emulated") != !settings.kernels.empty()) {
    std::fprintf(stderr,
                 "usage: tandem_gpu_bench cuda|vulkan [--small] [--trace FOLDER]\n"
                 "       tandem_gpu_bench cuda-emulated --kernels FOLDER [--collect]\n");
    return 2;
  }
  return tandem::bench::Main(settings);
}
