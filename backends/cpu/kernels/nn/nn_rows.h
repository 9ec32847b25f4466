// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The rows of the gradients of activations.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_NN_NN_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_NN_NN_ROWS_H_

#include "kernels/elementwise/elementwise_rows.h"

namespace tandem::cpu {

// For the best instruction set of this machine.
RowTable GradientRows();

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_NN_NN_ROWS_H_
