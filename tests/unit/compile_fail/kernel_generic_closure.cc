// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A kernel that does not say what it takes (DI-1).
// expected: MakeKernel(closure) takes an object with one operator(), which is const

#include "tandem/kernel.h"

using namespace tandem;  // NOLINT

Kernel kernel = MakeKernel([](auto&) { return Status(); });
