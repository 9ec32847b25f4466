// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// VolumePlan: volumes and their windows, as the kernels of pooling and convolutions walk through them.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_VOLUME_VOLUME_PLAN_H_
#define TANDEM_BACKENDS_CPU_KERNELS_VOLUME_VOLUME_PLAN_H_

#include <algorithm>
#include <cstdint>

#include "tandem/kernel_op_handler.h"
#include "tandem/volume_windows.h"

namespace tandem::cpu {

// Indices [begin, end).
struct IndexRange {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

// The elements of the input that window `output` sees; the dilation is 1.
inline IndexRange SeenBy(const WindowAxis& axis, int64_t output) {
  const int64_t first = output * axis.stride - axis.pad_before;
  return {std::max<int64_t>(first, 0), std::min(first + axis.window, axis.input)};
}

// The windows that see element `input`; the dilation is 1.
inline IndexRange Seeing(const WindowAxis& axis, int64_t input) {
  const int64_t last = (input + axis.pad_before) / axis.stride;
  const int64_t before = input + axis.pad_before - axis.window;  // of which a window must begin behind
  return {before < 0 ? 0 : before / axis.stride + 1, std::min(last + 1, axis.output)};
}

// Volumes of pixels of `channels` contiguous elements. For pooling, each channel is a volume of its own where the
// channels come first.
struct PoolVolumes {
  PoolVolumes(const TensorShape& shape, const VolumeWindows& axes, bool channels_first)
      : count(channels_first ? shape.dim(0) * shape.dim(1) : shape.dim(0)),
        channels(channels_first ? 1 : shape.dim(shape.rank() - 1)),
        windows(axes) {}

  int64_t InputPixels() const { return windows[0].input * windows[1].input * windows[2].input; }
  int64_t OutputPixels() const { return windows[0].output * windows[1].output * windows[2].output; }

  int64_t count;
  int64_t channels;
  VolumeWindows windows;
};

// Sets, for each channel of the outputs in rows [begin, end) of all volumes, the number of the input's pixel within its
// volume that is the window's first largest element, or its first NaN. T: float, double or int64_t.
template <typename T>
void FindLargest(const PoolVolumes& volumes, const T* x, int64_t begin, int64_t end, int64_t* places);

// The cost of a row of outputs, or of inputs, in nanoseconds.
double RowCost(const PoolVolumes& volumes);

// Kernels of MaxPool3D, AvgPool3D and their gradients.
Status RegisterVolumePoolKernels(KernelOpHandler& handler);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_VOLUME_VOLUME_PLAN_H_
