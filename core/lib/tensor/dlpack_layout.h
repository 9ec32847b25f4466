// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The structs of DLPack 1.x, as its specification lays them out, by their own names; and its numbers for dtypes. For
// sources that do not include a dlpack.h.

#ifndef TANDEM_CORE_LIB_TENSOR_DLPACK_LAYOUT_H_
#define TANDEM_CORE_LIB_TENSOR_DLPACK_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tandem/dlpack.h"
#include "tandem/dtype.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"
#include "tandem/tensor_shape.h"

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  friend bool operator==(const DLDataType&, const DLDataType&) = default;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major without gaps
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

namespace tandem::dlpack {

inline constexpr DLPackVersion kVersion = {1, 1};

inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kIsCopied = 2;

// Device types.
inline constexpr int32_t kCpu = 1;
inline constexpr int32_t kCuda = 2;
inline constexpr int32_t kCudaHost = 3;      // pinned memory, which the CPU sees
inline constexpr int32_t kRocmHost = 11;     // likewise
inline constexpr int32_t kCudaManaged = 13;  // of the host and all devices

// Type codes.
inline constexpr uint8_t kInt = 0;
inline constexpr uint8_t kUInt = 1;
inline constexpr uint8_t kFloat = 2;
inline constexpr uint8_t kBfloat = 4;
inline constexpr uint8_t kComplex = 5;
inline constexpr uint8_t kBool = 6;

// Of a dtype with elements of fixed size.
DLDataType TypeOf(DType dtype);
// Empty if Tandem has none like it.
std::optional<DType> DTypeOf(DLDataType type);

// Strides in elements of row-major data without gaps; `strides` has room for as many as the shape has dimensions.
inline void RowMajorStrides(const TensorShape& shape, int64_t* strides) {
  int64_t stride = 1;
  for (int i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape.dim(i);
  }
}

// Elements in memory, in an order of their own.
struct Elements {
  const unsigned char* base = nullptr;  // of the first one; null if there is none
  int64_t strides[TensorShape::kMaxRank];
};

// What a tensor says of itself, once it can be true, whatever memory it is in.
StatusOr<TensorMetadata> CheckMetadata(const DLTensor& tensor);
Status FindElements(const DLTensor& tensor, const TensorMetadata& metadata, Elements* elements);
// Of a tensor that has elements.
bool IsRowMajor(const TensorMetadata& metadata, const int64_t* strides);

inline DLPackVersion VersionOf(const DLManagedTensorVersioned& managed) { return managed.version; }
inline DLPackVersion VersionOf(const DLManagedTensor&) { return kVersion; }

// Ok if the struct is one that this knows.
template <typename Managed>
Status CheckVersion(const Managed& managed) {
  const DLPackVersion given = VersionOf(managed);
  if (given.major == kVersion.major) return Status();
  return InvalidArgument("expected a tensor of DLPack ", kVersion.major, ".x, got one of ", given.major, ".",
                         given.minor);
}

template <typename Managed>
void Release(Managed* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace tandem::dlpack

#endif  // TANDEM_CORE_LIB_TENSOR_DLPACK_LAYOUT_H_
