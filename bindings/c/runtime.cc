// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runtimes, what depends on them, their memory, traces and op definitions; waiting and calling back.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "objects.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/device_report.h"
#include "tandem/op_families.h"
#include "tandem/version.h"

namespace tandem::c {

namespace {

thread_local int callback_depth = 0;

// A continuation that calls back and keeps alive what it waits for.
class ReadyWaiter final : public Waiter {
 public:
  ReadyWaiter(tandem_runtime& runtime, RcRef<AsyncValue> value, tandem_ready_callback callback, void* user)
      : runtime_(RcRef<tandem_runtime>::Share(&runtime)), value_(std::move(value)), callback_(callback), user_(user) {}
  void Run() override {
    // An op may take over the memory of a value that nobody else refers to.
    const Status error = value_->IsError() ? value_->GetError() : Status();
    value_.reset();
    Call(error);
  }
  void Drop() override { Call(MakeError(StatusCode::kCancelled, "what was waited for will never come")); }

 private:
  void Call(const Status& error) {
    tandem_status* status = ToC(error);
    {
      const CallbackScope scope(runtime_.get());
      callback_(user_, status);
    }
    tandem_status_release(status);
    delete this;
  }

  RcRef<tandem_runtime> runtime_;
  RcRef<AsyncValue> value_;
  tandem_ready_callback callback_;
  void* user_;
};

// `owner` outlives the host.
HostContext::Options MakeHostOptions(const tandem_runtime_options& from, tandem_runtime& owner) {
  HostContext::Options options;
  if (kHasThreads) options.work_queue = CreateMultiThreadedWorkQueue(from.num_threads);
  options.allocator.memory_limit = MemoryLimit(from.memory_limit);
  options.exact = from.exact != 0;
  options.fuse = from.no_fusion == 0;
  if (from.on_diagnostic != nullptr) {
    options.diagnostic_handler = [&owner, callback = from.on_diagnostic,
                                  user = from.diagnostic_user](const Status& error) {
      tandem_status* status = ToC(error);
      {
        const CallbackScope scope(&owner);
        callback(user, status);
      }
      tandem_status_release(status);
    };
  }
  if (from.print != nullptr) {
    options.print = [&owner, callback = from.print, user = from.print_user](std::string_view text) {
      const CallbackScope scope(&owner);
      callback(user, text.data(), text.size());
    };
  } else {
    options.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  }
  return options;
}

// Has calls go to a device with layers, once the devices that its text names are there.
Status UseLayers(Running& running, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const std::string_view name = text.substr(at, text.substr(at).find_first_of(":|()"));
    if (name == "vulkan" || name == "cuda") TANDEM_RETURN_IF_ERROR(AddDevice(running, name).status());
    at += name.size() + 1;
  }
  TANDEM_ASSIGN_OR_RETURN(running.device, AddLayers(running, text));
  return Status();
}

}  // namespace

size_t MemoryLimit(uint64_t bytes) { return bytes == 0 || bytes > SIZE_MAX ? SIZE_MAX : static_cast<size_t>(bytes); }

Status StartRuntime(tandem_runtime& runtime, HostContext::Options options, const char* device) {
  std::unique_ptr<Running> running(new (std::nothrow) Running(std::move(options)));
  if (running == nullptr) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(RegisterAllOps(running->core.registry()));
  TANDEM_ASSIGN_OR_RETURN(running->cpu, CreateCpuOpHandler(running->core));
  running->device = running->cpu;
  if (device != nullptr) {
    TANDEM_ASSIGN_OR_RETURN(running->device, AddDevice(*running, device));
  }
  runtime.Start(std::move(running));
  return Status();
}

CallbackScope::CallbackScope(tandem_runtime* runtime) : runtime_(runtime) {
  ++callback_depth;
  if (runtime_ != nullptr) runtime_->num_callbacks_.fetch_add(1);
}

CallbackScope::~CallbackScope() {
  if (runtime_ != nullptr) runtime_->num_callbacks_.fetch_sub(1);
  --callback_depth;
}

bool CallbackScope::IsInside() { return callback_depth > 0; }

