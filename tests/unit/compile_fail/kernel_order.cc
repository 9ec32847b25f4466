// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A kernel with an argument behind those that take all the rest (DI-1).
// expected: in a kernel no DenseArg, const Tensor& or second VariadicArgs may follow a VariadicArgs, which takes all
// remaining arguments

#include "tandem/kernel.h"

using namespace tandem;  // NOLINT

Status Wrong(VariadicArgs, DenseArg) { return Status(); }
Kernel kernel = MakeKernel<&Wrong>();
