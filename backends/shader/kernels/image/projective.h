// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ImageProjectiveTransformV3, with every step in f32 rounded as the CPU does.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_IMAGE_PROJECTIVE_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_IMAGE_PROJECTIVE_H_

#include <vector>

#include "tandem/dtype.h"
#include "tandem/op_attrs.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"
#include "tandem/tensor.h"

namespace tandem::shader {

inline constexpr DTypeSet kProjectiveDTypes = kFloatDTypes | DTypeSet{DType::kU8, DType::kI32, DType::kI64};

// Buffers: images, transforms, the value beyond the images, the result. `attrs` are the op's.
Launch ProjectiveProgram(const TensorMetadata& images, const TensorShape& transforms, const TensorShape& result,
                         const OpAttrsRef& attrs, const GpuLimits& limits);

// For tests: one of each kind.
std::vector<ShaderVariant> ProjectiveVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_IMAGE_PROJECTIVE_H_
