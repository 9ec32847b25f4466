// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A kernel that returns its result without a status (DI-1).
// expected: a kernel returns Status, StatusOr<Tensor>, StatusOr<std::array<Tensor, N>> or AsyncValueRef<Tensor>

#include "tandem/kernel.h"

using namespace tandem;  // NOLINT

Tensor Wrong(const Tensor& x) { return x; }
Kernel kernel = MakeKernel<&Wrong>();
