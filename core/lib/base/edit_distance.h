// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// EditDistance: how many slips lie between two names, for errors that ask "did you mean".

#ifndef TANDEM_CORE_LIB_BASE_EDIT_DISTANCE_H_
#define TANDEM_CORE_LIB_BASE_EDIT_DISTANCE_H_

#include <cstddef>
#include <string_view>

namespace tandem::internal {

// The length, in characters, of the longest name that is compared.
inline constexpr size_t kMaxCompared = 64;

// Optimal string alignment distance (insertions, deletions, substitutions, swaps of neighbours), ignoring case. Both
// have at most kMaxCompared characters.
int EditDistance(std::string_view a, std::string_view b);

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_BASE_EDIT_DISTANCE_H_
