// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Session: a runtime with the op handler under test, on which cases are run one after the other.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_SESSION_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_SESSION_H_

#include <string>
#include <string_view>
#include <vector>

#include "conformance_case.h"
#include "tandem/core_runtime.h"

namespace tandem::conformance {

struct CaseResult {
  std::string failure;  // empty: passed
  double worst_ulp = 0;
};

class Session {
 public:
  // Throws std::runtime_error if there is no such device.
  explicit Session(const std::string& device);

  // Runs the case twice: with inputs in memory of ours that is no larger than they are, so that a sanitizer sees reads
  // beyond it, and with inputs in the runtime's memory. Throws std::runtime_error if the case cannot be made a call.
  CaseResult Run(const ConformanceCase& conformance_case);

  // The dtype that the case is about: the one by which kernels of the op are told apart, or that of the first result.
  // Empty if there is none, and for wrong calls.
  std::string KernelDType(const ConformanceCase& conformance_case);

 private:
  enum class Memory { kExternal, kRuntime };
  class OutputGuards;

  CaseResult RunOnce(const ConformanceCase& conformance_case, Memory memory);
  CaseResult Call(const ConformanceCase& conformance_case, Memory memory);
  TensorHandle MakeInput(const TensorSpec& spec, Memory memory);
  std::vector<TensorHandle> MakeInputs(const ConformanceCase& conformance_case, Memory memory);
  CaseResult CheckResults(const ConformanceCase& conformance_case, std::span<const TensorHandle> results,
                          const AsyncValueRef<Chain>& chain, const OutputGuards& guards);
  CaseResult CheckError(const std::string& expected, std::span<const TensorHandle> results,
                        const AsyncValueRef<Chain>& chain);

  CoreRuntime runtime_;
  OpHandler* handler_ = nullptr;
};

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_SESSION_H_
