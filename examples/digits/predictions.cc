// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The file of predictions, as comma-separated values.

#include "digits/predictions.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "files/regular_file.h"

namespace digits {
namespace {

// False if the system does not take all of it.
bool WriteLines(std::FILE* file, const DigitSet& set, const Predictions& predictions) {
  std::fputs("label,predicted", file);
  for (int digit = 0; digit < kNumClasses; ++digit) std::fprintf(file, ",p%d", digit);
  std::fputc('\n', file);
  for (size_t i = 0; i < set.count; ++i) {
    std::fprintf(file, "%d,%d", set.label(i), static_cast<int>(predictions.digits[i]));
    for (size_t digit = 0; digit < kNumClasses; ++digit) {
      std::fprintf(file, ",%.9g", static_cast<double>(predictions.probabilities[i * kNumClasses + digit]));
    }
    std::fputc('\n', file);
  }
  return std::ferror(file) == 0;
}

}  // namespace

tandem::Status WritePredictions(const std::string& path, const DigitSet& set, const Predictions& predictions) {
  return files::ReplaceFile(path, [&](std::FILE* file) {
    if (WriteLines(file, set, predictions)) return tandem::Status();
    return tandem::MakeError(tandem::StatusCode::kDataLoss, path,
                             ": expected to write all predictions, got: ", std::strerror(errno));
  });
}

}  // namespace digits
