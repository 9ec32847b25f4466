// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Matrices side by side.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_CONCAT_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_CONCAT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

// Matrices of one launch: with the result, as many buffers as every device allows.
inline constexpr size_t kMaxConcatParts = 7;

// A result of `rows` rows of `row_size` elements, and the part of it that one launch writes: matrices of these widths,
// none of them 0, from column `first` on.
struct ConcatPart {
  int64_t rows;
  int64_t row_size;
  int64_t first;
  std::span<const int64_t> widths;
};

// Of the matrices and the result. Launches for other parts of the result leave each other's alone, one after the other.
Launch ConcatProgram(const ConcatPart& part, uint32_t element_bytes, const GpuLimits& limits);

// For tests: one of each kind.
std::vector<ShaderVariant> ConcatVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_CONCAT_H_
