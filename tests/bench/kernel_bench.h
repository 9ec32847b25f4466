// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the files of the kernel benchmarks share: the list of benchmarks and the sizes that all libraries compute.

#ifndef TANDEM_TESTS_BENCH_KERNEL_BENCH_H_
#define TANDEM_TESTS_BENCH_KERNEL_BENCH_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tandem::bench {

// One kernel by one library. `prepare` makes inputs for so many threads and gives a function that runs the kernel once
// and returns when it is done; null where the library does not compute it.
struct KernelBench {
  std::string kernel;
  std::string library;
  std::function<std::function<void()>(int threads)> prepare;
  // Of elementary functions: y[i] = f(x[i]), by which errors are found.
  std::function<std::vector<float>(std::span<const float> x)> evaluate = nullptr;
};

// A kernel has the same name in each, and the same sizes; all is f32 but what a name says. Those of libraries that are
// not installed are not linked.
void ListTandemKernels(std::vector<KernelBench>& list);
void ListEigenKernels(std::vector<KernelBench>& list);
void ListTorchKernels(std::vector<KernelBench>& list);
void ListDnnlKernels(std::vector<KernelBench>& list);

struct Gemm {
  const char* name;
  int64_t m, k, n;
};
inline constexpr Gemm kGemms[] = {
    {"matmul 128^3", 128, 128, 128},     {"matmul 256^3", 256, 256, 256},       {"matmul 512^3", 512, 512, 512},
    {"matmul 1024^3", 1024, 1024, 1024}, {"matmul 2048^3", 2048, 2048, 2048},   {"matmul 32x256x256", 32, 256, 256},
    {"matmul 64x784x128", 64, 784, 128}, {"matmul 1x1024x1024", 1, 1024, 1024}, {"matmul 1x4096x4096", 1, 4096, 4096},
};
inline constexpr Gemm kBf16Gemm = {"matmul bf16 512^3", 512, 512, 512};

// NHWC, stride the same both ways, SAME padding (of 3x3 with stride 2: none before and one after).
struct Conv {
  const char* name;
  int64_t batch, rows, cols, in, out, kernel, stride;
};
inline constexpr Conv kConvs[] = {
    {"conv 3x3 56x56x64 -> 64", 1, 56, 56, 64, 64, 3, 1},
    {"conv 3x3 14x14x256 -> 256", 1, 14, 14, 256, 256, 3, 1},
    {"conv 3x3 stride 2 224x224x3 -> 32", 1, 224, 224, 3, 32, 3, 2},
    {"conv 1x1 28x28x128 -> 512", 1, 28, 28, 128, 512, 1, 1},
    {"conv 1x1 7x7x960 -> 160", 1, 7, 7, 960, 160, 1, 1},
    {"conv 5x5 50x28x28x1 -> 16", 50, 28, 28, 1, 16, 5, 1},
};
inline constexpr Conv kConvGradients[] = {
    {"3x3 50x14x14x16 -> 32", 50, 14, 14, 16, 32, 3, 1},
};
// `out` is that of each channel.
inline constexpr Conv kDepthwise[] = {
    {"depthwise 3x3 56x56x128", 1, 56, 56, 128, 1, 3, 1},
    {"depthwise 3x3 112x112x32", 1, 112, 112, 32, 1, 3, 1},
    {"depthwise 3x3 stride 2 112x112x64", 1, 112, 112, 64, 1, 3, 2},
    {"depthwise 3x3 28x28x192", 1, 28, 28, 192, 1, 3, 1},
    {"depthwise 3x3 7x7x960", 1, 7, 7, 960, 1, 3, 1},
};

// Windows of 2x2 or 3x3 with stride 2 on NHWC, no padding.
inline constexpr int64_t kPoolBatch = 1, kPoolSize = 112, kPoolChannels = 64;

inline constexpr int64_t kElements = int64_t{1} << 20;  // of element-wise kernels and sums of all
inline constexpr int64_t kSide = 1024;                  // of matrices that are reduced, transposed, normalized
inline constexpr int64_t kConcatCols = 512;             // of the two matrices that become one of kSide columns
inline constexpr int64_t kGatherRows = 10'000, kGatherCols = 256, kGathered = 4096;
inline constexpr int64_t kImageBatch = 8, kImageSize = 56, kImageChannels = 64;  // NHWC to NCHW

// Row `i` of those that are gathered.
inline int64_t GatheredRow(int64_t i) { return i * 7919 % kGatherRows; }

// `count` numbers in [lowest, lowest + 2), the same for all libraries.
std::vector<float> Numbers(int64_t count, float lowest = -1);
// Of functions that are for positive numbers.
inline constexpr float kPositive = 0.25f;

}  // namespace tandem::bench

#endif  // TANDEM_TESTS_BENCH_KERNEL_BENCH_H_
