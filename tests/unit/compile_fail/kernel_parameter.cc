// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A kernel that takes a pointer (DI-1).
// expected: a kernel takes DenseArg, DeviceArg, HostInput, const Tensor&, VariadicArgs, const OpAttrsRef&,

#include "tandem/kernel.h"

using namespace tandem;  // NOLINT

Status Wrong(DenseArg, const float*) { return Status(); }
Kernel kernel = MakeKernel<&Wrong>();
