// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that make tensors: Const, Fill, Range, LinSpace, ZerosLike, OnesLike, OneHot, Identity.

#include <cmath>
#include <cstdint>
#include <limits>

#include "host_vector.h"
#include "op_definition.h"
#include "result_shape.h"
#include "tandem/host_tensors.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> ConstMetadata(const OpAttrsRef& attrs) {
  TensorAttr value;
  DType dtype = DType::kInvalid;
  attrs.Get("value", &value);
  attrs.Get("dtype", &dtype);
  TANDEM_RETURN_IF_ERROR(value.metadata.Validate());
  if (value.metadata.dtype != dtype) {
    return InvalidArgument("value must be of the dtype that attribute dtype says, got value: ", value.metadata,
                           ", dtype: ", dtype);
  }
  const int64_t num_elements = value.metadata.num_elements();
  const bool complete = dtype == DType::kString ? static_cast<int64_t>(value.strings.size()) == num_elements
                                                : value.data != nullptr || num_elements == 0;
  if (!complete) return InvalidArgument("value must come with its elements, got ", value.metadata, " without");
  return value.metadata;
}

StatusOr<TensorMetadata> FillMetadata(HostInput dims, const TensorMetadata& value) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, ReadHostShape(dims, "dims"));
  if (value.rank() != 0) return InvalidArgument("value must be a scalar, got value: ", value);
  return TensorMetadata(value.dtype, shape);
}

// What the three inputs of Range say, in the arithmetic of their dtype.
template <typename T>
struct RangeBounds {
  T start;
  T limit;
  T delta;
};

template <typename T>
Status InvalidRange(const RangeBounds<T>& bounds, std::string_view rule) {
  return InvalidArgument(rule, ", got start: ", bounds.start, ", limit: ", bounds.limit, ", delta: ", bounds.delta);
}

template <typename T>
Status CheckRange(const RangeBounds<T>& bounds) {
  if (bounds.delta == 0) return InvalidRange(bounds, "delta must not be 0");
  if (bounds.delta > 0 && bounds.start > bounds.limit) {
    return InvalidRange(bounds, "limit must be at least start where delta is positive");
  }
  if (bounds.delta < 0 && bounds.start < bounds.limit) {
    return InvalidRange(bounds, "limit must be at most start where delta is negative");
  }
  return Status();
}

StatusOr<int64_t> RangeSize(const RangeBounds<int64_t>& bounds) {
  TANDEM_RETURN_IF_ERROR(CheckRange(bounds));
  const auto start = static_cast<uint64_t>(bounds.start);
  const auto limit = static_cast<uint64_t>(bounds.limit);
  const auto delta = static_cast<uint64_t>(bounds.delta);
  const uint64_t distance = bounds.delta > 0 ? limit - start : start - limit;
  const uint64_t step = bounds.delta > 0 ? delta : 0 - delta;
  const uint64_t size = distance / step + (distance % step != 0);
  if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return InvalidRange(bounds, "there must be at most 2^63-1 elements");
  }
  return static_cast<int64_t>(size);
}

// The quotient is rounded to T (f16, bf16 by way of float), as TensorFlow has it.
template <typename T, typename Arithmetic>
StatusOr<int64_t> RangeSize(const RangeBounds<Arithmetic>& bounds) {
  TANDEM_RETURN_IF_ERROR(CheckRange(bounds));
  const T distance(bounds.limit - bounds.start);
  const T quotient(static_cast<Arithmetic>(distance) / bounds.delta);
  const auto size = static_cast<double>(std::ceil(std::abs(static_cast<Arithmetic>(quotient))));
  if (!(size < 0x1p63)) return InvalidRange(bounds, "there must be at most 2^63-1 elements");
  return static_cast<int64_t>(size);
}

template <typename T, typename Arithmetic = T>
StatusOr<int64_t> FloatRangeSize(const HostInput& start, const HostInput& limit, const HostInput& delta) {
  const auto read = [](const HostInput& input) {
    return static_cast<Arithmetic>(*static_cast<const T*>(input.tensor().data()));
  };
  return RangeSize<T>(RangeBounds<Arithmetic>{read(start), read(limit), read(delta)});
}

