// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/shader/launch.h"

#include <algorithm>

namespace tandem::shader {

std::array<uint32_t, 3> LinearWorkgroups(uint64_t items, uint32_t workgroup_size, const GpuLimits& limits) {
  const uint64_t workgroups = (items + workgroup_size - 1) / workgroup_size;
  if (workgroups <= limits.max_workgroups) return {static_cast<uint32_t>(workgroups), 1, 1};
  const uint64_t rows = (workgroups + limits.max_workgroups - 1) / limits.max_workgroups;
  // More rows than there may be are left as they are: ShaderCall says so.
  return {static_cast<uint32_t>((workgroups + rows - 1) / rows),
          static_cast<uint32_t>(std::min<uint64_t>(rows, UINT32_MAX)), 1};
}

}  // namespace tandem::shader
