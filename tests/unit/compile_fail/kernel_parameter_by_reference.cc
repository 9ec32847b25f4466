// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A kernel that takes its argument by reference (DI-1).
// expected: a kernel takes DenseArg, DeviceArg, HostInput, const Tensor&, VariadicArgs, const OpAttrsRef&,

#include "tandem/kernel.h"

using namespace tandem;  // NOLINT

Kernel kernel = MakeKernel([](const DenseArg&, KernelFrame&) { return Status(); });
