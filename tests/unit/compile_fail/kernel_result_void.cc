// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A kernel that returns nothing (DI-1).
// expected: a kernel returns Status, StatusOr<Tensor>, StatusOr<std::array<Tensor, N>> or AsyncValueRef<Tensor>

#include "tandem/kernel.h"

using namespace tandem;  // NOLINT

Kernel kernel = MakeKernel([](KernelFrame&) {});