StatusOr<int64_t> AnyRangeSize(const HostInput& start, const HostInput& limit, const HostInput& delta) {
  switch (start.metadata().dtype) {
    case DType::kF16:
      return FloatRangeSize<Float16, float>(start, limit, delta);
    case DType::kBF16:
      return FloatRangeSize<BFloat16, float>(start, limit, delta);
    case DType::kF32:
      return FloatRangeSize<float>(start, limit, delta);
    case DType::kF64:
      return FloatRangeSize<double>(start, limit, delta);
    default:
      return RangeSize(RangeBounds<int64_t>{start.Int(0), limit.Int(0), delta.Int(0)});
  }
}

StatusOr<TensorMetadata> RangeMetadata(HostInput start, HostInput limit, HostInput delta) {
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1) {
    return InvalidArgument("start, limit and delta must have one element each, got start: ", start.metadata(),
                           ", limit: ", limit.metadata(), ", delta: ", delta.metadata());
  }
  TANDEM_ASSIGN_OR_RETURN(const int64_t size, AnyRangeSize(start, limit, delta));
  return TensorMetadata(start.metadata().dtype, TensorShape({size}));
}

StatusOr<TensorMetadata> LinSpaceMetadata(const TensorMetadata& start, const TensorMetadata& stop, HostInput num) {
  if (start.rank() != 0 || stop.rank() != 0) {
    return InvalidArgument("start and stop must be scalars, got start: ", start, ", stop: ", stop);
  }
  TANDEM_ASSIGN_OR_RETURN(const int64_t count, num.Scalar("num"));
  if (count < 1) return InvalidArgument("num must be at least 1, got ", count);
  return TensorMetadata(start.dtype, TensorShape({count}));
}

StatusOr<TensorMetadata> OneHotMetadata(const TensorMetadata& indices, HostInput depth, const TensorMetadata& on_value,
                                        const TensorMetadata& off_value, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t size, depth.Scalar("depth"));
  if (size < 0) return InvalidArgument("depth must be at least 0, got ", size);
  if (on_value.rank() != 0 || off_value.rank() != 0) {
    return InvalidArgument("on_value and off_value must be scalars, got on_value: ", on_value,
                           ", off_value: ", off_value);
  }
  const auto given = attrs.GetOr<int64_t>("axis", -1);
  if (given < -1 || given > indices.rank()) {
    return InvalidArgument("axis must be in [-1, ", indices.rank(), "], got ", given);
  }
  TANDEM_RETURN_IF_ERROR(CheckHasRoom("indices", indices));
  const TensorShape result = InsertDim(indices.shape, given == -1 ? indices.rank() : static_cast<int>(given), size);
  TANDEM_RETURN_IF_ERROR(CheckElementCount(result, "indices: ", indices, ", depth: ", size));
  return TensorMetadata(on_value.dtype, result);
}

