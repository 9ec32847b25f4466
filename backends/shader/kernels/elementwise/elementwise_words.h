// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conversions from and to dtypes that a device has in buffers, but not in shaders: elements are parts of words, or two.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_WORDS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_WORDS_H_

#include <cstdint>

#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::shader {

// Complex numbers have none.
inline constexpr DTypeSet kDTypesOfWords = kRealDTypes | DTypeSet{DType::kBool};

// tf.Cast of `size` elements between any two of these. Buffers: the elements, and the result.
Launch ConvertWordsProgram(DType from, DType to, bool truncates, uint64_t size, const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_WORDS_H_
