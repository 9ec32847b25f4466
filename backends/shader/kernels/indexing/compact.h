// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elements picked out by the device: Where, Unique, UniqueV2, whose results are as large as the device says.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_COMPACT_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_COMPACT_H_

#include <vector>

#include "tandem/shader/shader_op_handler.h"
#include "tandem/shader/shader_source.h"
#include "tandem/status.h"

namespace tandem::shader {

// For tests: one of each kind.
std::vector<ShaderVariant> CompactVariants();

Status RegisterCompactKernels(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_COMPACT_H_
