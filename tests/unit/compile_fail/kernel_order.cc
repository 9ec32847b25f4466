// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A kernel with an argument behind those that take all the rest (DI-1).
// expected: in a kernel no parameter for an argument may follow a VariadicArgs, which takes all that are left
// remaining arguments

#include "tandem/kernel.h"

using namespace tandem;  // NOLINT

Status Wrong(VariadicArgs, DenseArg) { return Status(); }
Kernel kernel = MakeKernel<&Wrong>();
