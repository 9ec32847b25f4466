// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a module of several parts has besides: what is in another part waits for JavaScript to load it.

#include <new>

#include "js_runtime.h"
#include "later_kernels.h"
#include "tandem/cpu/cpu_op_handler.h"

namespace {

// What cannot be kept for lack of memory is lost; a call that waits can still be cancelled.
struct PostEvent {
  tandem_js* js;
  uint32_t kind;

  void operator()() const {
    auto* event = new (std::nothrow) tandem::js::Event(kind, 0);
    if (event != nullptr) js->events.Post(*event);
  }
};

}  // namespace

extern "C" {

void tandem_js_postpone_parts(tandem_js* js) {
  js->running().cpu->Postpone(&tandem::js::LaterKernelsOf, PostEvent{js, TANDEM_JS_KERNELS});
  js->running().cpu->PostponeFuser(PostEvent{js, TANDEM_JS_FUSION});
}

void tandem_js_kernels_came(tandem_js* js) { js->running().cpu->PostponedKernelsCame(); }

void tandem_js_kernels_failed(tandem_js* js, tandem_code code, const char* message) {
  js->running().cpu->later_kernels()->Fail(tandem::Status::Error(static_cast<tandem::StatusCode>(code), message));
}

void tandem_js_fuse(tandem_js* js) { tandem::EnableCallFusion(*js->running().cpu, &tandem_js_run_code); }

}  // extern "C"
