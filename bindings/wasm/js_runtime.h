// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What stands behind tandem_js, and what it imports.

#ifndef TANDEM_BINDINGS_WASM_JS_RUNTIME_H_
#define TANDEM_BINDINGS_WASM_JS_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "collector.h"
#include "event_loop_queue.h"
#include "events.h"
#include "objects.h"
#include "relaxed/relaxed_calls.h"
#include "tandem_js.h"

// What tandem_js.h calls `wake()`.
extern "C" void tandem_js_wake(void);
// A tandem::CodeRunner.
extern "C" bool tandem_js_run_code(uint32_t id, const uint8_t* code, uint32_t size, const void* const* operands,
                                   uint32_t n);
// Null: the environment has no relaxed SIMD.
tandem::cpu::RelaxedKernels tandem_js_relaxed_kernels(void);

namespace tandem::js {

// A device of the runtime besides the CPU.
class JsDevice {
 public:
  virtual ~JsDevice() = default;
  // Hands over what has been issued. Called by tandem_js_take_events, when whoever issues more wakes JavaScript again.
  virtual void Flush() = 0;
};

// What a runtime keeps for functions that are not part of every module.
class JsPart {
 public:
  virtual ~JsPart() = default;
};

// Has a TANDEM_JS_READY with this id posted once the value is available or an error.
tandem_status* PostWhenReady(tandem_js& js, AsyncValue& value, uint32_t id);

// Posts an event of its kind, on any thread. What cannot be kept for lack of memory is lost.
struct PostEvent {
  tandem_js* js;
  uint32_t kind;

  void operator()() const;
};

// Has programs that are prepared from now on fuse ops, on all devices: a module's own function, of js_cpu.cc or
// js_webgpu.cc. Called for programs alone, with which the code that it refers to is loaded.
void EnableProgramFusion(tandem_js& js);
// The same for calls, once the part of fusion is loaded.
void EnableCallFusion(tandem_js& js);

}  // namespace tandem::js

struct tandem_js {
  tandem_js(size_t memory_limit, bool has_workers);
  ~tandem_js();

  tandem::HostContext& host() { return runtime->running()->host(); }
  tandem::c::Running& running() { return *runtime->running(); }

  tandem::js::EventList events{&tandem_js_wake};
  tandem::js::Collector collector;
  tandem::js::EventLoopQueue* queue = nullptr;
  std::unique_ptr<tandem::js::JsDevice> device;  // null: none
  std::unique_ptr<tandem::js::JsPart> ops;       // of js_ops.cc; null: none; ends before the runtime
  tandem::RcRef<tandem_runtime> runtime;
  // Waits for the queue to be empty, where there are no workers.
  std::vector<tandem::js::Event*> settling;
};

#endif  // TANDEM_BINDINGS_WASM_JS_RUNTIME_H_