Status CallWhenReady(tandem_runtime& runtime, RcRef<AsyncValue> value, tandem_ready_callback callback, void* user) {
  if (callback == nullptr) return InvalidArgument("expected a callback, got null");
  AsyncValue& waited = *value;
  // The waiter's own reference may be the last, and goes while the value calls it.
  const RcRef<AsyncValue> alive = value;
  auto* waiter = new (std::nothrow) ReadyWaiter(runtime, std::move(value), callback, user);
  if (waiter == nullptr) return Status::OutOfMemory();
  waited.AndThen(*waiter);
  return Status();
}

std::chrono::steady_clock::time_point DeadlineAfter(int64_t timeout_ns) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  const std::chrono::nanoseconds timeout(timeout_ns);
  if (timeout_ns < 0 || timeout > Clock::time_point::max() - now) return Clock::time_point::max();
  return now + std::chrono::duration_cast<Clock::duration>(timeout);
}

Status AwaitValue(Running& runtime, const AsyncValue* value, int64_t timeout_ns) {
  if (!value->IsAvailable()) TANDEM_RETURN_IF_ERROR(runtime.host().Await({&value, 1}, DeadlineAfter(timeout_ns)));
  return value->IsError() ? value->GetError() : Status();
}

Dependent::Dependent(tandem_runtime& runtime) : runtime_(RcRef<tandem_runtime>::Share(&runtime)) {
  const std::lock_guard lock(runtime.dependents_mutex_);
  next_ = runtime.dependents_;
  if (next_ != nullptr) next_->previous_ = this;
  runtime.dependents_ = this;
}

Dependent::~Dependent() {
  const std::lock_guard lock(runtime_->dependents_mutex_);
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ == nullptr ? runtime_->dependents_ : previous_->next_) = next_;
}

}  // namespace tandem::c

void tandem_runtime::Stop() {
  tandem::c::Running* running = running_.load();
  running->host().Shutdown();
  // Callbacks that begin from here on find nothing running; those that have begun may still use it.
  running_.store(nullptr);
  while (num_callbacks_.load() > 0) std::this_thread::yield();
  {
    const std::lock_guard lock(dependents_mutex_);
    for (tandem::c::Dependent* dependent = dependents_; dependent != nullptr; dependent = dependent->next_) {
      dependent->LetGo();
    }
  }
  delete running;
}

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

uint32_t tandem_abi_version(void) { return TANDEM_ABI_VERSION; }
const char* tandem_version(void) { return tandem::Version(); }

tandem_status* tandem_runtime_create(uint32_t abi_version, const tandem_runtime_options* options,
                                     tandem_runtime** runtime) {
  if (runtime == nullptr) return WrongArgument("expected a place for the runtime, got null");
  *runtime = nullptr;
  if (abi_version != TANDEM_ABI_VERSION) {
    return ToC(tandem::FailedPrecondition("the library has version ", TANDEM_ABI_VERSION,
                                          " of the C interface, the program was compiled for version ", abi_version));
  }
  tandem_runtime_options chosen;
  TANDEM_C_RETURN_IF_ERROR(ReadStruct(options, TANDEM_C_LEAST_SIZE(tandem_runtime_options, print_user), &chosen));
  if (chosen.num_threads < 0) return WrongArgument("num_threads must not be negative, got ", chosen.num_threads);
  auto made = tandem::MakeRef<tandem_runtime>();
  if (!made) return ToC(tandem::Status::OutOfMemory());
  const bool has_layers = chosen.device != nullptr && std::string_view(chosen.device).find(':') != std::string::npos;
  const char* const device = has_layers ? nullptr : chosen.device;
  TANDEM_C_RETURN_IF_ERROR(StartRuntime(*made, MakeHostOptions(chosen, *made), device));
  if (has_layers) {
    if (const tandem::Status added = UseLayers(*made->running(), chosen.device); !added.ok()) {
      made->Stop();
      return ToC(added);
    }
  }
  *runtime = made.release();
  return nullptr;
}

