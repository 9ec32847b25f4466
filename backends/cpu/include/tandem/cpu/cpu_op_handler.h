// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op handler of the CPU.

#ifndef TANDEM_CPU_CPU_OP_HANDLER_H_
#define TANDEM_CPU_CPU_OP_HANDLER_H_

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/status.h"

namespace tandem {

// Makes the handler "cpu" with all CPU kernels and adds it to `runtime`, falling back to `fallback` (null: the null
// handler). Its tensors live on the host's device. Kernels use the best instruction set that the processor has, or the
// one that TANDEM_CPU_TARGET in the environment names, for tests: "scalar", "avx2", "avx512" and so on; NotFound if
// this machine or build lacks it, InvalidArgument if nothing is called so, and the error says what there is.
TANDEM_EXPORT StatusOr<KernelOpHandler*> CreateCpuOpHandler(CoreRuntime& runtime, OpHandler* fallback = nullptr);

}  // namespace tandem

#endif  // TANDEM_CPU_CPU_OP_HANDLER_H_