TANDEM_DEFINES OpDefinition ConstDef() {
  return OpDefinition("tf.Const")
      .Output("output: dtype")
      .Attr("value: tensor")
      .Attr("dtype: type")
      .Metadata<&ConstMetadata>()
      .Doc(TANDEM_DOC(R"(Gives a constant tensor.

value: The tensor, with its elements.
dtype: The dtype of `value`.)"));
}

TANDEM_DEFINES OpDefinition FillDef() {
  return OpDefinition("tf.Fill")
      .HostInput("dims: index_type")
      .Input("value: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("index_type: {int32, int64} = DT_INT32")
      .Metadata<&FillMetadata>()
      .Doc(TANDEM_DOC(R"(Makes a tensor whose elements all have one value.

On the host the result keeps the value once, whatever its shape.

dims: The sizes of the result, at most 8, each at least 0.
value: A scalar.)"));
}

TANDEM_DEFINES OpDefinition RangeDef() {
  return OpDefinition("tf.Range")
      .HostInput("start: Tidx")
      .HostInput("limit: Tidx")
      .HostInput("delta: Tidx")
      .Output("output: Tidx")
      .Attr("Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32} = DT_INT32")
      .Metadata<&RangeMetadata>()
      .Doc(TANDEM_DOC(R"(Counts from one number up or down to another, which is left out, in steps of one size.

Element i is start + i * delta, for floating-point dtypes computed in f64 and then rounded (to f16 and bf16 by way of
f32). The number of elements is |(limit - start) / delta|, computed in the dtype of the inputs and rounded up.

start: One number.
limit: One number: not below `start` if delta is positive, not above it if delta is negative.
delta: One number, not 0.)"));
}

TANDEM_DEFINES OpDefinition LinSpaceDef() {
  return OpDefinition("tf.LinSpace")
      .Input("start: T")
      .Input("stop: T")
      .HostInput("num: Tidx")
      .Output("output: T")
      .Attr("T: {bfloat16, half, float, double}")
      .Attr("Tidx: {int32, int64} = DT_INT32")
      .Metadata<&LinSpaceMetadata>()
      .Doc(TANDEM_DOC(R"(Divides an interval evenly by numbers, of which the first and last are its ends.

Element i is start + i * (stop - start) / (num - 1), computed in f64 and then rounded (to f16 and bf16 by way of f32);
the last one is `stop` exactly. With num 1 it is start alone.

start: A scalar.
stop: A scalar, above or below start.
num: One number, at least 1: how many there are.)"));
}

TANDEM_DEFINES OpDefinition ZerosLikeDef() {
  return OpDefinition("tf.ZerosLike")
      .Input("x: T")
      .Output("y: T")
      .Attr("T: type")
      .Metadata<&UnchangedMetadata>()
      .Doc(TANDEM_DOC(R"(Makes a tensor of zeros (false, empty strings) of the shape and dtype of another.

x: Of any shape; its elements do not matter.)"));
}

TANDEM_DEFINES OpDefinition OnesLikeDef() {
  return OpDefinition("tf.OnesLike")
      .Input("x: T")
      .Output("y: T")
      .Attr("T: {numbertype, bool}")
      .Metadata<&UnchangedMetadata>()
      .Doc(TANDEM_DOC(R"(Makes a tensor of ones (true) of the shape and dtype of another.

x: Of any shape; its elements do not matter.)"));
}

TANDEM_DEFINES OpDefinition OneHotDef() {
  return OpDefinition("tf.OneHot")
      .Input("indices: TI")
      .HostInput("depth: int32")
      .Input("on_value: T")
      .Input("off_value: T")
      .Output("output: T")
      .Attr("axis: int = -1")
      .Attr("T: type")
      .Attr("TI: {uint8, int8, int32, int64} = DT_INT64")
      .Metadata<&OneHotMetadata>()
      .Doc(TANDEM_DOC(R"(Replaces each index by a vector that has one value at the index and another everywhere else.

indices: Of any shape of at most 7 dimensions. An index outside [0, depth) gives a vector of off_value alone.
depth: One number, at least 0: the length of the vectors.
on_value: A scalar.
off_value: A scalar.
axis: Which dimension of the result the vectors lie along, in [0, rank of indices]; -1 for the last.)"));
}

TANDEM_DEFINES OpDefinition IdentityDef() {
  return OpDefinition("tf.Identity")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Metadata<&UnchangedMetadata>()
      .Aliases(0)
      .Doc(TANDEM_DOC(R"(Gives its input.

input: Any tensor; the result shares its memory.)"));
}

}  // namespace

Status RegisterCreationOps(OpRegistry& registry) {
  return RegisterOps(registry, {
                                   ConstDef(),
                                   FillDef(),
                                   RangeDef(),
                                   LinSpaceDef(),
                                   ZerosLikeDef(),
                                   OnesLikeDef(),
                                   OneHotDef(),
                                   IdentityDef(),
                               });
}

}  // namespace tandem
