// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Minimise: a smaller call that fails as another does.

#ifndef TANDEM_TESTS_FUZZ_MINIMISE_H_
#define TANDEM_TESTS_FUZZ_MINIMISE_H_

#include "call.h"

namespace tandem::fuzz {

// Leaves out and makes smaller what can be while the call still fails, crashes or hangs; each try is a process.
Call Minimise(const Call& call);

}  // namespace tandem::fuzz

#endif  // TANDEM_TESTS_FUZZ_MINIMISE_H_
