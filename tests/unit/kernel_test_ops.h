// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op "t.Op" of tests of kernels, and short ways to give and to read its results.

#ifndef TANDEM_TESTS_UNIT_KERNEL_TEST_OPS_H_
#define TANDEM_TESTS_UNIT_KERNEL_TEST_OPS_H_

#include <utility>

#include "tandem/host_tensors.h"
#include "tandem/kernel.h"
#include "test_runtime.h"

namespace tandem {

// Defines "t.Op" with float inputs and outputs, without a metadata function.
inline void DefineOp(TestRuntime& rt, int num_inputs, int num_outputs, Kernel kernel) {
  OpDefBuilder builder("t.Op");
  for (int i = 0; i < num_inputs; ++i) builder.Input(TextOf("x", i, ": float"));
  for (int i = 0; i < num_outputs; ++i) builder.Output(TextOf("y", i, ": float"));
  rt.Define(builder, std::move(kernel));
}

inline float First(const Tensor& tensor) { return DenseData<float>(tensor)[0]; }

inline StatusOr<Tensor> Identity(const Tensor& x) { return x; }

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_KERNEL_TEST_OPS_H_
