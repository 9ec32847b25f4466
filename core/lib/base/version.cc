// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The version that the library was built as.

#include "tandem/version.h"

namespace tandem {

const char* Version() { return TANDEM_VERSION_STRING; }

}  // namespace tandem
