// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What runs WebAssembly that is made at run time, in tests that are WebAssembly themselves.

#ifndef TANDEM_TESTS_UNIT_CODE_RUNNER_H_
#define TANDEM_TESTS_UNIT_CODE_RUNNER_H_

#include "tandem/cpu/code_runner.h"

namespace tandem {

// Null natively.
CodeRunner TestCodeRunner();
// Calls of it so far, on all threads.
int NumCodeRuns();

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_CODE_RUNNER_H_
