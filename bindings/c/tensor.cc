// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors: made from the caller's data, waited for and read.

#include <algorithm>
#include <new>
#include <utility>

#include "objects.h"
#include "tandem/dlpack.h"
#include "tandem/logging_op_handler.h"

namespace tandem::c {

namespace {

tandem_status* Give(tandem_runtime& runtime, TensorHandle handle, tandem_tensor** tensor) {
  *tensor = new (std::nothrow) tandem_tensor(runtime, std::move(handle));
  return *tensor == nullptr ? ToC(Status::OutOfMemory()) : nullptr;
}

// Gives a tensor just made, or tells the diagnostic handler too why there is none.
tandem_status* GiveMade(tandem_runtime& runtime, Running& running, StatusOr<Tensor> made, tandem_tensor** tensor) {
  if (!made.ok()) return ToC(running.host().EmitError(made.status()));
  return Give(runtime, TensorHandle::MakeAvailable(std::move(*made)), tensor);
}

StatusOr<TensorMetadata> AwaitMetadata(Running& runtime, const TensorHandle& handle) {
  const AsyncValue* value = handle.metadata_value();
  if (!handle.IsMetadataAvailable()) TANDEM_RETURN_IF_ERROR(AwaitValue(runtime, value, TANDEM_FOREVER));
  if (handle.IsMetadataAvailable()) return handle.metadata();
  return value->GetError();
}

// The elements of an available tensor, dense and on the host.
StatusOr<Tensor> MakeDenseCopy(Running& runtime, const TensorHandle& handle) {
  HostContext& host = runtime.host();
  if (handle.device() == &host.device()) return ToDense(handle.tensor(), host.allocator());
  const TensorHandle here = handle.TransferTo(ExecutionContext(host, Location()), host.device());
  TANDEM_RETURN_IF_ERROR(AwaitValue(runtime, here.value().value(), TANDEM_FOREVER));
  return here.tensor();
}

// The tensor, once it is available, or one with the same elements that is dense.
StatusOr<const Tensor*> AwaitDense(Running& runtime, const tandem_tensor& tensor) {
  TANDEM_RETURN_IF_ERROR(AwaitValue(runtime, tensor.handle.value().value(), TANDEM_FOREVER));
  const Tensor& value = tensor.handle.tensor();
  if (value.IsA(kDenseHost)) return &value;
  if (value.dtype() == DType::kString) {
    return InvalidArgument("strings are no dense data, got ", value.metadata(), "; use tandem_tensor_string");
  }
  if (const Tensor* dense = tensor.dense.load()) return dense;
  TANDEM_ASSIGN_OR_RETURN(Tensor made, MakeDenseCopy(runtime, tensor.handle));
  const Tensor* dense = new (std::nothrow) Tensor(std::move(made));
  if (dense == nullptr) return Status::OutOfMemory();
  const Tensor* earlier = nullptr;
  if (tensor.dense.compare_exchange_strong(earlier, dense)) return dense;
  delete dense;  // another thread was first
  return earlier;
}

template <typename Managed>
tandem_status* Import(tandem_runtime* runtime, Managed* managed, int64_t stream, tandem_tensor** tensor) {
  if (tensor == nullptr) return WrongArgument("expected a place for the tensor, got null");
  *tensor = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  return GiveMade(*runtime, *rt, FromDlpack(rt->core, managed, stream), tensor);
}

template <typename Managed>
tandem_status* Export(const tandem_tensor* tensor, StatusOr<Managed*> (*to_dlpack)(const Tensor&, HostAllocator&),
                      Managed** managed) {
  if (managed == nullptr) return WrongArgument("expected a place for the tensor of DLPack, got null");
  *managed = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor");
  const auto dense = AwaitDense(*rt, *tensor);
  if (!dense.ok()) return ToC(dense.status());
  const StatusOr<Managed*> given = to_dlpack(**dense, rt->host().allocator());
  if (!given.ok()) return ToC(given.status());
  *managed = *given;
  return nullptr;
}

}  // namespace

}  // namespace tandem::c

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_tensor_create(tandem_runtime* runtime, tandem_dtype dtype, const int64_t* dims, size_t rank,
                                    const void* data, size_t size, tandem_tensor** tensor) {
  if (tensor == nullptr) return WrongArgument("expected a place for the tensor, got null");
  *tensor = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  tandem::TensorMetadata metadata;
  TANDEM_C_RETURN_IF_ERROR(CheckDense(dtype, dims, rank, data, size, &metadata));
  const std::span bytes(static_cast<const std::byte*>(data), size);
  return GiveMade(*runtime, *rt, MakeDense(metadata, bytes, rt->host().device(), rt->host().allocator()), tensor);
}

