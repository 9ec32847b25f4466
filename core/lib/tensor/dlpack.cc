// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DLPack in and out. What comes in is of somebody else's making: nothing of it is used unchecked.

#include "tandem/dlpack.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "tandem/host_tensors.h"
#include "tensor/dlpack_layout.h"

namespace tandem {

namespace dlpack {

StatusOr<TensorMetadata> CheckMetadata(const DLTensor& tensor) {
  const std::optional<DType> dtype = DTypeOf(tensor.dtype);
  if (!dtype) {
    return InvalidArgument("expected elements of ", kFixedSizeDTypes, " as DLPack has them, got type code ",
                           static_cast<int>(tensor.dtype.code), " of ", static_cast<int>(tensor.dtype.bits),
                           " bits and ", tensor.dtype.lanes, tensor.dtype.lanes == 1 ? " lane" : " lanes");
  }
  if (tensor.ndim < 0 || tensor.ndim > TensorShape::kMaxRank) {
    return InvalidArgument("expected at most ", TensorShape::kMaxRank, " dimensions, got ", tensor.ndim);
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    return InvalidArgument("expected a shape of ", tensor.ndim, " dimensions, got null");
  }
  const TensorMetadata metadata(*dtype, TensorShape({tensor.shape, static_cast<size_t>(tensor.ndim)}));
  TANDEM_RETURN_IF_ERROR(metadata.Validate());
  return metadata;
}

namespace {

// Ok if every element of a tensor that has some is where a pointer can be.
Status CheckReach(const TensorMetadata& metadata, uintptr_t begin, const int64_t* strides) {
  int64_t lowest = 0;
  int64_t highest = static_cast<int64_t>(DTypeSize(metadata.dtype));
  bool fits = true;
  for (int i = 0; i < metadata.rank(); ++i) {
    int64_t reach = 0;
    fits = fits && !__builtin_mul_overflow(metadata.dim(i) - 1, strides[i], &reach) &&
           !__builtin_mul_overflow(reach, static_cast<int64_t>(DTypeSize(metadata.dtype)), &reach);
    int64_t& end = reach < 0 ? lowest : highest;
    fits = fits && !__builtin_add_overflow(end, reach, &end);
  }
  uintptr_t first, last;
  fits = fits && highest <= PTRDIFF_MAX && lowest >= -PTRDIFF_MAX &&
         !__builtin_sub_overflow(begin, static_cast<uintptr_t>(-lowest), &first) &&
         !__builtin_add_overflow(begin, static_cast<uintptr_t>(highest), &last);
  if (fits) return Status();
  return InvalidArgument("strides of ", metadata, " lead beyond what can be addressed");
}

}  // namespace

Status FindElements(const DLTensor& tensor, const TensorMetadata& metadata, Elements* elements) {
  RowMajorStrides(metadata.shape, elements->strides);
  elements->base = nullptr;
  if (metadata.num_elements() == 0) return Status();
  if (tensor.data == nullptr) return InvalidArgument("expected data of ", metadata, ", got null");
  if (tensor.strides != nullptr) std::copy_n(tensor.strides, metadata.rank(), elements->strides);
  uintptr_t begin = reinterpret_cast<uintptr_t>(tensor.data);
  if (tensor.byte_offset > UINTPTR_MAX || __builtin_add_overflow(begin, tensor.byte_offset, &begin)) {
    return InvalidArgument("expected an offset within memory, got ", tensor.byte_offset);
  }
  elements->base = static_cast<const unsigned char*>(tensor.data) + tensor.byte_offset;
  return CheckReach(metadata, begin, elements->strides);
}

bool IsRowMajor(const TensorMetadata& metadata, const int64_t* strides) {
  int64_t expected = 1;
  for (int i = metadata.rank(); i-- > 0;) {
    if (metadata.dim(i) != 1 && strides[i] != expected) return false;
    expected *= metadata.dim(i);
  }
  return true;
}

namespace {

// Checks where the elements are, and how they follow each other.
Status Locate(const DLTensor& tensor, const TensorMetadata& metadata, Elements* elements) {
  const int32_t device = tensor.device.device_type;
  if (device != kCpu && device != kCudaHost && device != kRocmHost) {
    return InvalidArgument("expected memory of the CPU, got that of a device of type ", device);
  }
  return FindElements(tensor, metadata, elements);
}

// Copies elements of dimension `dim` and those inside of it; returns where the next ones go.
unsigned char* CopyStrided(const TensorMetadata& metadata, const Elements& from, int dim, const unsigned char* at,
                           unsigned char* to) {
  const size_t size = DTypeSize(metadata.dtype);
  if (dim == metadata.rank()) {
    std::memcpy(to, at, size);
    return to + size;
  }
  const ptrdiff_t step = static_cast<ptrdiff_t>(from.strides[dim]) * static_cast<ptrdiff_t>(size);
  for (int64_t i = 0; i < metadata.dim(dim); ++i) {
    to = CopyStrided(metadata, from, dim + 1, at + static_cast<ptrdiff_t>(i) * step, to);
  }
  return to;
}

StatusOr<Tensor> Copy(const TensorMetadata& metadata, const Elements& from, const Device& host,
                      HostAllocator& allocator) {
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, AllocateDense(metadata, host, allocator));
  auto* const data = static_cast<unsigned char*>(tensor.mutable_data());
  if (metadata.num_elements() > 0) CopyStrided(metadata, from, 0, from.base, data);
  if (metadata.dtype == DType::kBool) {
    for (size_t i = 0; i < metadata.byte_size(); ++i) data[i] = data[i] != 0;
  }
  return tensor;
}

template <typename Managed>
StatusOr<Tensor> Import(Managed* managed, const Device& host, HostAllocator& allocator) {
  if (managed == nullptr) return InvalidArgument("expected a tensor of DLPack, got null");
  if (Status wrong = CheckVersion(*managed); !wrong.ok()) {
    Release(managed);
    return wrong;
  }
  const DLTensor& from = managed->dl_tensor;
  Elements elements;
  const StatusOr<TensorMetadata> metadata = CheckMetadata(from);
  Status wrong = metadata.status();
  if (wrong.ok()) wrong = Locate(from, *metadata, &elements);
  if (!wrong.ok()) {
    Release(managed);
    return wrong;
  }
  const bool is_aligned = reinterpret_cast<uintptr_t>(elements.base) % DTypeSize(metadata->dtype) == 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(elements.base), metadata->byte_size());
  if (bytes.empty() || !is_aligned || !IsRowMajor(*metadata, elements.strides) ||
      !CheckElements(metadata->dtype, bytes).ok()) {
    StatusOr<Tensor> copy = Copy(*metadata, elements, host, allocator);
    Release(managed);
    return copy;
  }
  // Nobody writes to external memory.
  void* const data = const_cast<unsigned char*>(elements.base);
  TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer,
                          HostAllocator::WrapExternal(data, bytes.size(), [managed] { Release(managed); }));
  return Tensor(*metadata, &host, kDenseHost, data, std::move(buffer));
}

