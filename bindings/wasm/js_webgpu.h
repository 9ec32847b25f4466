// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The import behind tandem_webgpu.h.

#ifndef TANDEM_BINDINGS_WASM_JS_WEBGPU_H_
#define TANDEM_BINDINGS_WASM_JS_WEBGPU_H_

#include "tandem/webgpu/commands.h"

// What tandem_webgpu.h calls `execute`.
extern "C" void tandem_js_execute(const tandem::webgpu::Batch& batch);

#endif  // TANDEM_BINDINGS_WASM_JS_WEBGPU_H_
