// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The functions that a loader of TVM's libraries gives them, over the call that runs.

#include "call_environment.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "tandem/host_context.h"
#include "tandem/parallel_for.h"

namespace tandem::tvm {

namespace {
constexpr size_t kWorkspaceAlignment = 128;  // of any version of TVM
}  // namespace

constinit thread_local CallEnvironment* CallEnvironment::current_ = nullptr;

// Stands before the memory, in one buffer.
struct alignas(kWorkspaceAlignment) CallEnvironment::Workspace {
  HostBuffer* buffer;
  Workspace* next;
};

CallEnvironment::~CallEnvironment() {
  while (workspaces_ != nullptr) {
    const auto buffer = RcRef<HostBuffer>::Take(workspaces_->buffer);
    workspaces_ = workspaces_->next;
  }
  current_ = before_;
}

void CallEnvironment::SetError(std::span<const std::string_view> parts) {
  const std::lock_guard lock(mutex_);
  error_size_ = 0;
  for (const std::string_view part : parts) {
    const size_t size = std::min(part.size(), sizeof(error_) - error_size_);
    std::memcpy(error_ + error_size_, part.data(), size);
    error_size_ += size;
  }
}

void* CallEnvironment::AllocateWorkspace(uint64_t size) {
  constexpr size_t kMore = sizeof(Workspace) + kWorkspaceAlignment - kTensorDataAlignment;
  StatusOr<RcRef<HostBuffer>> buffer = Status::OutOfMemory();
  if (size <= PTRDIFF_MAX - kMore) buffer = exec_.host().allocator().Allocate(static_cast<size_t>(size) + kMore);
  if (!buffer.ok()) {
    SetError({"MemoryError: ", buffer.status().message()});
    return nullptr;
  }
  const auto begin = reinterpret_cast<uintptr_t>((*buffer)->data());
  const uintptr_t aligned = (begin + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  auto* const workspace = new (static_cast<char*>((*buffer)->data()) + (aligned - begin)) Workspace;
  workspace->buffer = buffer->release();
  const std::lock_guard lock(mutex_);
  workspace->next = std::exchange(workspaces_, workspace);
  return workspace + 1;
}

bool CallEnvironment::FreeWorkspace(void* memory) {
  RcRef<HostBuffer> buffer;
  const std::lock_guard lock(mutex_);
  for (Workspace** place = &workspaces_; *place != nullptr; place = &(*place)->next) {
    if (*place + 1 != memory) continue;
    buffer = RcRef<HostBuffer>::Take((*place)->buffer);
    *place = (*place)->next;
    return true;
  }
  return false;
}

int CallEnvironment::LaunchParallel(ParallelTask task, void* data, int num_tasks) {
  WorkQueue& queue = exec_.work_queue();
  ParallelGroup group = {nullptr, num_tasks > 0 ? num_tasks : std::max(queue.ParallelismLevel(), 1)};
  std::atomic<int> failure{0};
  const bool is_complete = ParallelFor(queue, group.num_task, 1, [&](int64_t begin, int64_t end) {
    CallEnvironment* const before = std::exchange(current_, this);
    for (int64_t i = begin; i < end; ++i) {
      if (const int code = task(static_cast<int>(i), &group, data); code != 0) failure = code;
    }
    current_ = before;
  });
  if (!is_complete) SetError({"the call was cancelled"});
  return is_complete ? failure.load() : -1;
}

namespace {

constexpr int kFailed = -1;

std::string_view View(const char* text) { return text == nullptr ? "" : text; }

int Fail(std::initializer_list<std::string_view> parts) {
  if (CallEnvironment* const call = CallEnvironment::Current()) call->SetError(parts);
  return kFailed;
}

void* AllocWorkspace(int device_type, int, uint64_t size, int, int) {
  CallEnvironment* const call = CallEnvironment::Current();
  if (call == nullptr) return nullptr;
  if (device_type == dlpack::kCpu) return call->AllocateWorkspace(size);
  Fail({"expected to be asked for memory of the CPU, got another device"});
  return nullptr;
}

int FreeWorkspace(int, int, void* memory) {
  CallEnvironment* const call = CallEnvironment::Current();
  return call != nullptr && call->FreeWorkspace(memory) ? 0 : kFailed;
}

int ParallelLaunch(ParallelTask task, void* data, int num_tasks) {
  if (CallEnvironment* const call = CallEnvironment::Current()) return call->LaunchParallel(task, data, num_tasks);
  ParallelGroup alone = {nullptr, 1};
  return task(0, &alone, data);
}

// Tasks share whatever threads there are, and may run one after the other.
int ParallelBarrier(int, ParallelGroup* group) {
  return group->num_task <= 1 ? 0 : Fail({"barriers between parallel tasks are not supported"});
}

void SetLastError(const char* message) { Fail({View(message)}); }

int GetFuncFromEnv(void*, const char* name, void** function) {
  *function = nullptr;
  return Fail({"expected no need of functions from outside of the library, got ", View(name)});
}

int CallClassic(void*, Value*, int*, int, Value*, int*) { return Fail({"expected no call of a function handle"}); }

int CallFfi(void*, Any*, int32_t, Any*) { return Fail({"expected no call of a function handle"}); }

void SetRaised(const char* kind, const char* message) { Fail({View(kind), ": ", View(message)}); }

void SetRaisedParts(const char* kind, const char** parts, int32_t num_parts) {
  constexpr int32_t kMostParts = 30;
  std::string_view texts[kMostParts + 2] = {View(kind), ": "};
  const int32_t count = std::clamp(num_parts, 0, kMostParts);
  for (int32_t i = 0; i < count; ++i) texts[i + 2] = View(parts[i]);
  CallEnvironment* const call = CallEnvironment::Current();
  if (call != nullptr) call->SetError(std::span(texts, static_cast<size_t>(count) + 2));
}

// One at a time, in the whole process: libraries keep what `make` gives for all their callers.
int HandleInitOnce(void** handle, int (*make)(void** made)) {
  static constinit std::mutex mutex;
  std::atomic_ref<void*> shared(*handle);
  if (shared.load(std::memory_order_acquire) != nullptr) return 0;
  const std::lock_guard lock(mutex);
  if (shared.load(std::memory_order_relaxed) != nullptr) return 0;
  void* made = nullptr;
  const int code = make(&made);
  if (code == 0) shared.store(made, std::memory_order_release);
  return code;
}

template <typename Function>
ContextFunction Context(const char* variable, Function* function) {
  return {variable, reinterpret_cast<void*>(function)};
}

}  // namespace

std::span<const ContextFunction> ContextFunctions() {
  static const ContextFunction functions[] = {
      Context("__TVMBackendAllocWorkspace", &AllocWorkspace),
      Context("__TVMBackendFreeWorkspace", &FreeWorkspace),
      Context("__TVMBackendParallelLaunch", &ParallelLaunch),
      Context("__TVMBackendParallelBarrier", &ParallelBarrier),
      // Of the classic ABI.
      Context("__TVMAPISetLastError", &SetLastError),
      Context("__TVMBackendGetFuncFromEnv", &GetFuncFromEnv),
      Context("__TVMFuncCall", &CallClassic),
      // Of tvm-ffi.
      Context("__TVMFFIErrorSetRaisedFromCStr", &SetRaised),
      Context("__TVMFFIErrorSetRaisedFromCStrParts", &SetRaisedParts),
      Context("__TVMFFIEnvModLookupFromImports", &GetFuncFromEnv),
      Context("__TVMFFIFunctionCall", &CallFfi),
      Context("__TVMFFIHandleInitOnce", &HandleInitOnce),
  };
  return functions;
}

}  // namespace tandem::tvm
