// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The dimensions that ops are told to work along, as every device's kernels read them once metadata has been checked.

#ifndef TANDEM_OP_AXIS_H_
#define TANDEM_OP_AXIS_H_

#include <cstdint>

#include "tandem/export.h"
#include "tandem/op_attrs.h"
#include "tandem/tensor.h"
#include "tandem/tensor_shape.h"

namespace tandem {

// The dimension, counted from 0, that a host input of one element names; a negative one counts from the end.
TANDEM_EXPORT int AxisInput(const Tensor& axis, int rank);
// The same for the attribute "axis", which is 0 if it is missing.
TANDEM_EXPORT int AxisAttr(const OpAttrsRef& attrs, int rank);
// Sets those of `marks`, one for each dimension, that a host input names.
TANDEM_EXPORT void MarkAxes(const Tensor& axes, int rank, bool* marks);
// Number of positions in the dimensions before `axis`.
TANDEM_EXPORT int64_t SizeBefore(const TensorShape& shape, int axis);

}  // namespace tandem

#endif  // TANDEM_OP_AXIS_H_
