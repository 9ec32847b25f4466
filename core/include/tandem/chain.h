// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Chain: a value without content that orders side effects: an op that takes a chain starts after what it stands for.

#ifndef TANDEM_CHAIN_H_
#define TANDEM_CHAIN_H_

#include "tandem/async_value.h"
#include "tandem/export.h"

namespace tandem {

struct TANDEM_EXPORT Chain {};

// A chain that is already resolved.
inline AsyncValueRef<Chain> MakeReadyChain() { return AsyncValueRef<Chain>::MakeAvailable(); }

}  // namespace tandem

#endif  // TANDEM_CHAIN_H_
