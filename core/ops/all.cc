// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Registration of all op families.

#include "tandem/op_families.h"

namespace tandem {

Status RegisterAllOps(OpRegistry& registry) {
  TANDEM_RETURN_IF_ERROR(RegisterConversionOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterConvolutionOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterCreationOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterElementwiseOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterImageOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterIndexingOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterLinalgOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterNnOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterNormalizationOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterPoolingOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterRandomOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterReductionOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterScanOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterShapeOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterSideEffectOps(registry));
  return RegisterTestOps(registry);
}

}  // namespace tandem
