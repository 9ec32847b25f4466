// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Merging the moments of parts of a set of numbers, after Chan, Golub and LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances" (1979).

#ifndef TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_MOMENTS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_MOMENTS_H_

#include <cstdint>

namespace tandem::cpu {

struct Moments {
  double mean = 0;
  double squares = 0;  // the sum of the squares of the differences from the mean
};

// The weights with which the moments of `added` further numbers join those of `count`; not both are 0.
struct MomentsMerge {
  MomentsMerge(int64_t count, int64_t added)
      : kept(static_cast<double>(count) / static_cast<double>(count + added)),
        joined(static_cast<double>(added) / static_cast<double>(count + added)),
        between(kept * static_cast<double>(added)) {}

  void Merge(double mean, double squares, Moments& moments) const {
    const double difference = mean - moments.mean;
    moments.squares += squares + difference * difference * between;
    moments.mean = moments.mean * kept + mean * joined;
  }

  double kept;
  double joined;
  double between;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_NORMALIZATION_NORMALIZATION_MOMENTS_H_
