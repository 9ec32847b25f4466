// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The floating-point formats of dtypes: which they are, and rounding to them.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_NUMBER_FORMAT_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_NUMBER_FORMAT_H_

#include "tandem/dtype.h"

namespace tandem::conformance {

// Whether elements are floating-point numbers, or pairs of them.
bool IsFloat(DType dtype);

// `value` rounded once to a dtype that IsFloat (c64: to a part of it), to nearest, halves to even; infinite beyond the
// largest finite number.
double RoundToDType(double value, DType dtype);

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_NUMBER_FORMAT_H_
