// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the module imports of us.

#include "js_runtime.h"

#ifdef __EMSCRIPTEN_PTHREADS__

// In wake.js: called asynchronously on the thread that loaded the module.
extern "C" void tandem_wake(void);

#else

extern "C" __attribute__((import_module("tandem"), import_name("wake"))) void tandem_wake(void);

#endif

void tandem_js_wake(void) { tandem_wake(); }
