// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TensorShape: the dimensions of a tensor, outermost first, with the element count checked as they are added.

#ifndef TANDEM_TENSOR_SHAPE_H_
#define TANDEM_TENSOR_SHAPE_H_

#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "tandem/export.h"
#include "tandem/message.h"
#include "tandem/status.h"

namespace tandem {

// A plain value without allocation. A shape with a negative dimension, a rank above kMaxRank or an element count above
// 2^63-1 (zero dimensions not counted) is *invalid* (TH-8): it may be built, passed on and printed, and whoever would
// allocate from it asks `IsValid()` first; the runtime does so for the result of every metadata function.
class TANDEM_EXPORT TensorShape {
 public:
  static constexpr int kMaxRank = 8;

  // A scalar: rank 0, one element.
  TensorShape() = default;
  TensorShape(std::initializer_list<int64_t> dims) : TensorShape(std::span(dims.begin(), dims.size())) {}
  explicit TensorShape(std::span<const int64_t> dims) {
    for (int64_t dim : dims) Append(dim);
  }

  int rank() const { return rank_; }
  int64_t dim(int i) const {
    assert(i >= 0 && i < rank_);
    return dims_[i];
  }
  std::span<const int64_t> dims() const { return {dims_, static_cast<size_t>(rank_)}; }

  // 0 for an invalid shape.
  int64_t num_elements() const { return num_elements_ < 0 ? 0 : num_elements_; }
  bool IsValid() const { return num_elements_ >= 0; }
  // Says which dimension is negative, or that the count overflows; ok for a valid shape.
  Status Validate() const;

  void Append(int64_t dim) {
    if (rank_ == kMaxRank) {
      has_more_dims_ = true;
      num_elements_ = kInvalid;
      return;
    }
    dims_[rank_++] = dim;
    // The common case without a division: both factors and the product are small and positive.
    if (static_cast<uint64_t>(dim) - 1 < kSmall && static_cast<uint64_t>(num_elements_) - 1 < kSmall) {
      num_elements_ *= dim;
    } else {
      Recount();
    }
  }
  void SetDim(int i, int64_t dim) {
    assert(i >= 0 && i < rank_);
    dims_[i] = dim;
    Recount();
  }

  friend bool operator==(const TensorShape& a, const TensorShape& b) {
    if (a.rank_ != b.rank_ || a.num_elements_ != b.num_elements_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.dims_[i] != b.dims_[i]) return false;
    }
    return true;
  }

 private:
  static constexpr int64_t kInvalid = -1;
  static constexpr uint64_t kSmall = uint64_t{1} << 31;
  void Recount();

  int64_t num_elements_ = 1;  // kInvalid if the shape is
  int16_t rank_ = 0;
  bool has_more_dims_ = false;  // than it can keep: invalid for good
  int64_t dims_[kMaxRank] = {};
};

// The common shape of two shapes under NumPy broadcasting: aligned at the last dimension, 1 stretches. Invalid
// argument, naming both shapes, if they do not fit.
TANDEM_EXPORT StatusOr<TensorShape> BroadcastShapes(const TensorShape& a, const TensorShape& b);

// `axis` in [-rank, rank) as a dimension number in [0, rank); invalid argument otherwise, naming `what`.
TANDEM_EXPORT StatusOr<int> NormalizeAxis(int64_t axis, int rank, std::string_view what);

// "[2,3]"
TANDEM_EXPORT void AppendTo(MessageBuilder& out, const TensorShape& shape);

}  // namespace tandem

#endif  // TANDEM_TENSOR_SHAPE_H_
