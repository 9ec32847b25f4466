// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// From indices and masks, which may leave dimensions out, to one range for each dimension.

#include "tandem/strided_slice.h"

#include <algorithm>
#include <span>

namespace tandem {
namespace {

constexpr int64_t kMaxIndices = 32;

struct Indices {
  int64_t values[kMaxIndices];
  size_t size = 0;

  explicit Indices(const HostInput& input) : size(static_cast<size_t>(input.size())) {
    for (size_t i = 0; i < size; ++i) values[i] = input.Int(static_cast<int64_t>(i));
  }
  std::span<const int64_t> span() const { return {values, size}; }
};

// The bits of a mask attribute, one for each index.
class Mask {
 public:
  Mask(const OpAttrsRef& attrs, std::string_view name) : bits_(static_cast<uint64_t>(attrs.GetOr<int64_t>(name, 0))) {}
  bool operator[](size_t i) const { return (bits_ >> i & 1) != 0; }

 private:
  uint64_t bits_;
};

struct Masks {
  explicit Masks(const OpAttrsRef& attrs)
      : begin(attrs, "begin_mask"),
        end(attrs, "end_mask"),
        ellipsis(attrs, "ellipsis_mask"),
        new_axis(attrs, "new_axis_mask"),
        shrink(attrs, "shrink_axis_mask") {}
  // Which of them are in force where several are: in this order.
  bool IsNewAxis(size_t i) const { return new_axis[i] && !ellipsis[i]; }
  bool TakesDim(size_t i) const { return !new_axis[i] && !ellipsis[i]; }

  Mask begin;
  Mask end;
  Mask ellipsis;
  Mask new_axis;
  Mask shrink;
};

Status CheckVectors(const HostInput& begin, const HostInput& end, const HostInput& strides) {
  const auto is_vector = [&](const HostInput& input) {
    return input.metadata().rank() == 1 && input.size() == begin.size();
  };
  if (!is_vector(begin) || !is_vector(end) || !is_vector(strides)) {
    return InvalidArgument("begin, end and strides must be vectors of one length, got begin: ", begin.metadata(),
                           ", end: ", end.metadata(), ", strides: ", strides.metadata());
  }
  if (begin.size() > kMaxIndices) {
    return InvalidArgument("begin must have at most ", kMaxIndices, " elements, got begin: ", begin.metadata());
  }
  return Status();
}

// A range within a dimension of size `dim`: indices below 0 count from its end, and those beyond its ends stop there.
SliceDim ResolveRange(int64_t dim, int64_t begin, int64_t end, int64_t step, bool ignore_begin, bool ignore_end) {
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? dim : dim - 1;
  const auto clamp = [&](int64_t index) { return std::clamp(index < 0 ? index + dim : index, low, high); };
  const int64_t first = ignore_begin ? (step > 0 ? low : high) : clamp(begin);
  const int64_t last = ignore_end ? (step > 0 ? high : low) : clamp(end);
  SliceDim result;
  result.begin = first;
  if (step > 0 ? first < last : first > last) {
    const int64_t distance = last - first;
    result.size = distance / step + (distance % step != 0);
  }
  if (result.size > 1) result.step = step;
  if (result.size == 0) result.begin = 0;
  return result;
}

}  // namespace

StatusOr<StridedSlice> StridedSlice::Resolve(const TensorMetadata& input, const HostInput& begin, const HostInput& end,
                                             const HostInput& strides, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckVectors(begin, end, strides));
  const Masks masks(attrs);
  const Indices begins(begin);
  const Indices ends(end);
  const Indices steps(strides);
  int taken = 0;  // dimensions that have an index of their own
  int ellipses = 0;
  for (size_t i = 0; i < begins.size; ++i) {
    taken += masks.TakesDim(i);
    ellipses += masks.ellipsis[i];
  }
  if (ellipses > 1) {
    return InvalidArgument("ellipsis_mask must be set for at most one index, got ",
                           attrs.GetOr<int64_t>("ellipsis_mask", 0));
  }
  if (taken > input.rank()) {
    return InvalidArgument("there must be at most one index for each dimension of input, got input: ", input,
                           ", begin: ", begins.span());
  }
  StridedSlice slice;
  int next = 0;  // dimension of the input
  const auto take_whole = [&](int count) {
    for (; count > 0; --count, ++next) {
      slice.dims[next].size = input.dim(next);
      slice.result.Append(input.dim(next));
    }
  };
  for (size_t i = 0; i < begins.size; ++i) {
    if (masks.ellipsis[i]) {
      take_whole(input.rank() - taken);
      continue;
    }
    if (masks.IsNewAxis(i)) {
      slice.result.Append(1);
      continue;
    }
    const int64_t dim = input.dim(next);
    const int64_t first = begins.values[i];
    const int64_t step = steps.values[i];
    if (step == 0 || (step < 0 && masks.shrink[i])) {
      return InvalidArgument("strides must not be 0, and positive where shrink_axis_mask is set, got strides: ",
                             steps.span());
    }
    if (masks.shrink[i]) {
      if (first < -dim || first >= dim) {
        return InvalidArgument("begin must be in [", -dim, ", ", dim, ") for dimension ", next,
                               " of input, got input: ", input, ", begin: ", begins.span());
      }
      slice.dims[next].begin = first < 0 ? first + dim : first;
      slice.dims[next].size = 1;
    } else {
      slice.dims[next] = ResolveRange(dim, first, ends.values[i], step, masks.begin[i], masks.end[i]);
      slice.result.Append(slice.dims[next].size);
    }
    ++next;
  }
  take_whole(input.rank() - next);
  if (!slice.result.IsValid()) {
    return InvalidArgument("the result must have at most ", TensorShape::kMaxRank, " dimensions, got input: ", input,
                           ", new_axis_mask: ", attrs.GetOr<int64_t>("new_axis_mask", 0));
  }
  return slice;
}

}  // namespace tandem
