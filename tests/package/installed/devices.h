// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's own handlers, queue, storage and values.

#ifndef SMOOTH_DEVICES_H_
#define SMOOTH_DEVICES_H_

#include "tandem/core_runtime.h"

// Derives from each class of Tandem that is there to be derived from, and uses what it made; throws where a result is
// not what it should be.
void RunOnDevices(tandem::CoreRuntime& runtime);

#endif  // SMOOTH_DEVICES_H_
