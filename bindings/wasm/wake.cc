// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the module imports of us.

#include "js_runtime.h"

#ifdef __EMSCRIPTEN_PTHREADS__

// In threads_library.js: called asynchronously on the thread that loaded the module.
extern "C" void tandem_wake(void);
// On the thread that calls it.
extern "C" int tandem_run_code(uint32_t id, const uint8_t* code, uint32_t size, const void* const* operands,
                               uint32_t n);
extern "C" int tandem_run_relaxed(const tandem::cpu::RelaxedCall* call);

#else

extern "C" __attribute__((import_module("tandem"), import_name("wake"))) void tandem_wake(void);
extern "C" __attribute__((import_module("tandem"), import_name("run_code"))) int tandem_run_code(
    uint32_t id, const uint8_t* code, uint32_t size, const void* const* operands, uint32_t n);
extern "C" __attribute__((import_module("tandem"), import_name("run_relaxed"))) int tandem_run_relaxed(
    const tandem::cpu::RelaxedCall* call);

#endif

void tandem_js_wake(void) { tandem_wake(); }

bool tandem_js_run_code(uint32_t id, const uint8_t* code, uint32_t size, const void* const* operands, uint32_t n) {
  return tandem_run_code(id, code, size, operands, n) != 0;
}

tandem::cpu::RelaxedKernels tandem_js_relaxed_kernels(void) {
  // Without a call this says whether there could be one.
  if (tandem_run_relaxed(nullptr) == 0) return nullptr;
  return [](const tandem::cpu::RelaxedCall& call) { tandem_run_relaxed(&call); };
}
