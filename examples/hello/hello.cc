// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The smallest program: make two dense tensors, add them, print the sum; then go wrong, and see where.

#include <cstdio>

#include "tandem/ops.h"

int main() {
  auto runtime = tandem::eager::Runtime::Create();
  if (!runtime.ok()) {
    std::fprintf(stderr, "%s\n", runtime.status().ToString().c_str());
    return 1;
  }
  tandem::eager::Runtime& rt = **runtime;

  // By name, as a program file or another language would.
  const tandem::eager::Tensor lhs = rt.FromValues<float>({-1}, {1, 1});
  const tandem::eager::Tensor rhs = rt.FromValues<float>({-2}, {1, 1});
  tandem::eager::Operand operands[] = {lhs, rhs};
  const tandem::eager::Tensor sum = rt.Execute("test.add", {&operands[0], &operands[1]}, {});
  std::printf("test.add gives %s\n", sum.ToString().c_str());

  // Typed, with numbers and attributes.
  const tandem::eager::Tensor x = rt.FromValues<float>({1, 2, 3, 4}, {2, 2});
  const tandem::eager::Tensor y = add(matMul(x, x, {.transpose_b = true}), 1);
  std::printf("x * x^T + 1 = %s\n", y.ToString().c_str());

  // Errors are values. They travel with the tensors and know the line of the call that caused them.
  const tandem::eager::Tensor wrong = matMul(x, rt.FromValues<float>({1, 2, 3}, {3, 1}));
  const tandem::eager::Tensor late = relu(wrong);
  std::printf("relu of a wrong product: %s\n", late.ToString().c_str());
  return sum.Await().ok() && y.Await().ok() && !late.Await().ok() ? 0 : 1;
}
