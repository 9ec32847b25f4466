// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a stranger's program can ask of the types of Tandem's objects.

#ifndef SMOOTH_CASTS_H_
#define SMOOTH_CASTS_H_

#include "tandem/core_runtime.h"

// Throws where an answer is wrong; `runtime` has the CPU and all ops.
void CheckCasts(tandem::CoreRuntime& runtime);

#endif  // SMOOTH_CASTS_H_
