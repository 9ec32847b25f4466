// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ShortestText: std::to_chars of a floating-point number without its tables, which are 100 KB in a WebAssembly module.

#ifndef TANDEM_CORE_LIB_BASE_SHORTEST_TEXT_H_
#define TANDEM_CORE_LIB_BASE_SHORTEST_TEXT_H_

namespace tandem::internal {

inline constexpr int kMaxShortestText = 40;

// Writes the shortest text that reads back as `value`, which must be finite: what std::to_chars writes, with a power of
// ten only where that is shorter. `to` has room for kMaxShortestText characters. Gives the end of the text.
char* ShortestText(double value, char* to);
char* ShortestText(float value, char* to);

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_BASE_SHORTEST_TEXT_H_
