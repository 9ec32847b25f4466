// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// EinsumEquation: tf.Einsum's equation applied to shapes: a label for each dimension of the inputs and of the result.

#ifndef TANDEM_EINSUM_EQUATION_H_
#define TANDEM_EINSUM_EQUATION_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/export.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// The dimensions that have the same label are one and the same.
struct TANDEM_EXPORT EinsumEquation {
  static constexpr int kMaxInputs = 2;
  static constexpr int kNumLetters = 52;
  // The letters, and one for each dimension that '...' can stand for, counted from the last one.
  static constexpr int kNumLabels = kNumLetters + TensorShape::kMaxRank;

  // Of one tensor, a label for each dimension.
  struct Labels {
    int rank = 0;
    uint8_t of[TensorShape::kMaxRank];
  };

  // InvalidArgument if the equation is none, or does not fit the one or two inputs.
  static StatusOr<EinsumEquation> Parse(std::string_view equation, std::span<const TensorMetadata* const> inputs);

  Labels inputs[kMaxInputs];
  Labels output;
  // By label. A dimension of an input that '...' stands for may be 1 instead.
  int64_t sizes[kNumLabels];
};

}  // namespace tandem

#endif  // TANDEM_EINSUM_EQUATION_H_