tandem_status* tandem_tensor_create_strings(tandem_runtime* runtime, const int64_t* dims, size_t rank,
                                            const char* const* strings, const size_t* sizes, size_t count,
                                            tandem_tensor** tensor) {
  if (tensor == nullptr) return WrongArgument("expected a place for the tensor, got null");
  *tensor = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  tandem::TensorShape shape;
  TANDEM_C_RETURN_IF_ERROR(CheckShape(dims, rank, &shape));
  if (static_cast<uint64_t>(shape.num_elements()) != count) {
    return WrongArgument("expected ", shape.num_elements(), " strings for a shape of ", shape, ", got ", count);
  }
  if (count > 0 && strings == nullptr) return WrongArgument("expected ", count, " strings, got null");
  tandem::SmallArray<std::string_view, 8> views;
  if (!views.Init(count)) return ToC(tandem::Status::OutOfMemory());
  TANDEM_C_RETURN_IF_ERROR(CheckStrings(strings, sizes, count, views.data()));
  return GiveMade(*runtime, *rt, MakeString(shape, views.span(), rt->host().device(), rt->host().allocator()), tensor);
}

tandem_status* tandem_tensor_wrap(tandem_runtime* runtime, tandem_dtype dtype, const int64_t* dims, size_t rank,
                                  const void* data, size_t size, tandem_release_callback release, void* user,
                                  tandem_tensor** tensor) {
  const auto call_release = [release, user] {
    const CallbackScope scope(nullptr);
    if (release != nullptr) release(user);
  };
  if (tensor != nullptr) *tensor = nullptr;
  tandem::TensorMetadata metadata;
  tandem::Status wrong;
  if (tensor == nullptr) wrong = tandem::InvalidArgument("expected a place for the tensor, got null");
  const auto rt = FindRuntime(runtime, "runtime");
  if (wrong.ok()) wrong = rt.status();
  if (wrong.ok()) wrong = CheckDense(dtype, dims, rank, data, size, &metadata);
  if (wrong.ok() && reinterpret_cast<uintptr_t>(data) % tandem::DTypeSize(metadata.dtype) != 0) {
    wrong = tandem::InvalidArgument("memory of ", metadata, " must be aligned to ", tandem::DTypeSize(metadata.dtype),
                                    " bytes");
  }
  if (wrong.ok()) wrong = tandem::CheckElements(metadata.dtype, {static_cast<const std::byte*>(data), size});
  if (!wrong.ok()) {
    call_release();
    return ToC(wrong);
  }
  // Nobody writes to external memory.
  void* memory = const_cast<void*>(data);
  auto buffer = tandem::HostAllocator::WrapExternal(memory, size, call_release);
  if (!buffer.ok()) return ToC(buffer.status());
  return GiveMade(*runtime, **rt,
                  tandem::Tensor(metadata, &(*rt)->host().device(), tandem::kDenseHost, memory, std::move(*buffer)),
                  tensor);
}

tandem_status* tandem_tensor_from_dlpack(tandem_runtime* runtime, DLManagedTensorVersioned* managed,
                                         tandem_tensor** tensor) {
  return Import(runtime, managed, tandem::kDlpackDefaultStream, tensor);
}

tandem_status* tandem_tensor_from_unversioned_dlpack(tandem_runtime* runtime, DLManagedTensor* managed,
                                                     tandem_tensor** tensor) {
  return Import(runtime, managed, tandem::kDlpackDefaultStream, tensor);
}

