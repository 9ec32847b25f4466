// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TopKV2: rows are sorted, by blocks and then by merging these.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_TOP_K_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_TOP_K_H_

#include "tandem/shader/shader_op_handler.h"
#include "tandem/status.h"

namespace tandem::shader {

// For devices with all dtypes: others leave it to the fallback, and few elements come back from there.
Status RegisterTopKKernels(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_TOP_K_H_
