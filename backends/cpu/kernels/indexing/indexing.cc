// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GatherV2, GatherNd and Where: elements by index, and indices of elements.

#include <algorithm>
#include <cstring>

#include "kernels/indexing/indexing_rows.h"
#include "kernels/kernels.h"
#include "kernels/shape/shape_movement.h"
#include "tandem/host_context.h"
#include "tandem/op_axis.h"

namespace tandem::cpu {
namespace {

// GatherV2, or GatherNd, as a copy of slices: for each of `batches` and `outer` positions, one slice for each of
// `count` indices.
struct GatherLayout {
  GatherLayout(const TensorShape& params, const TensorShape& indices, int axis, int batch_dims) {
    for (int i = 0; i < axis; ++i) (i < batch_dims ? batches : outer) *= params.dim(i);
    for (int i = batch_dims; i < indices.rank(); ++i) count *= indices.dim(i);
    for (int i = axis + 1; i < params.rank(); ++i) slice *= params.dim(i);
    limit = params.dim(axis);
  }
  explicit GatherLayout(const SliceNumbers& numbers)
      : count(numbers.size()), limit(numbers.num_slices()), slice(numbers.slice_size()) {}
  int64_t batches = 1;
  int64_t outer = 1;
  int64_t count = 1;
  int64_t limit;      // indices are below
  int64_t slice = 1;  // elements
};

template <typename Index>
Status CheckIndices(const DenseArg& indices, int64_t limit) {
  const Index* index = indices.data<Index>();
  const bool valid = AreInRange(index, indices.size(), limit);
  if (valid) return KernelRun::CheckWanted();
  int64_t first = 0;
  while (index[first] >= 0 && static_cast<int64_t>(index[first]) < limit) ++first;
  return InvalidArgument("indices must be in [0, ", limit, "), got ", index[first], " at position ",
                         Position(indices.shape(), first).span());
}

// A slice of more than half, and at most all, of twice this many bytes.
template <size_t kHalf>
struct ShortSlice {};

template <typename Slice>
inline constexpr size_t kHalfOf = 0;
template <size_t kHalf>
inline constexpr size_t kHalfOf<ShortSlice<kHalf>> = kHalf;

// Slices [begin, end) of the result. `bytes` is the size of a slice where Slice is void or a ShortSlice, else
// sizeof(Slice).
template <typename Slice, typename Index>
void GatherSlices(const GatherLayout& layout, const Index* indices, size_t bytes, const std::byte* params,
                  std::byte* out, int64_t begin, int64_t end) {
  constexpr size_t kHalf = kHalfOf<Slice>;
  if constexpr (!std::is_void_v<Slice> && kHalf == 0) bytes = sizeof(Slice);
  int64_t group = begin / layout.count;  // number of the batch and outer position
  int64_t column = begin - group * layout.count;
  out += static_cast<size_t>(begin) * bytes;
  for (; begin < end; ++group, column = 0) {
    const int64_t stop = std::min(layout.count, column + (end - begin));
    begin += stop - column;
    const std::byte* from = params + static_cast<size_t>(group * layout.limit) * bytes;
    const Index* index = indices + group / layout.outer * layout.count;
    for (; column < stop; ++column, out += bytes) {
      const std::byte* slice = from + static_cast<size_t>(index[column]) * bytes;
      if constexpr (kHalf > 0) {
        CopyHalves<kHalf>(out, slice, bytes);
      } else if constexpr (std::is_void_v<Slice>) {
        CopyLong(out, slice, bytes);
      } else {
        std::memcpy(out, slice, sizeof(Slice));
      }
    }
  }
}

template <typename Index>
void Gather(const KernelFrame& frame, const GatherLayout& layout, const Index* indices, size_t bytes,
            const std::byte* params, std::byte* out) {
  constexpr double kNanosecondsPerSlice = 3;
  const double cost = kNanosecondsPerSlice + static_cast<double>(bytes) / kCopyBytesPerNanosecond;
  const auto run = [&]<typename Slice>(std::type_identity<Slice>) {
    frame.ParallelFor(layout.batches * layout.outer * layout.count, cost, [&](int64_t begin, int64_t end) {
      GatherSlices<Slice, Index>(layout, indices, bytes, params, out, begin, end);
    });
  };
  if (bytes <= sizeof(Bytes16) && (bytes & (bytes - 1)) == 0) {
    WithElementType(bytes, run);
  } else if (bytes <= kMaxShortBytes) {
    WithHalf(bytes, [&](auto half) { run(std::type_identity<ShortSlice<half()>>()); });
  } else {
    run(std::type_identity<void>());
  }
}

template <typename Index>
Status GatherAs(KernelFrame& frame, const DenseArg& indices) {
  const TensorShape& params = frame.arg(0).shape();
  const auto batch_dims = frame.attrs().GetOr<int64_t>("batch_dims", 0);
  const GatherLayout layout(params, indices.shape(), AxisInput(frame.arg(2), params.rank()),
                            static_cast<int>(batch_dims < 0 ? batch_dims + indices.shape().rank() : batch_dims));
  TANDEM_RETURN_IF_ERROR(CheckIndices<Index>(indices, layout.limit));
  if (SpreadScalar(frame, 0)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  if (frame.result_metadata(0).num_elements() > 0) {
    const size_t bytes = static_cast<size_t>(layout.slice) * source.element_size();
    Gather(frame, layout, indices.data<Index>(), bytes, source.data(), sink.data());
  }
  sink.Finish(frame);
  return Status();
}

Status GatherKernel(const Tensor&, DenseArg indices, KernelFrame& frame) {
  switch (indices.dtype()) {
    case DType::kI16:
      return GatherAs<int16_t>(frame, indices);
    case DType::kI32:
      return GatherAs<int32_t>(frame, indices);
    default:
      return GatherAs<int64_t>(frame, indices);
  }
}

Status GatherNdKernel(const Tensor& params, DenseArg indices, KernelFrame& frame) {
  SliceNumbers numbers;
  TANDEM_RETURN_IF_ERROR(numbers.Init(indices, params.shape()));
  if (SpreadScalar(frame, 0) || GiveEmpty(frame)) return Status();
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  const size_t bytes = static_cast<size_t>(numbers.slice_size()) * source.element_size();
  Gather(frame, GatherLayout(numbers), numbers.data(), bytes, source.data(), sink.data());
  sink.Finish(frame);
  return Status();
}

// Part `part` of [0, n) cut into `parts`.
int64_t PartBegin(int64_t n, int64_t part, int64_t parts) { return n / parts * part + std::min(part, n % parts); }

// The bits that tell a number from zero: for floating-point numbers all but the sign.
uint64_t NonZeroBits(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return 0x7FFF;
    case DType::kF32:
      return 0x7FFFFFFF;
    case DType::kF64:
      return 0x7FFFFFFFFFFFFFFF;
    case DType::kC64:
      return 0x7FFFFFFF7FFFFFFF;
    default:
      return ~uint64_t{0};
  }
}

// Writes the indices in `shape` of the elements in [begin, end) that are not zero.
template <typename Bits>
void WriteIndices(const Bits* elements, Bits mask, const TensorShape& shape, int64_t begin, int64_t end, int64_t* out) {
  if (begin == end) return;
  const int rank = shape.rank();
  int64_t index[TensorShape::kMaxRank];
  int64_t rest = begin;
  for (int i = rank; i-- > 0;) {
    index[i] = rest % shape.dim(i);
    rest /= shape.dim(i);
  }
  StopPoll poll(kPollElements / 4);
  for (; begin < end && !poll.Stops(); ++begin) {
    if ((elements[begin] & mask) != 0) out = std::copy_n(index, rank, out);
    for (int i = rank; i-- > 0;) {
      if (++index[i] < shape.dim(i)) break;
      index[i] = 0;
    }
  }
}

template <typename Bits>
StatusOr<Tensor> FindNonZero(DenseArg input, KernelFrame& frame) {
  constexpr int64_t kMaxParts = 64;
  constexpr int64_t kMinPartSize = 4096;
  constexpr double kNanosecondsPerElement = 2;
  const auto* elements = input.data<Bits>();
  const auto mask = static_cast<Bits>(NonZeroBits(input.dtype()));
  const int64_t n = input.size();
  const int64_t parts = std::clamp<int64_t>(n / kMinPartSize, 1, kMaxParts);
  int64_t first_row[kMaxParts + 1] = {};  // of each part
  const double cost_per_part = kNanosecondsPerElement * static_cast<double>(n / parts);
  frame.ParallelFor(parts, cost_per_part / 4, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const auto* from = elements + PartBegin(n, part, parts);
      InSteps(PartBegin(n, part + 1, parts) - PartBegin(n, part, parts), kPollElements,
              [&](int64_t first, int64_t last) {
                int64_t count = 0;
                for (int64_t i = first; i < last; ++i) count += (from[i] & mask) != 0;
                first_row[part + 1] += count;
              });
    }
  });
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  for (int64_t part = 0; part < parts; ++part) first_row[part + 1] += first_row[part];
  const TensorShape& shape = input.shape();
  const TensorMetadata metadata(DType::kI64, {first_row[parts], shape.rank()});
  TANDEM_ASSIGN_OR_RETURN(Tensor result, AllocateDense(metadata, frame.host().device(), frame.host().allocator()));
  auto* out = static_cast<int64_t*>(result.mutable_data());
  frame.ParallelFor(parts, cost_per_part, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      WriteIndices(elements, mask, shape, PartBegin(n, part, parts), PartBegin(n, part + 1, parts),
                   out + first_row[part] * shape.rank());
    }
  });
  return result;
}

StatusOr<Tensor> WhereKernel(DenseArg input, KernelFrame& frame) {
  switch (DTypeSize(input.dtype())) {
    case 1:
      return FindNonZero<uint8_t>(input, frame);
    case 2:
      return FindNonZero<uint16_t>(input, frame);
    case 4:
      return FindNonZero<uint32_t>(input, frame);
    default:
      return FindNonZero<uint64_t>(input, frame);
  }
}

}  // namespace

Status RegisterIndexingKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&GatherKernel>("tf.GatherV2", DTypeSet::All(), {0, &MovementCost}),
      KernelEntryOf<&GatherNdKernel>("tf.GatherNd", DTypeSet::All(), {0, &MovementCost}),
      KernelEntryOf<&WhereKernel>("tf.Where", kFixedSizeDTypes, {2}),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  TANDEM_RETURN_IF_ERROR(RegisterScatterKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterTopKKernels(handler));
  return RegisterUniqueKernels(handler);
}

}  // namespace tandem::cpu
