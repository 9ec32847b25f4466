// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a module of several parts has besides: what is in another part waits for JavaScript to load it.

#include "js_runtime.h"
#include "later_kernels.h"
#include "tandem/cpu/cpu_op_handler.h"

using tandem::js::PostEvent;

extern "C" {

void tandem_js_postpone_parts(tandem_js* js) {
  js->running().cpu->Postpone(&tandem::js::LaterKernelsOf, PostEvent{js, TANDEM_JS_KERNELS});
  js->running().cpu->PostponeFuser(PostEvent{js, TANDEM_JS_FUSION});
}

void tandem_js_kernels_came(tandem_js* js) { js->running().cpu->PostponedKernelsCame(); }

void tandem_js_kernels_failed(tandem_js* js, tandem_code code, const char* message) {
  js->running().cpu->later_kernels()->Fail(tandem::Status::Error(static_cast<tandem::StatusCode>(code), message));
}

void tandem_js_fuse(tandem_js* js) { tandem::js::EnableCallFusion(*js); }

}  // extern "C"
