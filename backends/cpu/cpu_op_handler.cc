// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op handler of the CPU: a kernel table on the host's device.

#include "tandem/cpu/cpu_op_handler.h"

#include <memory>
#include <utility>

#include "kernels/kernels.h"

namespace tandem {

namespace {

Status RegisterKernels(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(cpu::RegisterConversionKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterConvolutionKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterCreationKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterElementwiseKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterImageKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterIndexingKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterLinalgKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterNnKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterNormalizationKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterPoolingKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterRandomKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterReductionKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterScanKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterShapeKernels(handler));
  TANDEM_RETURN_IF_ERROR(cpu::RegisterSideEffectKernels(handler));
  return cpu::RegisterTestKernels(handler);
}

}  // namespace

StatusOr<KernelOpHandler*> CreateCpuOpHandler(CoreRuntime& runtime, OpHandler* fallback) {
  auto handler =
      std::make_unique<KernelOpHandler>("cpu", runtime, fallback, runtime.host().device(), KernelOpHandler::Policy());
  TANDEM_RETURN_IF_ERROR(RegisterKernels(*handler));
  return static_cast<KernelOpHandler*>(runtime.AddHandler(std::move(handler)));
}

}  // namespace tandem
