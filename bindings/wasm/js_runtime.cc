// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runtimes for JavaScript: made, run from an event loop, their events and memory.

#include "js_runtime.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <new>
#include <utility>

#include "simd/relaxed_kernels.h"

using tandem::js::Event;

namespace tandem::js {

namespace {

// Tells that a value has come.
class ReadyEvent final : public Event, public Waiter {
 public:
  ReadyEvent(EventList& events, uint32_t id, RcRef<AsyncValue> value)
      : Event(TANDEM_JS_READY, id), events_(events), value_(std::move(value)) {}

  void Run() override {
    if (value_->IsError()) set_data(c::ToC(value_->GetError()), 0);
    // An op may take over the memory of a value that nobody else refers to.
    value_.reset();
    events_.Post(*this);
  }
  void Drop() override {
    set_data(c::ToC(MakeError(StatusCode::kCancelled, "what was waited for will never come")), 0);
    events_.Post(*this);
  }

 private:
  EventList& events_;
  RcRef<AsyncValue> value_;
};

// What cannot be kept for lack of memory is lost.
void Post(EventList& events, uint32_t kind, const void* data, size_t size) {
  auto* event = new (std::nothrow) Event(kind, 0);
  if (event == nullptr) return;
  event->set_data(data, size);
  events.Post(*event);
}

HostContext::Options MakeOptions(tandem_js& js, int32_t num_threads, double pending_limit, bool diagnostics) {
  HostContext::Options options;
  const bool has_workers = num_threads > 0;
  auto queue = std::make_unique<EventLoopQueue>(
      has_workers ? CreateMultiThreadedWorkQueue(num_threads) : CreateSingleThreadedWorkQueue(/*may_block=*/false),
      has_workers, [&js] { js.events.Wake(); });
  js.queue = queue.get();
  options.work_queue = std::move(queue);
  if (pending_limit > 0) options.max_pending_ops = static_cast<int64_t>(std::min(pending_limit, 0x1p53));
  // Pending results have no memory yet.
  options.max_pending_bytes = INT64_MAX / 4;
  if (diagnostics) {
    options.diagnostic_handler = [&js](const Status& error) {
      Post(js.events, TANDEM_JS_DIAGNOSTIC, c::ToC(error), 0);
    };
  }
  options.print = [&js](std::string_view text) {
    if (char* copy = c::CopyText(text)) Post(js.events, TANDEM_JS_PRINT, copy, text.size());
  };
  js.collector.AddTo(options);
  return options;
}

uint32_t RunTasks(tandem_js& js, double milliseconds) {
  if (js.queue->has_workers() || js.collector.IsShort()) return 0;
  const std::chrono::duration<double, std::milli> time(milliseconds);
  if (js.queue->RunFor(time, [&js] { return js.collector.IsShort(); })) return js.collector.IsShort() ? 0 : 1;
  for (Event* event : std::exchange(js.settling, {})) js.events.Post(*event);
  return 0;
}

size_t ToBytes(double bytes) { return bytes < static_cast<double>(SIZE_MAX) ? static_cast<size_t>(bytes) : SIZE_MAX; }
size_t ToLimit(double bytes) { return bytes > 0 ? ToBytes(bytes) : SIZE_MAX; }

}  // namespace

void PostEvent::operator()() const { Post(js->events, kind, nullptr, 0); }

tandem_status* PostWhenReady(tandem_js& js, AsyncValue& value, uint32_t id) {
  // The event's own reference may be the last, and goes while the value calls it.
  const auto alive = RcRef<AsyncValue>::Share(&value);
  auto* event = new (std::nothrow) ReadyEvent(js.events, id, alive);
  if (event == nullptr) return c::ToC(Status::OutOfMemory());
  value.AndThen(*event);
  return nullptr;
}

}  // namespace tandem::js

tandem_js::tandem_js(size_t memory_limit, bool has_workers)
    : collector(memory_limit, has_workers, [this] { tandem::js::Post(events, TANDEM_JS_SHORTAGE, nullptr, 0); }) {}

tandem_js::~tandem_js() {
  collector.Close();
  ops.reset();
  if (runtime && runtime->running() != nullptr) runtime->Stop();
  for (Event* event : settling) events.Post(*event);
}

using namespace tandem::js;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

uint32_t tandem_js_version(void) { return TANDEM_JS_VERSION; }

