// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Making host tensors and converting between their types.

#include "tandem/host_tensors.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "tandem/kernel_run.h"
#include "tensor/copy_elements.h"

namespace tandem {

namespace {

// The parts of a sparse tensor.
class SparseCooStorage final : public TensorStorage {
 public:
  SparseCooStorage(Tensor indices, Tensor values) : indices(std::move(indices)), values(std::move(values)) {}
  const Tensor indices;
  const Tensor values;
};

Status RequireFixedSize(const TensorMetadata& metadata) {
  TANDEM_RETURN_IF_ERROR(metadata.Validate());
  if (DTypeSize(metadata.dtype) == 0) {
    return InvalidArgument("a dense tensor must have elements of fixed size, got ", metadata);
  }
  return Status();
}

// The conversions run in kernels, too, which may have to end (CA-4): after so many bytes, or elements one by one, they
// ask. What they then give is an error, or discarded.
constexpr size_t kPollBytes = size_t{4} << 20;
constexpr int64_t kPollElements = int64_t{1} << 16;

// Writes `count` copies of the element at `value`.
void FillElements(void* data, const void* value, size_t element_size, int64_t count) {
  auto* bytes = static_cast<unsigned char*>(data);
  const size_t size = static_cast<size_t>(count) * element_size;
  if (size == 0) return;
  std::memcpy(bytes, value, element_size);
  // All of these are whole elements, whose size is a power of two.
  for (size_t filled = element_size; filled < size && !(filled >= kPollBytes && KernelRun::IsStopped());) {
    const size_t next = std::min({filled, size - filled, kPollBytes});
    std::memcpy(bytes + filled, bytes, next);
    filled += next;
  }
}

void FillZeros(void* data, size_t size) {
  InSteps(static_cast<int64_t>(size), int64_t{kPollBytes}, [&](int64_t begin, int64_t end) {
    std::memset(static_cast<unsigned char*>(data) + begin, 0, static_cast<size_t>(end - begin));
  });
}

bool IsZeroElement(const void* element, size_t element_size) {
  static constexpr unsigned char kZeros[TensorMetadata::kMaxElementSize] = {};
  return std::memcmp(element, kZeros, element_size) == 0;
}

const void* ElementAt(const Tensor& tensor, int64_t i) {
  const size_t size = DTypeSize(tensor.dtype());
  return static_cast<const unsigned char*>(tensor.data()) +
         (tensor.IsA(kScalarHost) ? 0 : static_cast<size_t>(i) * size);
}

// Of a dense or scalar host tensor; of the latter, which may have any number of elements, without looking at each.
StatusOr<int64_t> CountNonZero(const Tensor& tensor) {
  const size_t element_size = DTypeSize(tensor.dtype());
  if (tensor.IsA(kScalarHost)) return IsZeroElement(tensor.data(), element_size) ? 0 : tensor.num_elements();
  int64_t count = 0;
  StopPoll poll(kPollElements);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (poll.Stops()) return KernelRun::CheckWanted();
    count += !IsZeroElement(ElementAt(tensor, i), element_size);
  }
  return count;
}

}  // namespace

bool IsHostType(const TensorType& type) {
  return &type == &kDenseHost || &type == &kScalarHost || &type == &kStringHost || &type == &kSparseCooHost;
}

Status AllocateDenseIn(Tensor& tensor, HostAllocator& allocator) {
  const size_t size = tensor.metadata().byte_size();
  if (size <= Tensor::kInlineBytes) {
    tensor.UseInlineData(kDenseHost);
    return Status();
  }
  TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer, allocator.Allocate(size));
  void* data = buffer->data();
  tensor.UseStorage(kDenseHost, data, std::move(buffer));
  return Status();
}

StatusOr<Tensor> AllocateDense(const TensorMetadata& metadata, const Device& host, HostAllocator& allocator) {
  TANDEM_RETURN_IF_ERROR(RequireFixedSize(metadata));
  Tensor tensor(metadata, &host);
  TANDEM_RETURN_IF_ERROR(AllocateDenseIn(tensor, allocator));
  return tensor;
}

StatusOr<Tensor> MakeDense(const TensorMetadata& metadata, std::span<const std::byte> bytes, const Device& host,
                           HostAllocator& allocator) {
  TANDEM_RETURN_IF_ERROR(RequireFixedSize(metadata));
  if (bytes.size() != metadata.byte_size()) {
    return InvalidArgument("data of ", metadata, " must have ", metadata.byte_size(), " bytes, got ", bytes.size());
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, AllocateDense(metadata, host, allocator));
  internal::CopyElements(metadata.dtype, bytes.data(), bytes.size(), tensor.mutable_data());
  return tensor;
}

