// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where windows lie on an image: padding and output size, with every number checked.

#include "tandem/window_geometry.h"

#include <algorithm>
#include <span>

#include "window_padding.h"

namespace tandem {
namespace {

// What a shape may have at most; leaves room to add numbers of this size.
constexpr int64_t kMaxSize = INT64_MAX / 8;

Status DescribeAxis(std::string_view problem, std::string_view name, const WindowAxis& axis) {
  return InvalidArgument(problem, ", got ", name, " of input: ", axis.input, ", window: ", axis.window,
                         ", stride: ", axis.stride, ", dilation: ", axis.dilation, ", padding: ", axis.pad_before,
                         " + ", axis.pad_after);
}

// The distance from the first element of a window to the last is at most kMaxSize.
bool IsExtentInRange(const WindowAxis& axis) {
  int64_t distance;
  return !__builtin_mul_overflow(axis.window - 1, axis.dilation, &distance) && distance < kMaxSize;
}

}  // namespace

Status ComputeWindow(PaddingKind padding, std::string_view name, WindowAxis& axis) {
  if (padding != PaddingKind::kExplicit) axis.pad_before = axis.pad_after = 0;
  if (axis.window < 1 || axis.stride < 1 || axis.dilation < 1 || axis.input < 0 || axis.pad_before < 0 ||
      axis.pad_after < 0) {
    return DescribeAxis("window, stride and dilation must be positive, and sizes not negative", name, axis);
  }
  if (axis.input > kMaxSize || axis.pad_before > kMaxSize || axis.pad_after > kMaxSize || axis.stride > kMaxSize ||
      !IsExtentInRange(axis)) {
    return DescribeAxis("window is out of range", name, axis);
  }
  const int64_t extent = axis.extent();
  if (padding == PaddingKind::kSame) {
    axis.output = axis.input / axis.stride + (axis.input % axis.stride != 0);
    const int64_t last = axis.output == 0 ? 0 : (axis.output - 1) * axis.stride;  // below input
    const int64_t needed = std::max<int64_t>(0, last + extent - axis.input);
    axis.pad_before = needed / 2;
    axis.pad_after = needed - axis.pad_before;
    return Status();
  }
  axis.output = (axis.input + axis.pad_before + axis.pad_after - extent + axis.stride) / axis.stride;
  if (axis.output < 0) return DescribeAxis("window must not be larger than the padded input", name, axis);
  return Status();
}

StatusOr<std::array<int64_t, 2>> ReadSpatialAttr(const OpAttrsRef& attrs, std::string_view name, bool channels_first) {
  std::span<const int64_t> list;
  attrs.GetArray(name, &list);
  if (list.size() != 4) return InvalidArgument(name, " must have four elements, got ", name, ": ", list);
  const int64_t channels = list[channels_first ? 1 : 3];
  const std::array<int64_t, 2> spatial = {list[channels_first ? 2 : 1], list[channels_first ? 3 : 2]};
  if (list[0] != 1 || channels != 1) {
    return InvalidArgument(name, " must be 1 for batch and channels, got ", name, ": ", list);
  }
  if (spatial[0] < 1 || spatial[1] < 1) {
    return InvalidArgument(name, " must be at least 1, got ", name, ": ", list);
  }
  return spatial;
}

StatusOr<WindowAttrs> ReadWindowAttrs(const OpAttrsRef& attrs) {
  WindowAttrs result;
  result.channels_first = attrs.GetOr<std::string_view>("data_format", "NHWC") == "NCHW";
  TANDEM_ASSIGN_OR_RETURN(result.strides, ReadSpatialAttr(attrs, "strides", result.channels_first));
  if (attrs.Find("dilations") != nullptr) {
    TANDEM_ASSIGN_OR_RETURN(result.dilations, ReadSpatialAttr(attrs, "dilations", result.channels_first));
  }
  TANDEM_ASSIGN_OR_RETURN(result.padding, ReadPadding(attrs, result.channels_first, result.explicit_paddings));
  return result;
}

StatusOr<WindowGeometry> MakeWindowGeometry(const WindowAttrs& attrs, const TensorShape& image, int64_t window_rows,
                                            int64_t window_cols) {
  WindowGeometry result;
  result.rows = {image.dim(attrs.row_axis()),
                 window_rows,
                 attrs.strides[0],
                 attrs.dilations[0],
                 attrs.explicit_paddings[0][0],
                 attrs.explicit_paddings[0][1],
                 0};
  result.cols = {image.dim(attrs.col_axis()),
                 window_cols,
                 attrs.strides[1],
                 attrs.dilations[1],
                 attrs.explicit_paddings[1][0],
                 attrs.explicit_paddings[1][1],
                 0};
  TANDEM_RETURN_IF_ERROR(ComputeWindow(attrs.padding, "rows", result.rows));
  TANDEM_RETURN_IF_ERROR(ComputeWindow(attrs.padding, "columns", result.cols));
  return result;
}

}  // namespace tandem
