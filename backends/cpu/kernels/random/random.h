// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the random family.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_RANDOM_RANDOM_H_
#define TANDEM_BACKENDS_CPU_KERNELS_RANDOM_RANDOM_H_

#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

// Kernels of Multinomial and StatelessMultinomial.
Status RegisterMultinomialKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_RANDOM_RANDOM_H_
