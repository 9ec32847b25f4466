// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reads digits in MNIST's IDX format, plain or packed with gzip.

#ifndef TANDEM_EXAMPLES_DIGITS_IDX_FILE_H_
#define TANDEM_EXAMPLES_DIGITS_IDX_FILE_H_

#include <string>

#include "digits/digit_set.h"
#include "tandem/status.h"

namespace digits {

// An IDX file is two zero bytes, an element type (0x08 is u8), a rank, `rank` big-endian u32 dimensions, then the
// elements. These functions trust nothing in it: every error names the file, the byte, what was expected and what was
// given. Codes: not found for a missing file, data loss for damaged or unfitting content, resource exhausted when
// memory for the (checked) size cannot be had. Memory use is bounded by what the file can hold, at most 1032 times
// its size if it is packed. Thread-safe.

// Images u8 [n,rows,cols] with no dimension 0, and labels u8 [n] in [0, 9].
tandem::StatusOr<DigitSet> ReadDigits(const std::string& images_path, const std::string& labels_path);

struct DigitFolder {
  DigitSet train;
  DigitSet test;
};

// Reads train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k from `folder`, each plain or with
// ".gz" (the plain one if both are there). Both sets must have images of one size.
tandem::StatusOr<DigitFolder> ReadDigitFolder(const std::string& folder);

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_IDX_FILE_H_
