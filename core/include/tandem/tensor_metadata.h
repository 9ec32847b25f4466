// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TensorMetadata: what can be known of a tensor without its data: dtype and shape.

#ifndef TANDEM_TENSOR_METADATA_H_
#define TANDEM_TENSOR_METADATA_H_

#include <cstddef>
#include <cstdint>

#include "tandem/dtype.h"
#include "tandem/export.h"
#include "tandem/message.h"
#include "tandem/status.h"
#include "tandem/tensor_shape.h"

namespace tandem {

// A plain value. It may be invalid, as its shape may be; whoever allocates from it asks first.
struct TANDEM_EXPORT TensorMetadata {
  TensorMetadata() = default;
  TensorMetadata(DType dtype, const TensorShape& shape) : dtype(dtype), shape(shape) {}

  int rank() const { return shape.rank(); }
  int64_t dim(int i) const { return shape.dim(i); }
  int64_t num_elements() const { return shape.num_elements(); }

  // Bytes of the dense data; 0 for strings. The metadata must be valid.
  size_t byte_size() const { return static_cast<size_t>(num_elements()) * DTypeSize(dtype); }

  // Whether the dtype is set, the shape is valid and a dense tensor of it can be addressed: its byte size fits in
  // ptrdiff_t of this target (TH-8).
  bool IsValid() const {
    return dtype != DType::kInvalid && shape.IsValid() &&
           static_cast<uint64_t>(num_elements()) <= static_cast<uint64_t>(PTRDIFF_MAX) / kMaxElementSize;
  }
  Status Validate() const;

  friend bool operator==(const TensorMetadata& a, const TensorMetadata& b) {
    return a.dtype == b.dtype && a.shape == b.shape;
  }

  static constexpr size_t kMaxElementSize = 8;

  DType dtype = DType::kInvalid;
  TensorShape shape;
};

// "f32[2,3]"; a scalar is "f32[]".
TANDEM_EXPORT void AppendTo(MessageBuilder& out, const TensorMetadata& metadata);

}  // namespace tandem

#endif  // TANDEM_TENSOR_METADATA_H_
