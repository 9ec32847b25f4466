// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Quantities with their units, their percentiles, and tables of them.

#ifndef TANDEM_NATIVE_TOOL_QUANTITIES_H_
#define TANDEM_NATIVE_TOOL_QUANTITIES_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tool/console.h"

namespace tandem::tool {

// Three digits and a unit: "12.3 us", "950 ms", "61.0 s".
std::string FormatDuration(double seconds);

// Three digits: "950", "12.3k", "1.23M".
std::string FormatCount(double count);

// The least of the values, which are sorted and not none, that `percent` of them do not exceed.
double Percentile(std::span<const double> sorted, double percent);

// Rows of cells in columns that are as wide as their widest cell, the first one a heading. Columns from `first_right`
// on are aligned to the right, as numbers are.
std::string FormatTable(const Console& console, const std::vector<std::vector<std::string>>& rows, size_t first_right);

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_QUANTITIES_H_
