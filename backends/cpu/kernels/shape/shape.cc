// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that rearrange elements or ask for shapes. They move elements by size, whatever their dtype.

#include <string_view>

#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "kernels/shape/shape_kernels.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/shape/shape_strided_copy.h"

namespace tandem::cpu {
namespace {

Status TransposeKernel(KernelFrame& frame) {
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const HostInput perm(frame.arg(1).metadata(), &frame.arg(1));
  const TensorShape& shape = frame.result_metadata(0).shape;
  const RowMajorStrides from(frame.arg(0).shape());
  const RowMajorStrides to(shape);
  StridedCopy copy(source.element_size());
  for (int i = 0; i < shape.rank(); ++i) copy.AddDim(shape.dim(i), to[i], from[static_cast<int>(perm.Int(i))]);
  return RunMovement(frame, source, copy);
}

Status TileKernel(KernelFrame& frame) {
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  const RowMajorStrides from(in);
  const RowMajorStrides to(out);
  StridedCopy copy(source.element_size());
  for (int i = 0; i < in.rank(); ++i) {
    copy.AddDim(out.dim(i) / in.dim(i), in.dim(i) * to[i], 0);
    copy.AddDim(in.dim(i), to[i], from[i]);
  }
  return RunMovement(frame, source, copy);
}

Status BroadcastToKernel(KernelFrame& frame) {
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  const RowMajorStrides from(in);
  const RowMajorStrides to(out);
  const int offset = out.rank() - in.rank();
  StridedCopy copy(source.element_size());
  for (int i = 0; i < out.rank(); ++i) {
    const bool repeats = i < offset || in.dim(i - offset) == 1;
    copy.AddDim(out.dim(i), to[i], repeats ? 0 : from[i - offset]);
  }
  return RunMovement(frame, source, copy);
}

// SpaceToDepth, or DepthToSpace: copies between images and smaller ones with more channels.
template <bool to_depth>
Status BlockKernel(KernelFrame& frame) {
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  const TensorShape& space = to_depth ? in : out;
  const TensorShape& depth = to_depth ? out : in;
  const bool channels_first = frame.attrs().GetOr<std::string_view>("data_format", "NHWC") == "NCHW";
  const int y = channels_first ? 2 : 1;
  const int x = y + 1;
  const int c = channels_first ? 1 : 3;
  const auto block = frame.attrs().GetOr<int64_t>("block_size", 0);
  const int64_t channels = space.dim(c);
  const RowMajorStrides in_space(space);
  const RowMajorStrides in_depth(depth);
  enum { kImage, kRow, kRowInBlock, kColumn, kColumnInBlock, kChannel, kNumDims };
  const struct {
    int64_t size;
    int64_t space_stride;
    int64_t depth_stride;
  } dims[kNumDims] = {
      {space.dim(0), in_space[0], in_depth[0]},
      {depth.dim(y), block * in_space[y], in_depth[y]},
      {block, in_space[y], block * channels * in_depth[c]},
      {depth.dim(x), block * in_space[x], in_depth[x]},
      {block, in_space[x], channels * in_depth[c]},
      {channels, in_space[c], in_depth[c]},
  };
  // In the order of the result.
  constexpr int kOrders[2][2][kNumDims] = {
      {{kImage, kRow, kRowInBlock, kColumn, kColumnInBlock, kChannel},
       {kImage, kChannel, kRow, kRowInBlock, kColumn, kColumnInBlock}},
      {{kImage, kRow, kColumn, kRowInBlock, kColumnInBlock, kChannel},
       {kImage, kRowInBlock, kColumnInBlock, kChannel, kRow, kColumn}},
  };
  StridedCopy copy(source.element_size());
  for (const int i : kOrders[to_depth][channels_first]) {
    const auto& dim = dims[i];
    copy.AddDim(dim.size, to_depth ? dim.depth_stride : dim.space_stride,
                to_depth ? dim.space_stride : dim.depth_stride);
  }
  return RunMovement(frame, source, copy);
}

// Stores a number as the i32 or i64 that the result is to have.
void StoreInt(const KernelFrame& frame, void* data, int i, int64_t value) {
  if (frame.result_metadata(0).dtype == DType::kI32) {
    static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value);
  } else {
    static_cast<int64_t*>(data)[i] = value;
  }
}

template <typename T>
Status BroadcastSizes(DenseArg s0, DenseArg s1, KernelFrame& frame) {
  T* out = frame.AllocateResult<T>(0);
  if (out == nullptr) return Status();
  const int64_t rank = frame.result_metadata(0).num_elements();
  StopPoll poll(kPollElements);
  for (int64_t i = 0; i < rank && !poll.Stops(); ++i) {
    const auto size_of = [&](const DenseArg& s) {
      const int64_t at = i - (rank - s.size());
      return at < 0 ? T{1} : s.data<T>()[at];
    };
    const T size0 = size_of(s0);
    const T size1 = size_of(s1);
    if (size0 < 0 || size1 < 0) {
      return InvalidArgument("sizes must be at least 0, got ", size0 < 0 ? "s0" : "s1", " with ",
                             size0 < 0 ? size0 : size1);
    }
    if (size0 != size1 && size0 != 1 && size1 != 1) {
      return InvalidArgument("shapes must be broadcast compatible, got ", size0, " and ", size1, " for size ", i,
                             " of the result");
    }
    out[i] = size0 == 1 ? size1 : size0;
  }
  return Status();
}

Status BroadcastArgsKernel(DenseArg s0, DenseArg s1, KernelFrame& frame) {
  return s0.dtype() == DType::kI32 ? BroadcastSizes<int32_t>(s0, s1, frame) : BroadcastSizes<int64_t>(s0, s1, frame);
}

Status ShapeKernel(KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  if (out == nullptr) return Status();
  const TensorShape& shape = frame.arg(0).shape();
  for (int i = 0; i < shape.rank(); ++i) StoreInt(frame, out, i, shape.dim(i));
  return Status();
}

Status SizeKernel(KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  if (out != nullptr) StoreInt(frame, out, 0, frame.arg(0).num_elements());
  return Status();
}

Status RankKernel(KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  if (out != nullptr) StoreInt(frame, out, 0, frame.arg(0).shape().rank());
  return Status();
}

}  // namespace

