// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where the network runs.

#ifndef TANDEM_EXAMPLES_DIGITS_DEVICE_H_
#define TANDEM_EXAMPLES_DIGITS_DEVICE_H_

#include <string>

#include "tandem/eager.h"

namespace digits {

// Has the runtime's ops run on `device`: "cpu", or "vulkan" or "cuda", a GPU. Unimplemented if this program was built
// without that, otherwise what the machine lacks.
tandem::Status UseDevice(tandem::eager::Runtime& runtime, const std::string& device);

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_DEVICE_H_
