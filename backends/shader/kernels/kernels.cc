// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/kernels.h"

namespace tandem::shader {

Status RegisterKernels(ShaderOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(RegisterConvolutionKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterCreationKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterElementwiseKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterImageKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterIndexingKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterLinalgKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterNnKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterNormalizationKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterPoolingKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterRandomKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterReductionKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterScanKernels(handler));
  return RegisterShapeKernels(handler);
}

}  // namespace tandem::shader
