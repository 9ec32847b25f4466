// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// StridedSlice: what the vectors and masks of tf.StridedSlice come down to, for its metadata function and every kernel.

#ifndef TANDEM_STRIDED_SLICE_H_
#define TANDEM_STRIDED_SLICE_H_

#include <cstdint>

#include "tandem/export.h"
#include "tandem/metadata_function.h"
#include "tandem/op_attrs.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// One dimension of the input: the elements begin, begin + step, ..., `size` of them, all within the dimension.
struct SliceDim {
  int64_t begin = 0;
  int64_t step = 1;  // 1 where `size` is at most 1
  int64_t size = 0;
};

// What is taken of each dimension of the input, and the shape that gives.
struct TANDEM_EXPORT StridedSlice {
  // `begin`, `end` and `strides` are vectors of integers; the masks are attributes. InvalidArgument, naming the
  // arguments by these names, if they do not fit together or to `input`.
  static StatusOr<StridedSlice> Resolve(const TensorMetadata& input, const HostInput& begin, const HostInput& end,
                                        const HostInput& strides, const OpAttrsRef& attrs);

  SliceDim dims[TensorShape::kMaxRank];  // one for each dimension of the input
  TensorShape result;                    // with the dimensions that are new, and without those that are dropped
};

}  // namespace tandem

#endif  // TANDEM_STRIDED_SLICE_H_
