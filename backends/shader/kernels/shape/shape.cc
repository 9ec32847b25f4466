// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that rearrange elements or ask for shapes.

#include <string_view>

#include "kernels/kernels.h"
#include "kernels/shape/movement.h"
#include "kernels/shape/pad.h"
#include "kernels/shape/shape_kernels.h"
#include "tandem/host_context.h"

namespace tandem::shader {

namespace {

// From this size on a copy of the device's own is faster than a launch, before it the change of what is recorded costs
// more.
constexpr uint64_t kMinCopyBytes = 65536;

Status TransposeKernel(KernelFrame& frame) {
  const HostInput perm(frame.arg(1).metadata(), &frame.arg(1));
  const TensorShape& shape = frame.result_metadata(0).shape;
  const RowMajorStrides from(frame.arg(0).shape());
  StridedCopy copy;
  for (int i = 0; i < shape.rank(); ++i) copy.AddDim(shape.dim(i), from[static_cast<int>(perm.Int(i))]);
  ShaderCall call(frame);
  CopyArgument(call, frame, 0, 0, copy);
  return call.Finish();
}

Status TileKernel(KernelFrame& frame) {
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  const RowMajorStrides from(in);
  StridedCopy copy;
  for (int i = 0; i < in.rank(); ++i) {
    copy.AddDim(in.dim(i) > 0 ? out.dim(i) / in.dim(i) : 0, 0);
    copy.AddDim(in.dim(i), from[i]);
  }
  ShaderCall call(frame);
  CopyArgument(call, frame, 0, 0, copy);
  return call.Finish();
}

Status BroadcastToKernel(KernelFrame& frame) {
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  const RowMajorStrides from(in);
  const int offset = out.rank() - in.rank();
  StridedCopy copy;
  for (int i = 0; i < out.rank(); ++i) {
    const bool repeats = i < offset || in.dim(i - offset) == 1;
    copy.AddDim(out.dim(i), repeats ? 0 : from[i - offset]);
  }
  ShaderCall call(frame);
  CopyArgument(call, frame, 0, 0, copy);
  return call.Finish();
}

// SpaceToDepth, or DepthToSpace: copies between images and smaller ones with more channels.
template <bool to_depth>
Status BlockKernel(KernelFrame& frame) {
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  const bool channels_first = frame.attrs().GetOr<std::string_view>("data_format", "NHWC") == "NCHW";
  const int y = channels_first ? 2 : 1;
  const int x = y + 1;
  const int c = channels_first ? 1 : 3;
  const auto block = frame.attrs().GetOr<int64_t>("block_size", 0);
  const RowMajorStrides from(in);
  StridedCopy copy;
  const auto add = [&copy](int64_t size, int64_t stride) { copy.AddDim(size, stride); };
  add(out.dim(0), from[0]);
  if constexpr (to_depth) {
    const auto add_block = [&] {
      add(block, from[y]);
      add(block, from[x]);
      add(in.dim(c), from[c]);
    };
    if (channels_first) add_block();
    add(out.dim(y), block * from[y]);
    add(out.dim(x), block * from[x]);
    if (!channels_first) add_block();
  } else {
    const int64_t channels = out.dim(c);
    if (channels_first) add(channels, from[c]);
    add(in.dim(y), from[y]);
    add(block, block * channels * from[c]);
    add(in.dim(x), from[x]);
    add(block, channels * from[c]);
    if (!channels_first) add(channels, from[c]);
  }
  ShaderCall call(frame);
  CopyArgument(call, frame, 0, 0, copy);
  return call.Finish();
}

Status PadArgument(KernelFrame& frame, PadMode mode) {
  const TensorShape& in = frame.arg(0).shape();
  const TensorShape& out = frame.result_metadata(0).shape;
  if (in == out) return ShareArgument(frame);
  const HostInput paddings(frame.arg(1).metadata(), &frame.arg(1));
  ShaderCall call(frame);
  const Launch launch =
      PadProgram(mode, in, out, paddings, ElementBytes(frame.result_metadata(0).dtype), call.limits());
  if (mode == PadMode::kValue) {
    call.Run(launch, {call.Argument(0), call.Argument(2), call.Result(0)});
  } else {
    call.Run(launch, {call.Argument(0), call.Result(0)});
  }
  return call.Finish();
}

Status PadKernel(KernelFrame& frame) { return PadArgument(frame, PadMode::kZero); }
Status PadV2Kernel(KernelFrame& frame) { return PadArgument(frame, PadMode::kValue); }
Status MirrorPadKernel(KernelFrame& frame) {
  const bool is_symmetric = frame.attrs().GetOr<std::string_view>("mode", "") == "SYMMETRIC";
  return PadArgument(frame, is_symmetric ? PadMode::kSymmetric : PadMode::kReflect);
}

// The only result from numbers, which it is to have as i32 or i64.
Status GiveNumbers(KernelFrame& frame, std::span<const int64_t> numbers) {
  const TensorMetadata& metadata = frame.result_metadata(0);
  HostContext& host = frame.host();
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, AllocateDense(metadata, host.device(), host.allocator()));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (metadata.dtype == DType::kI32) {
      static_cast<int32_t*>(tensor.mutable_data())[i] = static_cast<int32_t>(numbers[i]);
    } else {
      static_cast<int64_t*>(tensor.mutable_data())[i] = numbers[i];
    }
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor result, frame.context<ShaderDevice>().Upload(frame.exec(), tensor));
  frame.SetResult(0, std::move(result));
  return Status();
}