Status CheckElements(DType dtype, std::span<const std::byte> bytes) {
  if (dtype != DType::kBool) return Status();
  // Without a way out of the loop, compilers compare many bytes at once.
  std::byte all{0};
  for (const std::byte byte : bytes) all |= byte;
  if (all <= std::byte{1}) return Status();
  size_t wrong = 0;
  while (bytes[wrong] <= std::byte{1}) ++wrong;
  return InvalidArgument("data of bool must be bytes of 0 or 1, got ", static_cast<int>(bytes[wrong]), " at index ",
                         wrong);
}

StatusOr<Tensor> MakeScalar(const TensorMetadata& metadata, const void* value, const Device& host) {
  TANDEM_RETURN_IF_ERROR(RequireFixedSize(metadata));
  Tensor tensor(metadata, &host);
  void* element = tensor.UseInlineData(kScalarHost);
  if (metadata.dtype == DType::kBool) {
    *static_cast<unsigned char*>(element) = *static_cast<const unsigned char*>(value) != 0;
  } else {
    std::memcpy(element, value, DTypeSize(metadata.dtype));
  }
  return tensor;
}

StatusOr<Tensor> MakeString(const TensorShape& shape, std::span<const std::string_view> strings, const Device& host,
                            HostAllocator& allocator) {
  const TensorMetadata metadata(DType::kString, shape);
  TANDEM_RETURN_IF_ERROR(metadata.Validate());
  if (static_cast<uint64_t>(shape.num_elements()) != strings.size()) {
    return InvalidArgument("a string tensor of shape ", shape, " must have ", shape.num_elements(), " elements, got ",
                           strings.size());
  }
  size_t size = (strings.size() + 1) * sizeof(uint64_t);
  for (std::string_view text : strings) {
    if (__builtin_add_overflow(size, text.size(), &size) || size > PTRDIFF_MAX) {
      return ResourceExhausted("the strings of ", metadata, " are too large to be addressed");
    }
  }
  TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer, allocator.Allocate(size));
  auto* offsets = static_cast<uint64_t*>(buffer->data());
  char* bytes = reinterpret_cast<char*>(offsets + strings.size() + 1);
  uint64_t offset = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    offsets[i] = offset;
    if (!strings[i].empty()) std::memcpy(bytes + offset, strings[i].data(), strings[i].size());
    offset += strings[i].size();
  }
  offsets[strings.size()] = offset;
  void* data = buffer->data();
  return Tensor(metadata, &host, kStringHost, data, std::move(buffer));
}

StatusOr<Tensor> MakeSparseCoo(const TensorMetadata& metadata, Tensor indices, Tensor values, const Device& host) {
  TANDEM_RETURN_IF_ERROR(RequireFixedSize(metadata));
  const int rank = metadata.rank();
  const int64_t count = values.num_elements();
  if (values.dtype() != metadata.dtype || values.shape().rank() != 1) {
    return InvalidArgument("values of sparse ", metadata, " must be ", metadata.dtype, " of rank 1, got ",
                           values.metadata());
  }
  if (!(indices.metadata() == TensorMetadata(DType::kI64, {count, rank}))) {
    return InvalidArgument("indices of sparse ", metadata, " must be ", TensorMetadata(DType::kI64, {count, rank}),
                           ", got ", indices.metadata());
  }
  if (!indices.IsA(kDenseHost) || !values.IsA(kDenseHost)) {
    return InvalidArgument("indices and values of a sparse tensor must be dense, got ", indices.type().name(), " and ",
                           values.type().name());
  }
  const int64_t* index = DenseData<int64_t>(indices).data();
  StopPoll poll(kPollElements);
  for (int64_t row = 0; row < count; ++row, index += rank) {
    if (poll.Stops()) return KernelRun::CheckWanted();
    for (int i = 0; i < rank; ++i) {
      if (index[i] >= 0 && index[i] < metadata.dim(i)) continue;
      return InvalidArgument("indices of sparse ", metadata, " must be inside its shape, got ",
                             std::span(index, static_cast<size_t>(rank)), " in row ", row);
    }
    if (row > 0 && !std::lexicographical_compare(index - rank, index, index, index + rank)) {
      return InvalidArgument("indices of sparse ", metadata, " must ascend, got ",
                             std::span(index, static_cast<size_t>(rank)), " in row ", row);
    }
  }
  RcRef<SparseCooStorage> storage = MakeRef<SparseCooStorage>(std::move(indices), std::move(values));
  if (!storage) return Status::OutOfMemory();
  void* data = storage.get();
  return Tensor(metadata, &host, kSparseCooHost, data, std::move(storage));
}

