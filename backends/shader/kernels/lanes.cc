// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/lanes.h"

#include <algorithm>
#include <bit>

#include "kernel_texts.h"

namespace tandem::shader {

namespace {

// The function of subgroups for `op`.
std::string_view SubgroupText(LaneOp op) {
  switch (op) {
    case LaneOp::kMultiply:
      return "fn reduce_lanes(value: A, lidx: u32, slot: u32) -> A { return subgroupMul(value); }";
    case LaneOp::kMax:
      return "fn reduce_lanes(value: A, lidx: u32, slot: u32) -> A { return subgroupMax(value); }";
    default:
      return "fn reduce_lanes(value: A, lidx: u32, slot: u32) -> A { return subgroupAdd(value); }";
  }
}

}  // namespace

Lanes ChooseSharedLanes(uint64_t rows, uint64_t units, const GpuLimits& limits) {
  // A workgroup of a software device is run by one thread, and its barriers cost more than the rest.
  if (limits.is_software) return rows >= 8 || units <= 64 ? Lanes{1, 16} : Lanes{16, 16};
  if (units <= 8) return {1, 64};
  if (units <= 128) return {16, 64};
  if (units <= 1024) return {64, 64};
  return {256, 256};
}

Lanes ChooseLanes(uint64_t rows, uint64_t units, const GpuLimits& limits) {
  const uint32_t size = limits.min_subgroup_size;
  // A workgroup of no more invocations than the smallest subgroup has is one subgroup.
  const bool has_wide_subgroups = limits.has_subgroups && std::has_single_bit(size) && size >= 16 && size <= 64;
  if (!limits.is_software && has_wide_subgroups && units > 8 && units <= uint64_t{16} * size) {
    return {static_cast<int32_t>(size), static_cast<int32_t>(size), /*subgroups=*/true};
  }
  return ChooseSharedLanes(rows, units, limits);
}

void DeclareLanes(ShaderBuilder& builder, const Lanes& lanes, LaneOp op, uint32_t slots) {
  const auto workgroup = static_cast<uint32_t>(lanes.workgroup);
  const auto count = static_cast<uint32_t>(lanes.lanes);
  builder.Workgroup(workgroup).Constant("LANES", count).Constant("WORKGROUP", workgroup);
  if (count == 1) {
    builder.Text("fn reduce_lanes(value: A, lidx: u32, slot: u32) -> A { return value; }");
  } else if (lanes.subgroups) {
    builder.UseSubgroups().Text(SubgroupText(op));
  } else {
    // Two steps of few reads each instead of many barriers.
    const uint32_t folded = count <= 16 ? count : count <= 64 ? 8 : 16;
    builder.Constant("FOLDED", folded).Constant("PARTS", workgroup * slots).Text(kReduceLanesText);
  }
}

}  // namespace tandem::shader
