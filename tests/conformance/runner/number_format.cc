// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Formats are given by precision and exponent range; everything follows from these, in exact steps of f64.

#include "number_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::conformance {
namespace {

struct Format {
  int precision;     // bits of the significand, with the leading one
  int min_exponent;  // of the smallest normal number
  int max_exponent;  // of the largest one
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {11, -14, 15};
    case DType::kBF16:
      return {8, -126, 127};
    case DType::kF64:
      return {53, -1022, 1023};
    default:
      return {24, -126, 127};
  }
}

// The exponent of the last bit of a number like `value`, which is finite and not 0.
int LastBit(double value, const Format& format) {
  return std::max(std::ilogb(value), format.min_exponent) - (format.precision - 1);
}

}  // namespace

bool IsFloat(DType dtype) { return kFloatDTypes.Contains(dtype) || dtype == DType::kC64; }

double RoundToDType(double value, DType dtype) {
  if (dtype == DType::kF64 || !std::isfinite(value) || value == 0) return value;
  const Format format = FormatOf(dtype);
  const int last_bit = LastBit(value, format);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last_bit)), last_bit);
  const bool overflows = std::fabs(rounded) >= std::ldexp(1.0, format.max_exponent + 1);
  return overflows ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

double UlpOf(double value, DType dtype) {
  if (!IsFloat(dtype)) return 1;
  const Format format = FormatOf(dtype);
  return std::ldexp(1.0, value == 0 ? format.min_exponent - (format.precision - 1) : LastBit(value, format));
}

}  // namespace tandem::conformance
