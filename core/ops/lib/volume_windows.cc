// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The attributes of ops with windows of three dimensions, and where the windows lie.

#include "tandem/volume_windows.h"

#include <algorithm>
#include <span>

#include "window_padding.h"

namespace tandem {

StatusOr<VolumeSizes> ReadVolumeAttr(const OpAttrsRef& attrs, std::string_view name, bool channels_first) {
  std::span<const int64_t> list;
  attrs.GetArray(name, &list);
  if (list.size() != 5) return InvalidArgument(name, " must have five elements, got ", name, ": ", list);
  if (list[0] != 1 || list[channels_first ? 1 : 4] != 1) {
    return InvalidArgument(name, " must be 1 for batch and channels, got ", name, ": ", list);
  }
  if (*std::min_element(list.begin(), list.end()) < 1) {
    return InvalidArgument(name, " must be at least 1, got ", name, ": ", list);
  }
  const size_t first = channels_first ? 2 : 1;
  return VolumeSizes{list[first], list[first + 1], list[first + 2]};
}

StatusOr<VolumeAttrs> ReadVolumeAttrs(const OpAttrsRef& attrs) {
  VolumeAttrs result;
  result.channels_first = attrs.GetOr<std::string_view>("data_format", "NDHWC") == "NCDHW";
  TANDEM_ASSIGN_OR_RETURN(result.strides, ReadVolumeAttr(attrs, "strides", result.channels_first));
  if (attrs.Find("dilations") != nullptr) {
    TANDEM_ASSIGN_OR_RETURN(result.dilations, ReadVolumeAttr(attrs, "dilations", result.channels_first));
  }
  TANDEM_ASSIGN_OR_RETURN(result.padding, ReadPadding(attrs, result.channels_first, result.explicit_paddings));
  return result;
}

StatusOr<VolumeWindows> MakeVolumeWindows(const VolumeAttrs& attrs, const TensorShape& volume,
                                          const VolumeSizes& window) {
  constexpr const char* kNames[] = {"depth", "rows", "columns"};
  VolumeWindows result;
  for (size_t i = 0; i < 3; ++i) {
    result[i] = {volume.dim(attrs.axis(static_cast<int>(i))),
                 window[i],
                 attrs.strides[i],
                 attrs.dilations[i],
                 attrs.explicit_paddings[i][0],
                 attrs.explicit_paddings[i][1],
                 0};
    TANDEM_RETURN_IF_ERROR(ComputeWindow(attrs.padding, kNames[i], result[i]));
  }
  return result;
}

}  // namespace tandem
