// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the shape family, a file each, and what they share.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_SHAPE_KERNELS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_SHAPE_KERNELS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/shape/strided_copy.h"
#include "tandem/shader/shader_call.h"
#include "tandem/shader/shader_op_handler.h"
#include "tandem/status.h"
#include "tandem/tensor_shape.h"

namespace tandem::shader {

Status RegisterShapeBatchKernels(ShaderOpHandler& handler);
Status RegisterShapePartKernels(ShaderOpHandler& handler);
Status RegisterShapeSliceKernels(ShaderOpHandler& handler);

// Distances between neighbours along each dimension.
struct RowMajorStrides {
  explicit RowMajorStrides(const TensorShape& shape) {
    int64_t stride = 1;
    for (int i = shape.rank(); i-- > 0;) {
      values[i] = stride;
      stride *= std::max<int64_t>(shape.dim(i), 1);
    }
  }
  int64_t operator[](int i) const { return values[i]; }

  int64_t values[TensorShape::kMaxRank];
};

// Result `i` becomes the copy of argument `arg`: by sharing its buffer, by copying bytes or by a launch.
void CopyArgument(ShaderCall& call, const KernelFrame& frame, size_t arg, size_t i, const StridedCopy& copy);

// The only result is argument 0 with another shape.
Status ShareArgument(KernelFrame& frame);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_SHAPE_KERNELS_H_
