// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Predictions: what a network makes of each digit of a set, and a file of it for comparing runs.

#ifndef TANDEM_EXAMPLES_DIGITS_PREDICTIONS_H_
#define TANDEM_EXAMPLES_DIGITS_PREDICTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "digits/digit_set.h"
#include "tandem/status.h"

namespace digits {

struct Predictions {
  std::vector<int64_t> digits;       // the likeliest of each picture
  std::vector<float> probabilities;  // [count, kNumClasses]
};

// Writes text: a line "label,predicted,p0,p1,...,p9" and below it a line for each digit of `set`, which `predictions`
// belong to. Nine significant digits give back each f32 as it was. Errors as ReplaceFile's.
tandem::Status WritePredictions(const std::string& path, const DigitSet& set, const Predictions& predictions);

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_PREDICTIONS_H_
