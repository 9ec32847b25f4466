// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Comparison of a result with what a case expects, in units in the last place (ULP) of the result's dtype.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_COMPARISON_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_COMPARISON_H_

#include <string>

#include "conformance_case.h"
#include "tandem/tensor.h"

namespace tandem::conformance {

struct Comparison {
  std::string difference;  // empty: within the tolerance
  // The largest error of an element that is not within the absolute tolerance.
  double worst_ulp = 0;
};

// `actual` is a dense or a string tensor on the host. `is_strict`: zeros must have the same sign, too.
Comparison Compare(const TensorSpec& expected, const Tensor& actual, const Tolerance& tolerance, bool is_strict);

// Whether a dense or string tensor is what `expected` says, bit for bit.
bool IsSame(const TensorSpec& expected, const Tensor& actual);

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_COMPARISON_H_
