// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How many invocations, called lanes, share a row, and how they bring their parts together.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_LANES_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_LANES_H_

#include <cstdint>
#include <string_view>

#include "tandem/shader/gpu_queue.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

struct Lanes {
  int32_t lanes = 1;       // of a row
  int32_t workgroup = 64;  // a multiple of `lanes`
  bool subgroups = false;  // a workgroup is one row and one subgroup

  // The workgroups for `rows` rows.
  std::array<uint32_t, 3> Workgroups(uint64_t rows, const GpuLimits& limits) const {
    return LinearWorkgroups(rows, static_cast<uint32_t>(workgroup / lanes), limits);
  }
};

// For rows that consist of `units` loads each.
Lanes ChooseLanes(uint64_t rows, uint64_t units, const GpuLimits& limits);
// The same without subgroups.
Lanes ChooseSharedLanes(uint64_t rows, uint64_t units, const GpuLimits& limits);

// What lanes do with two parts.
enum class LaneOp : int32_t { kAdd, kMultiply, kMax, kOther };

// Declares the constants LANES and WORKGROUP, and for every lane of a row, to be called by all of a workgroup,
// `fn reduce_lanes(value: A, lidx: u32, slot: u32) -> A`; calls of one shader need different slots below `slots`. `A`
// and `fn join(a: A, b: A) -> A` are declared before; subgroups reduce by `op` instead.
void DeclareLanes(ShaderBuilder& builder, const Lanes& lanes, LaneOp op, uint32_t slots);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_LANES_H_
