// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A kernel whose calls change it (DI-6).
// expected: MakeKernel(closure) takes an object with one operator(), which is const

#include "tandem/kernel.h"

using namespace tandem;  // NOLINT

Kernel kernel = MakeKernel([n = 0](KernelFrame&) mutable {
  ++n;
  return Status();
});
