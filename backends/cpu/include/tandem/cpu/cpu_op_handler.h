// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op handler of the CPU.

#ifndef TANDEM_CPU_CPU_OP_HANDLER_H_
#define TANDEM_CPU_CPU_OP_HANDLER_H_

#include "tandem/core_runtime.h"
#include "tandem/cpu/code_runner.h"
#include "tandem/export.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/status.h"

namespace tandem {

// Makes the handler "cpu" with all CPU kernels and adds it to `runtime`, falling back to `fallback` (null: the null
// handler). Its tensors live on the host's device. Kernels use the best instruction set that the processor has, or the
// one that TANDEM_CPU_TARGET in the environment names, for tests: "scalar", "avx2", "avx512" and so on; NotFound if
// this machine or build lacks it, InvalidArgument if nothing is called so, and the error says what there is.
TANDEM_EXPORT StatusOr<KernelOpHandler*> CreateCpuOpHandler(CoreRuntime& runtime, OpHandler* fallback = nullptr);

// Has programs that are prepared from now on compute element-wise ops that follow each other as one, on a handler of
// CreateCpuOpHandler. Only builds for small modules (TANDEM_SMALL) need to be told: nothing but this function refers to
// the code that does it. `runner`, where there is one, runs WebAssembly that is made for chains of ops. Not while
// another thread prepares a program.
TANDEM_EXPORT void EnableProgramFusion(KernelOpHandler& cpu, CodeRunner runner = nullptr);
// The same for calls that wait for each other, too (PR-6), from now on: what KernelOpHandler::PostponeFuser is followed
// by. Other threads may be calling.
TANDEM_EXPORT void EnableCallFusion(KernelOpHandler& cpu, CodeRunner runner = nullptr);

}  // namespace tandem

#endif  // TANDEM_CPU_CPU_OP_HANDLER_H_
