// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise computation on string tensors, with broadcasting.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_STRINGS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_STRINGS_H_

#include "tandem/host_context.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem::cpu {

// For each element of `result`, to which the string tensors broadcast, `if_equal` where they are equal, else its
// opposite.
void CompareStrings(const Tensor& x, const Tensor& y, const TensorShape& result, bool if_equal, bool* out);

// A string tensor of shape `result`, to which the three broadcast: elements of `t` where the condition, a dense or
// scalar host tensor of bools, is true, else of `e`. Errors: out of memory; the condition is of another type.
StatusOr<Tensor> SelectStrings(const Tensor& condition, const Tensor& t, const Tensor& e, const TensorShape& result,
                               HostContext& host);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_STRINGS_H_