Status RegisterShapeKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kAll = DTypeSet::All();
  static constexpr CostModel kMovement = {0, &MovementCost};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ReshapeArgument>("tf.Reshape", kAll, {0}),
      KernelEntryOf<&ReshapeArgument>("tf.ExpandDims", kAll, {0}),
      KernelEntryOf<&ReshapeArgument>("tf.Squeeze", kAll, {0}),
      KernelEntryOf<&TransposeKernel>("tf.Transpose", kAll, kMovement),
      KernelEntryOf<&TileKernel>("tf.Tile", kAll, kMovement),
      KernelEntryOf<&BroadcastToKernel>("tf.BroadcastTo", kAll, kMovement),
      KernelEntryOf<&BroadcastArgsKernel>("tf.BroadcastArgs", {DType::kI32, DType::kI64}, {1}),
      KernelEntryOf<&BlockKernel<true>>("tf.SpaceToDepth", kAll, kMovement),
      KernelEntryOf<&BlockKernel<false>>("tf.DepthToSpace", kAll, kMovement),
      KernelEntryOf<&ShapeKernel>("tf.Shape", kAll, {0}),
      KernelEntryOf<&SizeKernel>("tf.Size", kAll, {0}),
      KernelEntryOf<&RankKernel>("tf.Rank", kAll, {0}),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  TANDEM_RETURN_IF_ERROR(RegisterShapeBatchKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterShapePadKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterShapePartKernels(handler));
  return RegisterShapeSliceKernels(handler);
}

}  // namespace tandem::cpu
