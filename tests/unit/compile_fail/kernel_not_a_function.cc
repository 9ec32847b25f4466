// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A kernel that is none (DI-1).
// expected: MakeKernel<&F>() takes a plain function F

#include "tandem/kernel.h"

using namespace tandem;  // NOLINT

int wrong = 0;
Kernel kernel = MakeKernel<&wrong>();
