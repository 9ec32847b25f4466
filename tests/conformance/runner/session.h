// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Session: a runtime with the op handler under test, on which cases are run one after the other.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_SESSION_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_SESSION_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "conformance_case.h"
#include "tandem/core_runtime.h"
#include "tandem/kernel_op_handler.h"

namespace tandem::cuda {
class EmulatedCuda;
}

namespace tandem::conformance {

struct CaseResult {
  std::string failure;  // empty: passed
  double worst_ulp = 0;
  // ResultBits of the results of a case that passed and was no wrong call.
  std::optional<uint64_t> bits = std::nullopt;
};

struct SessionOptions {
  std::string device = "cpu";
  bool use_fallback = true;  // whether ops that a GPU has no kernel for run on the CPU; else they are errors
  int num_threads = 2;
  bool exact = false;  // see HostContext::Options
  // Of the device cuda-emulated; see tests/cuda/emulated_driver.h.
  std::string kernels;
  bool collects_kernels = false;
  bool keeps_kernels = false;
};

// Why the cases of a device cannot be run here: this machine, or this build, has none.
class NoDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Session {
 public:
  // Throws std::runtime_error if no device is called so, and NoDevice if this one is not there, or not the instruction
  // set that TANDEM_CPU_TARGET names.
  explicit Session(const SessionOptions& options);
  ~Session();

  // Runs the case twice: with inputs in memory of ours that is no larger than they are, so that a sanitizer sees reads
  // beyond it, and with inputs in the runtime's memory; if the session is exact, results must be the same. Throws
  // std::runtime_error if the case cannot be made a call.
  CaseResult Run(const ConformanceCase& conformance_case);

  // The dtype that the case is about: the one by which kernels of the op are told apart, or that of the first result.
  // Empty if there is none, and for wrong calls.
  std::string KernelDType(const ConformanceCase& conformance_case);
  // Throws std::runtime_error if the case allows larger errors than the op's definition states (NU-1).
  void CheckTolerance(const ConformanceCase& conformance_case);
  // Whether the device itself, rather than its fallback, runs a case of that dtype.
  bool HasKernel(const ConformanceCase& conformance_case, const std::string& dtype) const;

 private:
  enum class Memory { kExternal, kRuntime };

  HostContext::Options RuntimeOptions(const SessionOptions& options);
  void AddVulkanHandler(OpHandler* fallback);
  void AddCudaHandler(OpHandler* fallback);
  void AddEmulatedCudaHandler(const SessionOptions& options, OpHandler* fallback);
  // Whether tensors have to be moved to and from the device.
  bool IsRemote() const { return handler_->device() != &runtime_.host().device(); }
  // The tensor in main memory.
  TensorHandle OnHost(const TensorHandle& handle);
  // What a driver or the allocator has complained about since the last call.
  void Complain(std::string_view text);
  std::string TakeComplaints();

  void PassFence();

  CaseResult RunOnce(const ConformanceCase& conformance_case, Memory memory);
  CaseResult Call(const ConformanceCase& conformance_case, Memory memory);
  TensorHandle MakeInput(const TensorSpec& spec, Memory memory);
  std::vector<TensorHandle> MakeInputs(const ConformanceCase& conformance_case, Memory memory);
  CaseResult CheckResults(const ConformanceCase& conformance_case, std::span<const TensorHandle> results,
                          const AsyncValueRef<Chain>& chain);
  CaseResult CheckError(const std::string& expected, std::span<const TensorHandle> results,
                        const AsyncValueRef<Chain>& chain);

  std::mutex complaints_mutex_;
  std::string complaints_;
  // Outlives the runtime, whose handler uses it.
  std::shared_ptr<cuda::EmulatedCuda> emulated_cuda_;
  mutable CoreRuntime runtime_;
  KernelOpHandler* handler_ = nullptr;
};

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_SESSION_H_
