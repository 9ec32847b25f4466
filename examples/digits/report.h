// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Says how well a network reads digits: a confusion table, and pictures of what it got wrong.

#ifndef TANDEM_EXAMPLES_DIGITS_REPORT_H_
#define TANDEM_EXAMPLES_DIGITS_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "digits/digit_set.h"

namespace digits {

// Counts how often each digit was read as which.
class ConfusionTable {
 public:
  // Both in [0, 9].
  void Add(int label, int predicted) { ++counts_[label][predicted]; }

  uint64_t total() const;
  uint64_t correct() const;
  // Correct over total; 0 if nothing was added.
  double Accuracy() const;

  // A row for each true digit, a column for each predicted one, and the accuracy at the end of the row ("-" for a digit
  // that did not occur); zeros are shown as dots.
  std::string ToString() const;

 private:
  uint64_t counts_[kNumClasses][kNumClasses] = {};
};

// A wrong answer about image `index` of a set.
struct Misread {
  size_t index;
  int predicted;
};

// Draws the misread digits of `set` side by side, wrapped into `width` columns, each over "5 read as 3": in Braille
// dots if `unicode`, otherwise in ASCII shades. Images beyond 28x28 are shrunk to that.
std::string DrawMisreads(const DigitSet& set, std::span<const Misread> misreads, int width, bool unicode);

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_REPORT_H_
