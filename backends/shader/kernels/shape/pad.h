// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors surrounded by zeros, by a value or by their mirror images.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_PAD_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_PAD_H_

#include <cstdint>
#include <vector>

#include "tandem/metadata_function.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"
#include "tandem/tensor_shape.h"

namespace tandem::shader {

enum class PadMode : uint8_t {
  kZero,
  kValue,      // the one element of the second buffer
  kReflect,    // mirrored at the elements of an edge
  kSymmetric,  // mirrored between these and the padding
};

// Of the input, the value with kValue, and the result. `paddings` as in tf.Pad, already checked.
Launch PadProgram(PadMode mode, const TensorShape& in, const TensorShape& out, const HostInput& paddings,
                  uint32_t element_bytes, const GpuLimits& limits);

// For tests: one of each kind.
std::vector<ShaderVariant> PadVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_PAD_H_