tandem_status* tandem_runtime_add_device(tandem_runtime* runtime, const char* device) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  if (device == nullptr) return WrongArgument("expected the name of a device, got null");
  return ToC(AddDevice(*rt, device).status());
}

tandem_status* tandem_runtime_load_device(tandem_runtime* runtime, const char* module, const tandem_attrs* settings) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  if (module == nullptr) return WrongArgument("expected the name or path of a module, got null");
  if (settings == nullptr) return ToC(LoadDevice(*rt, module, {}).status());
  if (!settings->error.ok()) return ToC(settings->error);
  return ToC(LoadDevice(*rt, module, settings->attrs).status());
}

tandem_status* tandem_runtime_destroy(tandem_runtime* runtime) {
  if (runtime == nullptr) return nullptr;
  if (CallbackScope::IsInside()) {
    return ToC(tandem::FailedPrecondition("a runtime cannot be destroyed from within a callback"));
  }
  runtime->Stop();
  runtime->DropRef();
  return nullptr;
}

tandem_status* tandem_runtime_cancel(tandem_runtime* runtime, const char* reason) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  rt->host().CancelExecution(reason == nullptr ? "cancelled" : reason);
  return nullptr;
}

tandem_status* tandem_runtime_restart(tandem_runtime* runtime) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  rt->host().Restart();
  return nullptr;
}

tandem_status* tandem_runtime_settle(tandem_runtime* runtime) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  rt->host().Quiesce();
  return nullptr;
}

tandem_status* tandem_runtime_memory(tandem_runtime* runtime, tandem_memory_stats* stats) {
  if (stats == nullptr) return WrongArgument("expected a place for the statistics, got null");
  tandem_memory_stats all;
  TANDEM_C_RETURN_IF_ERROR(ReadStruct(stats, TANDEM_C_LEAST_SIZE(tandem_memory_stats, num_cache_hits), &all));
  const size_t size = stats->struct_size;
  all = {size, 0, 0, 0, 0, 0};
  std::memcpy(stats, &all, std::min(size, sizeof(all)));
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  const tandem::HostAllocator::Stats now = rt->host().allocator().stats();
  all = {size, now.bytes_in_use, now.peak_bytes_in_use, now.bytes_cached, now.num_allocations, now.num_cache_hits};
  std::memcpy(stats, &all, std::min(size, sizeof(all)));
  return nullptr;
}

tandem_status* tandem_runtime_set_memory_limit(tandem_runtime* runtime, uint64_t bytes) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  rt->host().allocator().set_memory_limit(MemoryLimit(bytes));
  return nullptr;
}

tandem_status* tandem_runtime_trim(tandem_runtime* runtime) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  rt->host().allocator().Trim();
  return nullptr;
}

tandem_status* tandem_trace_start(tandem_runtime* runtime) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  rt->host().StartTracing();
  return nullptr;
}

tandem_status* tandem_trace_stop(tandem_runtime* runtime) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  rt->host().StopTracing();
  return nullptr;
}

tandem_status* tandem_trace_clear(tandem_runtime* runtime) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  rt->host().tracer().Clear();
  return nullptr;
}

tandem_status* tandem_trace_json(tandem_runtime* runtime, char** json, size_t* size) {
  if (json == nullptr) return WrongArgument("expected a place for the text, got null");
  *json = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  return GiveText(rt->host().tracer().ToJson(), json, size);
}

tandem_status* tandem_device_report(tandem_runtime* runtime, const char* device, char** text, size_t* size) {
  if (text == nullptr) return WrongArgument("expected a place for the text, got null");
  *text = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  const auto handler = FindDevice(*rt, device);
  if (!handler.ok()) return ToC(handler.status());
  const tandem::Device* const place = (*handler)->device();
  if (place == nullptr) return GiveText("", text, size);
  return GiveText(tandem::ReportText(tandem::FindDeviceReport(rt->core, *place)), text, size);
}

tandem_status* tandem_op_registry_json(tandem_runtime* runtime, char** json, size_t* size) {
  if (json == nullptr) return WrongArgument("expected a place for the text, got null");
  *json = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  return GiveText(rt->core.registry().ToJson(), json, size);
}

}  // extern "C"
