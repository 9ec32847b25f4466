// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Text of numbers in ASCII.

#include "tool/quantities.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tandem::tool {

namespace {

// With three digits, if it is below 1000.
std::string ThreeDigits(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
  return text;
}

}  // namespace

std::string FormatDuration(double seconds) {
  constexpr struct {
    double limit, scale;
    const char* unit;
  } kUnits[] = {{999.5e-9, 1e9, " ns"}, {999.5e-6, 1e6, " us"}, {999.5e-3, 1e3, " ms"}};
  for (const auto& unit : kUnits) {
    if (seconds < unit.limit) return ThreeDigits(seconds * unit.scale) + unit.unit;
  }
  return ThreeDigits(seconds) + " s";
}

std::string FormatCount(double count) {
  if (count >= 999.5e6) return ThreeDigits(count * 1e-9) + "G";
  if (count >= 999.5e3) return ThreeDigits(count * 1e-6) + "M";
  if (count >= 999.5) return ThreeDigits(count * 1e-3) + "k";
  return ThreeDigits(count);
}

double Percentile(std::span<const double> sorted, double percent) {
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

std::string FormatTable(const Console& console, const std::vector<std::vector<std::string>>& rows, size_t first_right) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += i < first_right ? row[i] + padding : padding + row[i];
    }
    line.resize(line.find_last_not_of(' ') + 1);
    table += (&row == rows.data() ? console.Bold(line) : line) + "\n";
  }
  return table;
}

}  // namespace tandem::tool