Status ShapeKernel(KernelFrame& frame) { return GiveNumbers(frame, frame.arg(0).shape().dims()); }

Status SizeKernel(KernelFrame& frame) {
  const int64_t size = frame.arg(0).num_elements();
  return GiveNumbers(frame, {&size, 1});
}

Status RankKernel(KernelFrame& frame) {
  const int64_t rank = frame.arg(0).shape().rank();
  return GiveNumbers(frame, {&rank, 1});
}

}  // namespace

Status ShareArgument(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Share(0, 0);
  return call.Finish();
}

void CopyArgument(ShaderCall& call, const KernelFrame& frame, size_t arg, size_t i, const StridedCopy& copy) {
  if (copy.IsStretch() && copy.offset() == 0 && copy.count() == frame.arg(arg).num_elements()) {
    return call.Share(i, arg);
  }
  const uint32_t element_bytes = ElementBytes(frame.result_metadata(i).dtype);
  const uint64_t offset = static_cast<uint64_t>(copy.offset()) * element_bytes;
  if (copy.IsStretch() && call.MaySharePart(i, arg, offset)) return call.SharePart(i, arg, offset);
  GpuBuffer* from = call.Argument(arg);
  GpuBuffer* to = call.Result(i);
  if (copy.IsStretch()) {
    const uint64_t bytes = GpuByteSize(frame.result_metadata(i));
    if (bytes >= kMinCopyBytes && bytes % kWordBytes == 0 && offset % kWordBytes == 0) {
      return call.Copy(from, offset, to, 0, bytes);
    }
  }
  call.Run(StridedCopyProgram(copy, element_bytes, call.limits()), {from, to});
}

Status RegisterShapeKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ShareArgument>("tf.Reshape", kFixedSizeDTypes),
      KernelEntryOf<&ShareArgument>("tf.ExpandDims", kFixedSizeDTypes),
      KernelEntryOf<&ShareArgument>("tf.Squeeze", kFixedSizeDTypes),
      KernelEntryOf<&TransposeKernel>("tf.Transpose", kFixedSizeDTypes),
      KernelEntryOf<&TileKernel>("tf.Tile", kFixedSizeDTypes),
      KernelEntryOf<&BroadcastToKernel>("tf.BroadcastTo", kFixedSizeDTypes),
      KernelEntryOf<&BlockKernel<true>>("tf.SpaceToDepth", kFixedSizeDTypes),
      KernelEntryOf<&BlockKernel<false>>("tf.DepthToSpace", kFixedSizeDTypes),
      KernelEntryOf<&PadKernel>("tf.Pad", kFixedSizeDTypes),
      KernelEntryOf<&PadV2Kernel>("tf.PadV2", kFixedSizeDTypes),
      KernelEntryOf<&MirrorPadKernel>("tf.MirrorPad", kFixedSizeDTypes),
      KernelEntryOf<&ShapeKernel>("tf.Shape", kFixedSizeDTypes),
      KernelEntryOf<&SizeKernel>("tf.Size", kFixedSizeDTypes),
      KernelEntryOf<&RankKernel>("tf.Rank", kFixedSizeDTypes),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  TANDEM_RETURN_IF_ERROR(RegisterShapeBatchKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterShapePartKernels(handler));
  return RegisterShapeSliceKernels(handler);
}

}  // namespace tandem::shader
