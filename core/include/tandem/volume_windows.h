// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where the windows of convolutions and pooling lie on volumes, which have three dimensions in space; shared by the
// metadata functions and the kernels of every device.

#ifndef TANDEM_VOLUME_WINDOWS_H_
#define TANDEM_VOLUME_WINDOWS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "tandem/export.h"
#include "tandem/op_attrs.h"
#include "tandem/status.h"
#include "tandem/tensor_shape.h"
#include "tandem/window_geometry.h"

namespace tandem {

// Depth, rows, columns.
using VolumeSizes = std::array<int64_t, 3>;
using VolumeWindows = std::array<WindowAxis, 3>;

// What the attributes of an op with windows of three dimensions say, as WindowAttrs does for two.
struct VolumeAttrs {
  bool channels_first = false;  // data_format is 'NCDHW'
  PaddingKind padding = PaddingKind::kValid;
  VolumeSizes strides = {1, 1, 1};
  VolumeSizes dilations = {1, 1, 1};
  std::array<std::array<int64_t, 2>, 3> explicit_paddings = {};  // before, after

  int channel_axis() const { return channels_first ? 1 : 4; }
  // The dimension of a tensor that is dimension `i` in space.
  int axis(int i) const { return channels_first ? i + 2 : i + 1; }
};

// InvalidArgument as from ReadWindowAttrs, with five numbers for four and ten for eight.
TANDEM_EXPORT StatusOr<VolumeAttrs> ReadVolumeAttrs(const OpAttrsRef& attrs);

// Five numbers, of which those for batch and channels must be 1 and the others at least 1.
TANDEM_EXPORT StatusOr<VolumeSizes> ReadVolumeAttr(const OpAttrsRef& attrs, std::string_view name, bool channels_first);

// The windows of size `window` on volumes of this shape, which has five dimensions.
TANDEM_EXPORT StatusOr<VolumeWindows> MakeVolumeWindows(const VolumeAttrs& attrs, const TensorShape& volume,
                                                        const VolumeSizes& window);

}  // namespace tandem

#endif  // TANDEM_VOLUME_WINDOWS_H_
