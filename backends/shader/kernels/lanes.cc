// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/lanes.h"

#include <bit>
#include <string>

#include "kernel_texts.h"
#include "kernels/element_types.h"

namespace tandem::shader {

namespace {

// An expression of `a` and `b`.
std::string_view JoinText(LaneOp op) {
  switch (op) {
    case LaneOp::kMultiply:
      return "a * b";
    case LaneOp::kMax:
      return "max(a, b)";
    default:
      return "a + b";
  }
}

std::string_view SubgroupFunction(LaneOp op) {
  switch (op) {
    case LaneOp::kMultiply:
      return "subgroupMul";
    case LaneOp::kMax:
      return "subgroupMax";
    default:
      return "subgroupAdd";
  }
}

std::string Named(std::string text, std::string_view name) {
  constexpr std::string_view kPlaceholder = "reduce_lanes";
  for (size_t at = text.find(kPlaceholder); at != std::string::npos; at = text.find(kPlaceholder, at + name.size())) {
    text.replace(at, kPlaceholder.size(), name);
  }
  return text;
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

Lanes ChooseLanesOfReread(uint64_t rows, uint64_t units, const GpuLimits& limits) {
  // On an H200 workgroups of 64 read rows of 16 KiB twice from the L2 cache, which takes as long as memory does.
  if (HasAllDTypes(limits) && units > 256) return {256, 256};
  return ChooseLanes(rows, units, limits);
}

void DeclareLanes(ShaderBuilder& builder, const Lanes& lanes) {
  const auto workgroup = static_cast<uint32_t>(lanes.workgroup);
  const auto count = static_cast<uint32_t>(lanes.lanes);
  builder.Workgroup(workgroup).Constant("LANES", count).Constant("WORKGROUP", workgroup);
  if (count == 1) return;
  if (lanes.subgroups) {
    builder.UseSubgroups();
  } else {
    builder.Constant("FOLDED", count <= 16 ? count : count <= 64 ? 8 : 16);
  }
}

void DeclareLaneReduction(ShaderBuilder& builder, const Lanes& lanes, LaneOp op, std::string_view name) {
  const std::string head = "fn reduce_lanes(value: A, lidx: u32) -> A { return ";
  if (lanes.lanes == 1) {
    builder.Text(Named(head + "value; }", name));
  } else if (lanes.subgroups) {
    builder.Text(Named(head + std::string(SubgroupFunction(op)) + "(value); }", name));
  } else {
    if (op != LaneOp::kOther) {
      const std::string join = "fn reduce_lanes_join(a: A, b: A) -> A { return ";
      builder.Text(Named(join + std::string(JoinText(op)) + "; }", name));
    }
    builder.Text(Named(std::string(kReduceLanesText), name));
  }
}

}  // namespace tandem::shader
