// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CallEnvironment: what a compiled function may ask of its caller while it runs: memory, threads, and to keep an error.

#ifndef TANDEM_TVM_LIB_CALL_ENVIRONMENT_H_
#define TANDEM_TVM_LIB_CALL_ENVIRONMENT_H_

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string_view>

#include "tandem/execution_context.h"
#include "tandem/host_allocator.h"
#include "tvm_abi.h"

namespace tandem::tvm {

// Of one call. Known to the thread that made it, for its lifetime, and to those that help with parallel loops.
class CallEnvironment {
 public:
  // `exec` outlives it.
  explicit CallEnvironment(const ExecutionContext& exec) : exec_(exec), before_(current_) { current_ = this; }
  ~CallEnvironment();
  CallEnvironment(const CallEnvironment&) = delete;
  CallEnvironment& operator=(const CallEnvironment&) = delete;

  // Of the innermost call on this thread; null outside of calls, such as on threads of the function's own.
  static CallEnvironment* Current() { return current_; }

  // The last one counts.
  void SetError(std::span<const std::string_view> parts);
  void SetError(std::initializer_list<std::string_view> parts) { SetError({parts.begin(), parts.size()}); }
  // After the function has returned.
  std::string_view error() const { return {error_, error_size_}; }

  // Memory aligned to 128 bytes, until it is freed or the call ends; null, and an error is set, if there is none.
  void* AllocateWorkspace(uint64_t size);
  bool FreeWorkspace(void* memory);

  // Runs tasks 0 to num_tasks - 1, or for 0 as many as there are threads; what one of them returned that is not 0.
  int LaunchParallel(ParallelTask task, void* data, int num_tasks);

 private:
  struct Workspace;

  static constinit thread_local CallEnvironment* current_;

  const ExecutionContext& exec_;
  CallEnvironment* const before_;
  std::mutex mutex_;
  Workspace* workspaces_ = nullptr;
  size_t error_size_ = 0;
  char error_[512];
};

// A variable in which libraries expect the address of a function, by its name.
struct ContextFunction {
  const char* variable;
  void* address;
};
std::span<const ContextFunction> ContextFunctions();

}  // namespace tandem::tvm

#endif  // TANDEM_TVM_LIB_CALL_ENVIRONMENT_H_
