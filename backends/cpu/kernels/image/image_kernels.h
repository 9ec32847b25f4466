// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The parts of the image family, a file each.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_IMAGE_IMAGE_KERNELS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_IMAGE_IMAGE_KERNELS_H_

#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

Status RegisterImageGradientKernels(KernelOpHandler& handler);  // ResizeBilinearGrad, ResizeNearestNeighborGrad
Status RegisterImageSampleKernels(KernelOpHandler& handler);    // CropAndResize, ImageProjectiveTransformV3
Status RegisterBoxKernels(KernelOpHandler& handler);            // NonMaxSuppressionV3, V4 and V5

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_IMAGE_IMAGE_KERNELS_H_
