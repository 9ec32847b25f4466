// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Filling a buffer with one value.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_CREATION_FILL_WORDS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_CREATION_FILL_WORDS_H_

#include <array>
#include <cstdint>

#include "tandem/shader/launch.h"
#include "tandem/tensor.h"

namespace tandem::shader {

// Writes `pattern` to the only buffer, `words` words, again and again.
Launch FillWordsProgram(uint64_t words, std::array<uint32_t, 2> pattern, const GpuLimits& limits);

// Writes the only element of the first buffer to every place of the second, a tensor of `result`, of any fixed-size
// dtype.
Launch FillProgram(const TensorMetadata& result, const GpuLimits& limits);

// Words of a tensor's buffer.
uint64_t WordsOf(const TensorMetadata& metadata);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_CREATION_FILL_WORDS_H_
