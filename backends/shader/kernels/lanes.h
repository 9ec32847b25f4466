// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How many invocations, called lanes, share a row, and how they bring their parts together.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_LANES_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_LANES_H_

#include <cstdint>
#include <string_view>

#include "tandem/shader/launch.h"
#include "tandem/shader/shader_queue.h"
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

// For rows that are read several times: few enough at once that a multiprocessor's cache holds them.
Lanes ChooseLanesOfReread(uint64_t rows, uint64_t units, const GpuLimits& limits);

// What lanes do with two parts.
enum class LaneOp : int32_t { kAdd, kMultiply, kMax, kOther };  // kOther: not for subgroups

// Declares the constants LANES and WORKGROUP.
void DeclareLanes(ShaderBuilder& builder, const Lanes& lanes);

// Declares `fn NAME(value: A, lidx: u32) -> A`, which gives each lane what `op` makes of the values of its row. All of
// a workgroup must come by it, and no shader by the same function twice. `A` is declared before, and for kOther `fn
// NAME_join(a: A, b: A) -> A`, too.
void DeclareLaneReduction(ShaderBuilder& builder, const Lanes& lanes, LaneOp op, std::string_view name);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_LANES_H_
