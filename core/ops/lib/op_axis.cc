// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/op_axis.h"

#include "tandem/metadata_function.h"

namespace tandem {

namespace {
int FromStart(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }
}  // namespace

int AxisInput(const Tensor& axis, int rank) { return FromStart(HostInput(axis.metadata(), &axis).Int(0), rank); }

int AxisAttr(const OpAttrsRef& attrs, int rank) { return FromStart(attrs.GetOr<int64_t>("axis", 0), rank); }

void MarkAxes(const Tensor& axes, int rank, bool* marks) {
  const HostInput given(axes.metadata(), &axes);
  for (int64_t i = 0; i < given.size(); ++i) marks[FromStart(given.Int(i), rank)] = true;
}

int64_t SizeBefore(const TensorShape& shape, int axis) {
  int64_t size = 1;
  for (int i = 0; i < axis; ++i) size *= shape.dim(i);
  return size;
}

}  // namespace tandem