tandem_status* tandem_js_create(int32_t num_threads, double memory_limit, double pending_limit, int32_t diagnostics,
                                int32_t exact, int32_t fuse, tandem_js** js) {
  *js = nullptr;
  if (!tandem::kHasThreads) num_threads = 0;
  std::unique_ptr<tandem_js> made(new (std::nothrow) tandem_js(ToLimit(memory_limit), num_threads > 0));
  if (made == nullptr) return tandem::c::ToC(tandem::Status::OutOfMemory());
  tandem::cpu::SetRelaxedKernels(tandem_js_relaxed_kernels());
  made->runtime = tandem::MakeRef<tandem_runtime>();
  if (!made->runtime) return tandem::c::ToC(tandem::Status::OutOfMemory());
  tandem::HostContext::Options options = MakeOptions(*made, num_threads, pending_limit, diagnostics != 0);
  options.exact = exact != 0;
  options.fuse = fuse != 0;
  TANDEM_C_RETURN_IF_ERROR(tandem::c::StartRuntime(*made->runtime, std::move(options)));
  made->collector.Attach(made->host());
  *js = made.release();
  return nullptr;
}

tandem_runtime* tandem_js_runtime(tandem_js* js) { return js->runtime.get(); }

tandem_status* tandem_js_cancel(tandem_js* js, const char* reason) {
  js->collector.Cancel();
  return tandem_runtime_cancel(js->runtime.get(), reason);
}

uint32_t tandem_js_run_tasks(tandem_js* js, double milliseconds) {
  js->host().CheckDeadlines();
  return RunTasks(*js, milliseconds);
}

void tandem_js_help_with(tandem_js* js, const tandem_tensor* tensor, double milliseconds) {
  using Clock = std::chrono::steady_clock;
  const tandem::AsyncValue& value = *tensor->handle.value().value();
  const std::chrono::duration<double, std::milli> time(milliseconds);
  const Clock::time_point until = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  const tandem::js::Collector::HelpScope scope(js->collector);
  if (scope.may_help()) js->queue->HelpWith(value, until);
}

uint32_t tandem_js_take_events(tandem_js* js, tandem_js_event* events, uint32_t capacity) {
  const size_t count = js->events.Take({events, capacity});
  // Only now: what a worker issues from here on wakes again, while a wake between a flush and Take would be lost.
  if (js->device != nullptr) js->device->Flush();
  return static_cast<uint32_t>(count);
}

tandem_status* tandem_js_on_ready(tandem_js* js, const tandem_tensor* tensor, uint32_t id) {
  return PostWhenReady(*js, *tensor->handle.value().value(), id);
}

tandem_status* tandem_js_chain_on_ready(tandem_js* js, const tandem_chain* chain, uint32_t id) {
  return PostWhenReady(*js, *chain->value.value(), id);
}

tandem_status* tandem_js_on_settled(tandem_js* js, uint32_t id) {
  auto* event = new (std::nothrow) Event(TANDEM_JS_READY, id);
  if (event == nullptr) return tandem::c::ToC(tandem::Status::OutOfMemory());
  if (!js->queue->has_workers()) {
    js->settling.push_back(event);
    js->events.Wake();
    return nullptr;
  }
  const auto settle = [js, event] {
    js->queue->Quiesce();
    js->events.Post(*event);
  };
  if (js->queue->AddBlockingTask(settle)) return nullptr;
  delete event;
  return tandem::c::ToC(tandem::ResourceExhausted("expected a thread that waits for the runtime to settle, got none"));
}

tandem_status* tandem_js_request_create(tandem_js* js, double timeout_ms, tandem_request** request) {
  const double timeout_ns = timeout_ms < 0 ? -1 : std::min(timeout_ms * 1e6, 0x1p62);
  return tandem_request_create(js->runtime.get(), static_cast<int64_t>(timeout_ns), request);
}

void tandem_js_memory(tandem_js* js, tandem_js_memory_info* info) {
  const tandem::HostAllocator::Stats stats = js->host().allocator().stats();
  const size_t limit = js->collector.limit();
  *info = {static_cast<double>(stats.bytes_in_use),        static_cast<double>(stats.peak_bytes_in_use),
           static_cast<double>(stats.bytes_cached),        static_cast<double>(stats.num_allocations),
           static_cast<double>(stats.num_cache_hits),      limit == SIZE_MAX ? 0 : static_cast<double>(limit),
           static_cast<double>(js->collector.threshold()), static_cast<double>(js->host().num_pending_ops())};
}

void tandem_js_collected(tandem_js* js, double threshold) {
  js->collector.Collected(ToBytes(std::max(threshold, 0.0)));
  if (!js->queue->has_workers()) js->events.Wake();
}

}  // extern "C"
