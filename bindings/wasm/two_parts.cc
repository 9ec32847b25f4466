// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a module of two parts has besides: the kernels of the second one wait for JavaScript to load it.

#include <new>

#include "js_runtime.h"
#include "later_kernels.h"

extern "C" {

void tandem_js_postpone_kernels(tandem_js* js) {
  js->running().cpu->Postpone(&tandem::js::LaterKernelsOf, [js] {
    // What cannot be kept for lack of memory is lost; the call that waits can still be cancelled.
    auto* event = new (std::nothrow) tandem::js::Event(TANDEM_JS_KERNELS, 0);
    if (event != nullptr) js->events.Post(*event);
  });
}

void tandem_js_kernels_came(tandem_js* js) { js->running().cpu->PostponedKernelsCame(); }

void tandem_js_kernels_failed(tandem_js* js, tandem_code code, const char* message) {
  js->running().cpu->later_kernels()->Fail(tandem::Status::Error(static_cast<tandem::StatusCode>(code), message));
}

}  // extern "C"
