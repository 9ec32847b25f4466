// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CodeRunner: how code that is made at run time is run, by an environment that can.

#ifndef TANDEM_CPU_CODE_RUNNER_H_
#define TANDEM_CPU_CODE_RUNNER_H_

#include <cstdint>

namespace tandem {

// Calls "f" of the WebAssembly module of `size` bytes at `code`, which imports this program's memory as "m" "m", with
// `operands` and `n` on this thread. The module of an `id`, which is not 0, is always the same, so that a thread may
// keep its instances by that. False, and nothing was called, if the environment refuses the module.
using CodeRunner = bool (*)(uint32_t id, const uint8_t* code, uint32_t size, const void* const* operands, uint32_t n);

}  // namespace tandem

#endif  // TANDEM_CPU_CODE_RUNNER_H_