tandem_status* tandem_tensor_to_dlpack(const tandem_tensor* tensor, DLManagedTensorVersioned** managed) {
  return Export(tensor, &tandem::ToDlpack, managed);
}

tandem_status* tandem_tensor_to_unversioned_dlpack(const tandem_tensor* tensor, DLManagedTensor** managed) {
  return Export(tensor, &tandem::ToUnversionedDlpack, managed);
}

tandem_status* tandem_tensor_from_device_dlpack(tandem_runtime* runtime, DLManagedTensorVersioned* managed,
                                                int64_t stream, tandem_tensor** tensor) {
  return Import(runtime, managed, stream, tensor);
}

tandem_status* tandem_tensor_to_device_dlpack(const tandem_tensor* tensor, int64_t stream,
                                              DLManagedTensorVersioned** managed) {
  if (managed == nullptr) return WrongArgument("expected a place for the tensor of DLPack, got null");
  *managed = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor");
  TANDEM_C_RETURN_IF_ERROR(AwaitValue(*rt, tensor->handle.value().value(), TANDEM_FOREVER));
  const auto given = tandem::ToDlpack(rt->core, tensor->handle.tensor(), stream);
  if (!given.ok()) return ToC(given.status());
  *managed = *given;
  return nullptr;
}

tandem_status* tandem_device_stream(tandem_runtime* runtime, const char* device, int64_t* stream) {
  if (device == nullptr || stream == nullptr) return WrongArgument("expected a device and a place, got null");
  *stream = tandem::kDlpackNoStream;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  const auto handler = FindDevice(*rt, device);
  if (!handler.ok()) return ToC(handler.status());
  const tandem::Device* const place = (*handler)->device();
  if (place == nullptr) return WrongArgument("expected a device with memory, got ", device);
  const auto found = tandem::FindDlpackStream(rt->core, *place);
  if (!found.ok()) return ToC(found.status());
  *stream = *found;
  return nullptr;
}

tandem_status* tandem_tensor_copy(const tandem_tensor* tensor, tandem_tensor** copy) {
  if (copy == nullptr) return WrongArgument("expected a place for the tensor, got null");
  *copy = nullptr;
  if (tensor == nullptr) return WrongArgument("expected a tensor, got null");
  return Give(*tensor->runtime, tensor->handle.CopyRef(), copy);
}

void tandem_tensor_release(tandem_tensor* tensor) { delete tensor; }

tandem_status* tandem_tensor_state(const tandem_tensor* tensor, tandem_state* state) {
  if (state == nullptr) return WrongArgument("expected a place for the state, got null");
  *state = TANDEM_PENDING;
  if (tensor == nullptr) return WrongArgument("expected a tensor, got null");
  if (tensor->handle.IsError()) {
    *state = TANDEM_ERROR;
  } else if (tensor->handle.IsAvailable()) {
    *state = TANDEM_AVAILABLE;
  }
  return nullptr;
}

tandem_status* tandem_tensor_dtype(const tandem_tensor* tensor, tandem_dtype* dtype) {
  if (dtype == nullptr) return WrongArgument("expected a place for the dtype, got null");
  *dtype = 0;
  TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor");
  const auto metadata = AwaitMetadata(*rt, tensor->handle);
  if (!metadata.ok()) return ToC(metadata.status());
  *dtype = static_cast<tandem_dtype>(metadata->dtype);
  return nullptr;
}

tandem_status* tandem_tensor_shape(const tandem_tensor* tensor, int64_t* dims, size_t capacity, size_t* rank) {
  if (rank == nullptr) return WrongArgument("expected a place for the rank, got null");
  *rank = 0;
  TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor");
  const auto metadata = AwaitMetadata(*rt, tensor->handle);
  if (!metadata.ok()) return ToC(metadata.status());
  const std::span<const int64_t> from = metadata->shape.dims();
  *rank = from.size();
  if (dims == nullptr && capacity == 0) return nullptr;
  if (dims == nullptr || capacity < from.size()) {
    return WrongArgument("expected room for ", from.size(), " dimensions, got ", dims == nullptr ? "null" : "less");
  }
  std::copy(from.begin(), from.end(), dims);
  return nullptr;
}