SparseCooView::SparseCooView(const Tensor& tensor)
    : indices_(&static_cast<const SparseCooStorage*>(tensor.storage().get())->indices),
      values_(&static_cast<const SparseCooStorage*>(tensor.storage().get())->values) {}

StatusOr<Tensor> ToDense(const Tensor& tensor, HostAllocator& allocator) {
  if (tensor.IsA(kDenseHost)) return tensor;
  const size_t element_size = DTypeSize(tensor.dtype());
  if (tensor.IsA(kScalarHost)) {
    TANDEM_ASSIGN_OR_RETURN(Tensor dense, AllocateDense(tensor.metadata(), *tensor.device(), allocator));
    FillElements(dense.mutable_data(), tensor.data(), element_size, tensor.num_elements());
    return dense;
  }
  if (!tensor.IsA(kSparseCooHost)) {
    return InvalidArgument("only scalar and sparse tensors convert to dense ones, got ", tensor.metadata(), " as ",
                           tensor.type().name());
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor dense, AllocateDense(tensor.metadata(), *tensor.device(), allocator));
  auto* data = static_cast<unsigned char*>(dense.mutable_data());
  FillZeros(data, tensor.metadata().byte_size());
  const SparseCooView sparse(tensor);
  const int64_t* index = DenseData<int64_t>(sparse.indices()).data();
  StopPoll poll(kPollElements);
  for (int64_t row = 0; row < sparse.num_values() && !poll.Stops(); ++row) {
    int64_t position = 0;
    for (int64_t dim : tensor.shape().dims()) position = position * dim + *index++;
    std::memcpy(data + static_cast<size_t>(position) * element_size, ElementAt(sparse.values(), row), element_size);
  }
  return dense;
}

StatusOr<Tensor> ToScalar(const Tensor& tensor) {
  if (tensor.IsA(kScalarHost)) return tensor;
  if (!tensor.IsA(kDenseHost)) {
    return InvalidArgument("only dense tensors convert to scalar host tensors, got ", tensor.metadata(), " as ",
                           tensor.type().name());
  }
  if (tensor.num_elements() == 0) {
    return InvalidArgument("a scalar host tensor needs a value, got ", tensor.metadata());
  }
  const size_t element_size = DTypeSize(tensor.dtype());
  StopPoll poll(kPollElements);
  for (int64_t i = 1; i < tensor.num_elements(); ++i) {
    if (poll.Stops()) return KernelRun::CheckWanted();
    if (std::memcmp(ElementAt(tensor, i), tensor.data(), element_size) != 0) {
      return InvalidArgument("all elements must be equal to become a scalar host tensor, got ", tensor.metadata(),
                             " whose element ", i, " differs from the first");
    }
  }
  return MakeScalar(tensor.metadata(), tensor.data(), *tensor.device());
}

StatusOr<Tensor> ToSparseCoo(const Tensor& tensor, HostAllocator& allocator) {
  if (tensor.IsA(kSparseCooHost)) return tensor;
  if (!tensor.IsA(kDenseHost) && !tensor.IsA(kScalarHost)) {
    return InvalidArgument("only dense and scalar tensors convert to sparse ones, got ", tensor.metadata(), " as ",
                           tensor.type().name());
  }
  const size_t element_size = DTypeSize(tensor.dtype());
  const int rank = tensor.shape().rank();
  TANDEM_ASSIGN_OR_RETURN(const int64_t count, CountNonZero(tensor));
  const Device& host = *tensor.device();
  TANDEM_ASSIGN_OR_RETURN(Tensor indices, AllocateDense({DType::kI64, {count, rank}}, host, allocator));
  TANDEM_ASSIGN_OR_RETURN(Tensor values, AllocateDense({tensor.dtype(), {count}}, host, allocator));
  auto* index = static_cast<int64_t*>(indices.mutable_data());
  auto* value = static_cast<unsigned char*>(values.mutable_data());
  StopPoll poll(kPollElements);
  for (int64_t i = 0; count > 0 && i < tensor.num_elements(); ++i) {
    if (poll.Stops()) return KernelRun::CheckWanted();
    const void* element = ElementAt(tensor, i);
    if (IsZeroElement(element, element_size)) continue;
    int64_t rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) {
      index[axis] = rest % tensor.shape().dim(axis);
      rest /= tensor.shape().dim(axis);
    }
    index += rank;
    std::memcpy(value, element, element_size);
    value += element_size;
  }
  return MakeSparseCoo(tensor.metadata(), std::move(indices), std::move(values), host);
}

}  // namespace tandem