// What a tensor that goes out is kept by.
template <typename Managed>
struct Exported {
  explicit Exported(Tensor from) : tensor(std::move(from)) {}
  Managed managed;
  Tensor tensor;
  int64_t shape[TensorShape::kMaxRank];
  int64_t strides[TensorShape::kMaxRank];
  alignas(kTensorDataAlignment) unsigned char inline_data[Tensor::kInlineBytes];
};

template <typename Managed>
StatusOr<Managed*> Export(const Tensor& from, HostAllocator& allocator) {
  if (!IsHostType(from.type()) || from.dtype() == DType::kString) {
    return InvalidArgument("expected a tensor of numbers on the host for DLPack, got ", from.metadata(), " as ",
                           from.type().name());
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor dense, ToDense(from, allocator));
  auto* const exported = new (std::nothrow) Exported<Managed>(std::move(dense));
  if (exported == nullptr) return Status::OutOfMemory();
  const TensorMetadata& metadata = exported->tensor.metadata();
  std::copy_n(metadata.shape.dims().begin(), metadata.rank(), exported->shape);
  RowMajorStrides(metadata.shape, exported->strides);
  void* data = exported->tensor.mutable_data();
  if (exported->tensor.IsInline()) data = std::memcpy(exported->inline_data, data, metadata.byte_size());
  exported->managed.dl_tensor = {metadata.num_elements() == 0 ? nullptr : data,
                                 {kCpu, 0},
                                 metadata.rank(),
                                 TypeOf(metadata.dtype),
                                 exported->shape,
                                 exported->strides,
                                 0};
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->manager_ctx); };
  return &exported->managed;
}

}  // namespace

DLDataType TypeOf(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * DTypeSize(dtype));
  if (dtype == DType::kBool) return {kBool, bits, 1};
  if (dtype == DType::kBF16) return {kBfloat, bits, 1};
  if (dtype == DType::kC64) return {kComplex, bits, 1};
  if (kFloatDTypes.Contains(dtype)) return {kFloat, bits, 1};
  return {kSignedIntDTypes.Contains(dtype) ? kInt : kUInt, bits, 1};
}

std::optional<DType> DTypeOf(DLDataType type) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (kFixedSizeDTypes.Contains(dtype) && TypeOf(dtype) == type) return dtype;
  }
  return std::nullopt;
}

}  // namespace dlpack

StatusOr<Tensor> FromDlpack(DLManagedTensorVersioned* managed, const Device& host, HostAllocator& allocator) {
  return dlpack::Import(managed, host, allocator);
}

StatusOr<Tensor> FromDlpack(DLManagedTensor* managed, const Device& host, HostAllocator& allocator) {
  return dlpack::Import(managed, host, allocator);
}

StatusOr<DLManagedTensorVersioned*> ToDlpack(const Tensor& tensor, HostAllocator& allocator) {
  TANDEM_ASSIGN_OR_RETURN(DLManagedTensorVersioned* const managed,
                          dlpack::Export<DLManagedTensorVersioned>(tensor, allocator));
  managed->version = dlpack::kVersion;
  // A copy is the consumer's alone.
  managed->flags = tensor.IsA(kDenseHost) && !tensor.IsInline() ? dlpack::kReadOnly : dlpack::kIsCopied;
  return managed;
}

StatusOr<DLManagedTensor*> ToUnversionedDlpack(const Tensor& tensor, HostAllocator& allocator) {
  return dlpack::Export<DLManagedTensor>(tensor, allocator);
}

}  // namespace tandem
