// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SpaceToBatchND, BatchToSpaceND: blocks of positions as a part of the batch.

#include <cstdint>
#include <string>

#include "host_vector.h"
#include "op_definition.h"
#include "result_shape.h"
#include "shape_ops.h"

namespace tandem {
namespace {

// The block's sizes, and a matrix of two numbers of at least 0 for each, called `name`.
StatusOr<HostVector> ReadBlock(const TensorMetadata& input, const HostInput& block_shape, const char* name,
                               const HostInput& margins) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector block, ReadHostVector(block_shape, "block_shape"));
  if (block.size >= input.rank()) {
    return InvalidArgument("input must have more dimensions than block_shape has elements, got input: ", input,
                           ", block_shape: ", block.span());
  }
  for (const int64_t size : block.span()) {
    if (size < 1) return InvalidArgument("sizes of a block must be at least 1, got block_shape: ", block.span());
  }
  const TensorMetadata& shape = margins.metadata();
  if (shape.rank() != 2 || shape.dim(0) != block.size || shape.dim(1) != 2) {
    return InvalidArgument(name, " must have shape [", block.size, ",2], got ", name, ": ", shape);
  }
  for (int64_t i = 0; i < margins.size(); ++i) {
    if (margins.Int(i) < 0)
      return InvalidArgument(name, " must be at least 0, got ", margins.Int(i), " at element ", i);
  }
  return block;
}

// The product of the block's sizes, or an error that it is too large.
StatusOr<int64_t> BlockSize(const HostVector& block) {
  int64_t size = 1;
  for (const int64_t dim : block.span()) {
    if (__builtin_mul_overflow(size, dim, &size)) {
      return InvalidArgument("the block must have at most 2^63-1 elements, got block_shape: ", block.span());
    }
  }
  return size;
}

StatusOr<TensorMetadata> SpaceToBatchMetadata(const TensorMetadata& input, HostInput block_shape, HostInput paddings) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector block, ReadBlock(input, block_shape, "paddings", paddings));
  TANDEM_ASSIGN_OR_RETURN(const int64_t block_size, BlockSize(block));
  TensorShape shape = input.shape;
  int64_t size = 0;
  bool fits = !__builtin_mul_overflow(input.dim(0), block_size, &size);
  shape.SetDim(0, size);
  for (int i = 0; fits && i < block.size; ++i) {
    fits = !__builtin_add_overflow(input.dim(i + 1), paddings.Int(2 * i), &size) &&
           !__builtin_add_overflow(size, paddings.Int(2 * i + 1), &size);
    if (fits && size % block[i] != 0) {
      return InvalidArgument("sizes of a block must divide the padded dimensions, got input: ", input,
                             ", block_shape: ", block.span(), ", where dimension ", i + 1, " is padded to ", size);
    }
    shape.SetDim(i + 1, size / block[i]);
  }
  if (!fits || !shape.IsValid()) {
    return InvalidArgument("the result must have at most 2^63-1 elements, got input: ", input,
                           ", block_shape: ", block.span());
  }
  return TensorMetadata(input.dtype, shape);
}

StatusOr<TensorMetadata> BatchToSpaceMetadata(const TensorMetadata& input, HostInput block_shape, HostInput crops) {
  TANDEM_ASSIGN_OR_RETURN(const HostVector block, ReadBlock(input, block_shape, "crops", crops));
  TANDEM_ASSIGN_OR_RETURN(const int64_t block_size, BlockSize(block));
  if (input.dim(0) % block_size != 0) {
    return InvalidArgument("the size of a block must divide the batch, got input: ", input,
                           ", block_shape: ", block.span());
  }
  TensorShape shape = input.shape;
  shape.SetDim(0, input.dim(0) / block_size);
  for (int i = 0; i < block.size; ++i) {
    int64_t size;
    if (__builtin_mul_overflow(input.dim(i + 1), block[i], &size)) {
      return InvalidArgument("the result must have at most 2^63-1 elements, got input: ", input,
                             ", block_shape: ", block.span());
    }
    if (crops.Int(2 * i) > size || crops.Int(2 * i + 1) > size - crops.Int(2 * i)) {
      return InvalidArgument("crops must leave at least 0 of each dimension, got ", crops.Int(2 * i), " and ",
                             crops.Int(2 * i + 1), " of ", size, " in dimension ", i + 1);
    }
    shape.SetDim(i + 1, size - crops.Int(2 * i) - crops.Int(2 * i + 1));
  }
  TANDEM_RETURN_IF_ERROR(CheckElementCount(shape, "input: ", input, ", block_shape: ", block.span()));
  return TensorMetadata(input.dtype, shape);
}

}  // namespace

Status RegisterShapeBatchOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          OpDefinition("tf.SpaceToBatchND")
              .Input("input: T")
              .HostInput("block_shape: Tblock_shape")
              .HostInput("paddings: Tpaddings")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tblock_shape: {int32, int64} = DT_INT32")
              .Attr("Tpaddings: {int32, int64} = DT_INT32")
              .Metadata<&SpaceToBatchMetadata>()
              .Doc(TANDEM_DOC(R"(Pads dimensions with 0 and makes the positions in blocks of them a part of the batch.

With block sizes b1, ..., bM, element [n, x1, ..., xM, ...] of the padded input becomes element
[((y1 * b2 + y2) * ... + yM) * N + n, x1 / b1, ..., xM / bM, ...], where yi is xi mod bi, divisions round down, and N is
the size of the batch. tf.BatchToSpaceND is the inverse. Strings are padded with empty ones.

input: Of shape [N, d1, ..., dM, ...].
block_shape: M sizes, each at least 1, which divide the padded dimensions.
paddings: Of shape [M, 2]: how many 0 come before and after the elements of each of these dimensions.)")),
          OpDefinition("tf.BatchToSpaceND")
              .Input("input: T")
              .HostInput("block_shape: Tblock_shape")
              .HostInput("crops: Tcrops")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tblock_shape: {int32, int64} = DT_INT32")
              .Attr("Tcrops: {int32, int64} = DT_INT32")
              .Metadata<&BatchToSpaceMetadata>()
              .Doc(TANDEM_DOC(R"(Makes a part of the batch the positions in blocks of other dimensions, and crops these.

The inverse of tf.SpaceToBatchND: element [b * N + n, x1, ..., xM, ...], with N the size of the result's batch, goes to
[n, x1 * b1 + y1, ..., xM * bM + yM, ...], where y1, ..., yM is position b of a block, in row-major order.

input: Of shape [N * b1 * ... * bM, d1, ..., dM, ...].
block_shape: M sizes, each at least 1.
crops: Of shape [M, 2]: how many elements are left out at the beginning and at the end of each of these dimensions.)")),
      });
}

}  // namespace tandem
