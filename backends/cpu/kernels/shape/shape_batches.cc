// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SpaceToBatchND, BatchToSpaceND: for each position in a block one copy of what is there.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/polls.h"
#include "kernels/shape/shape_kernels.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/shape/shape_strided_copy.h"

namespace tandem::cpu {
namespace {

// A dimension that is cut into blocks: element `o` of position `y` in them is element o * block + y - margin in space.
struct BlockedDim {
  int64_t space;
  int64_t depth;
  int64_t block;
  int64_t margin;
  int64_t space_stride;
  int64_t depth_stride;

  // The elements o of a position that lie in space.
  std::pair<int64_t, int64_t> Range(int64_t y) const {
    const int64_t first = y >= margin ? 0 : (margin - y + block - 1) / block;
    const int64_t behind = space + margin - y;  // of o * block
    const int64_t last = behind <= 0 ? 0 : (behind + block - 1) / block;
    return {std::min(first, depth), std::min(last, depth)};
  }
};

// Copies between a tensor in space and one whose batch has the positions in blocks.
template <bool to_batch>
Status BatchKernel(KernelFrame& frame) {
  if (GiveEmpty(frame)) return Status();
  ElementSource source;
  ElementSink sink;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  if (!sink.Init(frame, 0)) return Status();
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  const TensorShape& space = to_batch ? in : out;
  const TensorShape& depth = to_batch ? out : in;
  const HostInput block(frame.arg(1).metadata(), &frame.arg(1));
  const HostInput margins(frame.arg(2).metadata(), &frame.arg(2));
  const RowMajorStrides in_space(space);
  const RowMajorStrides in_depth(depth);
  const auto num_blocked = static_cast<int>(block.size());
  BlockedDim dims[TensorShape::kMaxRank];
  int64_t positions = 1;
  for (int i = 0; i < num_blocked; ++i) {
    dims[i] = {space.dim(i + 1), depth.dim(i + 1), block.Int(i), margins.Int(2 * i), in_space[i + 1], in_depth[i + 1]};
    positions *= block.Int(i);
  }
  int64_t pixel = 1;
  for (int i = num_blocked + 1; i < space.rank(); ++i) pixel *= space.dim(i);
  const size_t size = source.element_size();
  if (to_batch) ClearLong(sink.data(), static_cast<size_t>(out.num_elements()) * size);
  for (int64_t position = 0; position < positions; ++position) {
    if (KernelRun::IsStopped()) return KernelRun::CheckWanted();
    StridedCopy copy(size);
    const auto add = [&](int64_t count, int64_t space_stride, int64_t depth_stride) {
      copy.AddDim(count, to_batch ? depth_stride : space_stride, to_batch ? space_stride : depth_stride);
    };
    int64_t y[TensorShape::kMaxRank];
    int64_t rest = position;
    for (int i = num_blocked; i-- > 0; rest /= dims[i].block) y[i] = rest % dims[i].block;
    add(space.dim(0), in_space[0], in_depth[0]);
    int64_t space_offset = 0;
    int64_t depth_offset = position * space.dim(0) * in_depth[0];
    bool is_empty = false;
    for (int i = 0; i < num_blocked; ++i) {
      const auto [first, last] = dims[i].Range(y[i]);
      is_empty = is_empty || first >= last;
      space_offset += (first * dims[i].block + y[i] - dims[i].margin) * dims[i].space_stride;
      depth_offset += first * dims[i].depth_stride;
      add(std::max<int64_t>(0, last - first), dims[i].block * dims[i].space_stride, dims[i].depth_stride);
    }
    if (is_empty) continue;
    add(pixel, 1, 1);
    const auto from = static_cast<size_t>(to_batch ? space_offset : depth_offset);
    const auto to = static_cast<size_t>(to_batch ? depth_offset : space_offset);
    copy.Run(frame, sink.data() + to * size, source.data() + from * size);
  }
  sink.Finish(frame);
  return Status();
}

}  // namespace

Status RegisterShapeBatchKernels(KernelOpHandler& handler) {
  static constexpr CostModel kMovement = {0, &MovementCost};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&BatchKernel<true>>("tf.SpaceToBatchND", DTypeSet::All(), kMovement),
      KernelEntryOf<&BatchKernel<false>>("tf.BatchToSpaceND", DTypeSet::All(), kMovement),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
