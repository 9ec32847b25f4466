// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op handler of the CPU: a kernel table on the host's device.

#include "tandem/cpu/cpu_op_handler.h"

#include <memory>
#include <utility>

#include "cpu_target.h"
#include "kernels/kernels.h"

namespace tandem {

namespace {

Status RegisterKernels(KernelOpHandler& handler) {
#define TANDEM_FAMILY(Name) &cpu::Register##Name##Kernels,
  // Volatile, as `tandem-rt trim` makes 0 those of which no op is wanted.
  static Status (*const volatile kFamilies[])(KernelOpHandler&) = {TANDEM_OP_FAMILIES(TANDEM_FAMILY, TANDEM_FAMILY)};
#undef TANDEM_FAMILY
  for (const auto& each : kFamilies) {
    const auto family = each;
    if (family != nullptr) TANDEM_RETURN_IF_ERROR(family(handler));
  }
  return Status();
}

}  // namespace

StatusOr<KernelOpHandler*> CreateCpuOpHandler(CoreRuntime& runtime, OpHandler* fallback) {
  TANDEM_RETURN_IF_ERROR(cpu::LimitCpuTarget());
  auto handler =
      std::make_unique<KernelOpHandler>("cpu", runtime, fallback, runtime.host().device(), KernelOpHandler::Policy());
  TANDEM_RETURN_IF_ERROR(RegisterKernels(*handler));
  return static_cast<KernelOpHandler*>(runtime.AddHandler(std::move(handler)));
}

}  // namespace tandem
