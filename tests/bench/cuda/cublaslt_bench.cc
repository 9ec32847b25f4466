// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Products of matrices by cuBLASLt called directly, to compare with those of ops. Prints lines as gpu_bench.cc does;
// exit status 77 where there is no device or no library.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cublaslt.h"
#include "cuda_device.h"

namespace tandem::cuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 5;
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

void Check(int result, const char* call) {
  if (result == 0) return;
  std::fprintf(stderr, "expected %s to succeed, got %d\n", call, result);
  std::exit(1);
}

class Bench {
 public:
  Bench(const CudaDevice& device, const CublasltFunctions& functions)
      : device_(device), driver_(device.driver()), functions_(functions) {
    Check(device_.Enter(), "cuCtxSetCurrent");
    Check(driver_.StreamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate");
    PoolProperties properties = {};
    properties.allocation_type = kPoolPinned;
    properties.location = {kPoolOnDevice, device_.number()};
    Check(driver_.MemPoolCreate(&pool_, &properties), "cuMemPoolCreate");
    workspace_ = Allocate(kWorkspaceBytes);
    Check(functions_.Create(&handle_), "cublasLtCreate");
  }
  ~Bench() {
    functions_.Destroy(handle_);
    for (const DevicePointer memory : allocated_) driver_.MemFreeAsync(memory, stream_);
    driver_.StreamSynchronize(stream_);
    driver_.StreamDestroy(stream_);
    driver_.MemPoolDestroy(pool_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Of two square matrices, row by row.
  void Product(const char* name, const char* size_name, int element, int compute, size_t element_bytes, uint64_t size) {
    const size_t bytes = size * size * element_bytes;
    const DevicePointer a = Allocate(bytes), c = Allocate(bytes);
    CublasltFunctions::Layout layout = nullptr;
    CublasltFunctions::Description description = nullptr;
    Check(functions_.MatrixLayoutCreate(&layout, element, size, size, static_cast<int64_t>(size)),
          "cublasLtMatrixLayoutCreate");
    Check(functions_.MatmulDescCreate(&description, compute, cublaslt::kF32), "cublasLtMatmulDescCreate");
    CublasltFunctions::Preference preference = nullptr;
    Check(functions_.MatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const uint64_t workspace = kWorkspaceBytes;
    Check(functions_.MatmulPreferenceSetAttribute(preference, cublaslt::kWorkspaceBytes, &workspace, sizeof(workspace)),
          "cublasLtMatmulPreferenceSetAttribute");
    CublasltFunctions::Heuristic found = {};
    int num_found = 0;
    Check(functions_.MatmulAlgoGetHeuristic(handle_, description, layout, layout, layout, layout, preference, 1, &found,
                                            &num_found),
          "cublasLtMatmulAlgoGetHeuristic");
    const float one = 1, zero = 0;
    const int count = size <= 4096 ? 50 : 10;
    double best = 1e30;
    for (int round = 0; num_found > 0 && round <= kRounds; ++round) {
      Check(driver_.StreamSynchronize(stream_), "cuStreamSynchronize");
      const Clock::time_point begin = Clock::now();
      for (int i = 0; i < count; ++i) {
        Check(functions_.Matmul(handle_, description, &one, reinterpret_cast<void*>(a), layout,
                                reinterpret_cast<void*>(a), layout, &zero, reinterpret_cast<void*>(c), layout,
                                reinterpret_cast<void*>(c), layout, &found.algorithm,
                                reinterpret_cast<void*>(workspace_), found.workspace_bytes, stream_),
              "cublasLtMatmul");
      }
      Check(driver_.StreamSynchronize(stream_), "cuStreamSynchronize");
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (round > 0) best = std::min(best, seconds);
    }
    const auto edge = static_cast<double>(size);
    std::printf("matmul_%s_%s %.4g GFLOP/s\n", name, size_name, 2 * edge * edge * edge * count / best / 1e9);
    functions_.MatmulPreferenceDestroy(preference);
    functions_.MatmulDescDestroy(description);
    functions_.MatrixLayoutDestroy(layout);
  }

 private:
  // Content that is arbitrary, but for zeros, takes as long.
  DevicePointer Allocate(size_t bytes) {
    DevicePointer memory = 0;
    Check(driver_.MemAllocFromPoolAsync(&memory, bytes, pool_, stream_), "cuMemAllocFromPoolAsync");
    Check(driver_.MemsetD32Async(memory, 0x3f803f80, bytes / 4, stream_), "cuMemsetD32Async");
    allocated_.push_back(memory);
    return memory;
  }

  const CudaDevice& device_;
  const DriverFunctions& driver_;
  const CublasltFunctions functions_;
  StreamHandle stream_ = nullptr;
  PoolHandle pool_ = nullptr;
  CublasltFunctions::Handle handle_ = nullptr;
  DevicePointer workspace_ = 0;
  std::vector<DevicePointer> allocated_;
};

int Skip(const Status& why) {
  std::fprintf(stderr, "skipped: %s\n", why.ToString().c_str());
  return 77;
}

int Main() {
  const StatusOr<DriverFunctions> driver = OpenDriver();
  if (!driver.ok()) return Skip(driver.status());
  const auto device = CudaDevice::Create(*driver, "");
  if (!device.ok()) return Skip(device.status());
  const StatusOr<CublasltFunctions> functions = OpenCublaslt();
  if (!functions.ok()) return Skip(functions.status());
  std::printf("device %s, cuBLASLt %s\n", (*device)->description().c_str(), CublasltVersion(*functions).c_str());
  constexpr struct {
    const char* name;
    uint64_t size;
  } kSizes[] = {{"small", 1024}, {"medium", 4096}, {"large", 8192}};  // as in gpu_bench.cc
  for (const auto& [name, size] : kSizes) {
    Bench bench(**device, *functions);
    bench.Product("f32", name, cublaslt::kF32, cublaslt::kComputeF32, 4, size);
    bench.Product("tf32", name, cublaslt::kF32, cublaslt::kComputeTf32, 4, size);
    bench.Product("bf16", name, cublaslt::kBF16, cublaslt::kComputeF32, 2, size);
  }
  return 0;
}

}  // namespace
}  // namespace tandem::cuda

int main() { return tandem::cuda::Main(); }
