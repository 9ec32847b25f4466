// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// WindowGeometry: where the windows of convolutions and pooling lie on an image; shared by the metadata functions and
// the kernels of every device.

#ifndef TANDEM_WINDOW_GEOMETRY_H_
#define TANDEM_WINDOW_GEOMETRY_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "tandem/export.h"
#include "tandem/op_attrs.h"
#include "tandem/status.h"
#include "tandem/tensor_shape.h"

namespace tandem {

enum class PaddingKind : uint8_t { kValid, kSame, kExplicit };

// A window that moves along one dimension. Output element o sees the input elements
// o * stride + w * dilation - pad_before for w in [0, window), where these lie in [0, input).
struct WindowAxis {
  int64_t input = 0;
  int64_t window = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_before = 0;
  int64_t pad_after = 0;
  int64_t output = 0;

  // From the first element that a window sees to the last, both included.
  int64_t extent() const { return (window - 1) * dilation + 1; }
};

// Fills in pad_before, pad_after and output from the other members; with kExplicit the paddings are given. As in
// TensorFlow: 'SAME' gives input / stride rounded up and puts the odd padding element behind; the others give
// (input + padding - extent + stride) / stride, rounded towards 0.
//
// InvalidArgument, calling the dimension `name` ("rows"), if the window, stride or dilation is below 1, the input or
// an explicit padding negative, the output would be negative, or a number overflows. Once it succeeded, any index
// of the input that a window can name fits in int64_t.
TANDEM_EXPORT Status ComputeWindow(PaddingKind padding, std::string_view name, WindowAxis& axis);

// What the attributes of an op with windows of two dimensions say: strides, dilations, padding, explicit_paddings and
// data_format, of which an op may lack any but strides and padding.
struct WindowAttrs {
  bool channels_first = false;  // data_format is 'NCHW'
  PaddingKind padding = PaddingKind::kValid;
  // Rows, then columns.
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 2> dilations = {1, 1};
  std::array<std::array<int64_t, 2>, 2> explicit_paddings = {};  // before, after

  // The dimensions of an image.
  int channel_axis() const { return channels_first ? 1 : 3; }
  int row_axis() const { return channels_first ? 2 : 1; }
  int col_axis() const { return channels_first ? 3 : 2; }
};

// InvalidArgument, naming the attribute, if a list has not one number for each of the four dimensions (two for
// explicit_paddings, which must be empty unless padding is 'EXPLICIT'), a stride or dilation is below 1, a padding is
// negative, or one of them is for batch or channels.
TANDEM_EXPORT StatusOr<WindowAttrs> ReadWindowAttrs(const OpAttrsRef& attrs);

// Four numbers, of which those for batch and channels must be 1 and the others at least 1: {rows, columns}.
TANDEM_EXPORT StatusOr<std::array<int64_t, 2>> ReadSpatialAttr(const OpAttrsRef& attrs, std::string_view name,
                                                               bool channels_first);

// Windows on the rows and columns of an image.
struct WindowGeometry {
  WindowAxis rows;
  WindowAxis cols;
};

// The windows of `window_rows` x `window_cols` on an image of this shape, which has four dimensions.
TANDEM_EXPORT StatusOr<WindowGeometry> MakeWindowGeometry(const WindowAttrs& attrs, const TensorShape& image,
                                                          int64_t window_rows, int64_t window_cols);

}  // namespace tandem

#endif  // TANDEM_WINDOW_GEOMETRY_H_
