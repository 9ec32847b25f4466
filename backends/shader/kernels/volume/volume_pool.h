// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Pooling of volumes, and of images as volumes without depth.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_VOLUME_VOLUME_POOL_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_VOLUME_VOLUME_POOL_H_

#include <cstdint>

#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_op_handler.h"
#include "tandem/shader/shader_source.h"
#include "tandem/status.h"
#include "tandem/volume_windows.h"

namespace tandem::shader {

// Buffers: the input (of gradients, the gradient of the result, and the places for kMaxGradient), and the result.
enum class VolumePool : int32_t {
  kMax,
  kAverage,
  kMaxPlaces,  // words: the number of the largest element among those of the whole input
  kMaxGradient,
  kAverageGradient
};

// For `count` elements of the result; kMaxPlaces is for all real dtypes, the others for floating-point ones.
Launch VolumePoolProgram(VolumePool pool, DType dtype, const VolumeWindows& windows, int64_t channels, int64_t count,
                         const GpuLimits& limits);

// ResourceExhausted for windows whose numbers are beyond what shaders compute with.
Status CheckWindow(const WindowAxis& axis);

// The numbers of windows as parameters "depth_input" and so on.
void DeclareVolumeWindows(ShaderBuilder& builder, bool has_dilations);
void AddVolumeWindows(LaunchParameters& parameters, const VolumeWindows& windows, bool has_dilations);

Status RegisterVolumePoolKernels(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_VOLUME_VOLUME_POOL_H_
