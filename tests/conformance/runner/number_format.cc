// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Rounding in exact steps of f64.

#include "number_format.h"

#include <cmath>
#include <limits>

#include "tandem/tensor_comparison.h"

namespace tandem::conformance {

bool IsFloat(DType dtype) { return kFloatDTypes.Contains(dtype) || dtype == DType::kC64; }

double RoundToDType(double value, DType dtype) {
  if (dtype == DType::kF64 || !std::isfinite(value) || value == 0) return value;
  // A power of two, by which dividing and multiplying are exact.
  const double ulp = UlpOf(value, dtype);
  const double rounded = std::nearbyint(value / ulp) * ulp;
  const int max_exponent = dtype == DType::kF16 ? 15 : 127;  // of the largest number
  const bool overflows = std::fabs(rounded) >= std::ldexp(1.0, max_exponent + 1);
  return overflows ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

}  // namespace tandem::conformance