tandem_status* tandem_tensor_await(const tandem_tensor* tensor, int64_t timeout_ns) {
  TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor");
  return ToC(AwaitValue(*rt, tensor->handle.value().value(), timeout_ns));
}

tandem_status* tandem_tensor_on_ready(const tandem_tensor* tensor, tandem_ready_callback callback, void* user) {
  if (const auto rt = FindRuntime(tensor, "tensor"); !rt.ok()) return ToC(rt.status());
  const auto value = tandem::RcRef<tandem::AsyncValue>::Share(tensor->handle.value().value());
  return ToC(CallWhenReady(*tensor->runtime, value, callback, user));
}

tandem_status* tandem_tensor_transfer(const tandem_tensor* tensor, const char* device, tandem_tensor** result) {
  if (result == nullptr) return WrongArgument("expected a place for the tensor, got null");
  *result = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor");
  const auto handler = FindDevice(*rt, device == nullptr ? rt->cpu->name().c_str() : device);
  if (!handler.ok()) return ToC(handler.status());
  const tandem::Device* target = (*handler)->device();
  if (target == nullptr) return WrongArgument("expected a device with memory, got ", device);
  const tandem::ExecutionContext exec(rt->host(), tandem::Location());
  tandem::TensorHandle there = tensor->handle.TransferTo(exec, *target);
  if (there.IsError()) return ToC(there.GetError());
  return Give(*tensor->runtime, std::move(there), result);
}

tandem_status* tandem_tensor_data(const tandem_tensor* tensor, const void** data, size_t* size) {
  if (data == nullptr) return WrongArgument("expected a place for the data, got null");
  *data = nullptr;
  if (size != nullptr) *size = 0;
  TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor");
  const auto dense = AwaitDense(*rt, *tensor);
  if (!dense.ok()) return ToC(dense.status());
  *data = (*dense)->data();
  if (size != nullptr) *size = (*dense)->metadata().byte_size();
  return nullptr;
}

tandem_status* tandem_tensor_string(const tandem_tensor* tensor, int64_t index, const char** data, size_t* size) {
  if (data == nullptr || size == nullptr) return WrongArgument("expected places for the data and its size, got null");
  *data = nullptr;
  *size = 0;
  TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor");
  TANDEM_C_RETURN_IF_ERROR(AwaitValue(*rt, tensor->handle.value().value(), TANDEM_FOREVER));
  const tandem::Tensor& value = tensor->handle.tensor();
  if (!value.IsA(tandem::kStringHost)) return WrongArgument("expected a tensor of strings, got ", value.metadata());
  const tandem::StringHostView strings(value);
  if (index < 0 || index >= strings.size()) {
    return WrongArgument("expected an index below ", strings.size(), ", got ", index);
  }
  const std::string_view text = strings[index];
  *data = text.data();
  *size = text.size();
  return nullptr;
}

tandem_status* tandem_tensor_text(const tandem_tensor* tensor, int32_t max_elements, char** text) {
  if (text == nullptr) return WrongArgument("expected a place for the text, got null");
  *text = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, tensor, "tensor");
  if (max_elements < 0) return WrongArgument("max_elements must not be negative, got ", max_elements);
  tandem::MessageBuilder description;
  TANDEM_C_RETURN_IF_ERROR(AwaitValue(*rt, tensor->handle.value().value(), TANDEM_FOREVER));
  const tandem::Tensor* shown = &tensor->handle.tensor();
  if (!tandem::IsHostType(shown->type())) {
    const auto dense = AwaitDense(*rt, *tensor);
    if (!dense.ok()) return ToC(dense.status());
    shown = *dense;
  }
  AppendTensor(description, *shown, max_elements);
  *text = CopyText(description.view());
  return *text == nullptr ? ToC(tandem::Status::OutOfMemory()) : nullptr;
}

}  // extern "C"
