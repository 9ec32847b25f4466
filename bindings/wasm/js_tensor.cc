// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors for JavaScript: made, described and read in few calls, none of which waits.

#include <algorithm>
#include <new>
#include <utility>

#include "js_runtime.h"
#include "tandem/checked_cast.h"

namespace tandem::js {

namespace {

tandem_state StateOf(const AsyncValue& value) {
  return value.IsError() ? TANDEM_ERROR : value.IsAvailable() ? TANDEM_AVAILABLE : TANDEM_PENDING;
}

}  // namespace

}  // namespace tandem::js

using namespace tandem::js;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_js_tensor_new(tandem_js* js, tandem_dtype dtype, const int64_t* dims, uint32_t rank, void** data,
                                    tandem_tensor** tensor) {
  *data = nullptr;
  *tensor = nullptr;
  tandem::TensorMetadata metadata;
  TANDEM_C_RETURN_IF_ERROR(tandem::c::CheckShape(dims, rank, &metadata.shape));
  TANDEM_C_RETURN_IF_ERROR(tandem::c::CheckDType(dtype));
  metadata.dtype = static_cast<tandem::DType>(dtype);
  tandem::HostContext& host = js->host();
  auto made = tandem::AllocateDense(metadata, host.device(), host.allocator());
  if (!made.ok()) return tandem::c::ToC(host.EmitError(made.status()));
  auto handle = tandem::TensorHandle::MakeAvailable(std::move(*made));
  if (handle.IsError()) return tandem::c::ToC(handle.GetError());
  // Nobody else has it yet.
  *data = const_cast<void*>(handle.tensor().data());
  *tensor = new (std::nothrow) tandem_tensor(*js->runtime, std::move(handle));
  return *tensor == nullptr ? tandem::c::ToC(tandem::Status::OutOfMemory()) : nullptr;
}

tandem_tensor* tandem_js_scalar(tandem_js* js, tandem_dtype dtype, double value) {
  tandem::HostContext& host = js->host();
  tandem::Tensor number({tandem::DType::kF64, tandem::TensorShape()}, &host.device());
  *static_cast<double*>(number.UseInlineData(tandem::kDenseHost)) = value;
  auto scalar = tandem::CheckedCast(number, static_cast<tandem::DType>(dtype), "value", host.allocator());
  if (!scalar.ok()) return nullptr;
  auto handle = tandem::TensorHandle::MakeAvailable(std::move(*scalar));
  if (handle.IsError()) return nullptr;
  return new (std::nothrow) tandem_tensor(*js->runtime, std::move(handle));
}

tandem_tensor* tandem_js_cast_like(tandem_js* js, const tandem_tensor* values, const tandem_tensor* like,
                                   const tandem_op* op, uint32_t input, const tandem_request* request,
                                   const char* location) {
  const std::shared_ptr<const tandem::OpDef> def = js->running().core.registry().FindShared(op->op.name());
  if (def == nullptr) return nullptr;  // removed since the op was made
  const tandem::ExecutionContext exec(js->host(), js->runtime->LocationOf(location),
                                      request == nullptr ? nullptr : request->request);
  return new (std::nothrow) tandem_tensor(
      *js->runtime,
      tandem::CheckedCastLike(exec, values->handle.tensor(), like->handle, *def, def->inputs[input].name));
}

void tandem_js_describe(const tandem_tensor* tensor, tandem_js_description* description) {
  const tandem::TensorHandle& handle = tensor->handle;
  description->state = tandem_js_tensor_state(tensor);
  description->dtype = 0;
  description->rank = -1;
  description->data = nullptr;
  description->byte_size = 0;
  if (!handle.IsMetadataAvailable()) return;
  const tandem::TensorMetadata& metadata = handle.metadata();
  description->dtype = static_cast<int32_t>(metadata.dtype);
  description->rank = static_cast<int32_t>(metadata.shape.rank());
  if (metadata.dtype != tandem::DType::kString) description->byte_size = static_cast<double>(metadata.byte_size());
  std::copy(metadata.shape.dims().begin(), metadata.shape.dims().end(), description->dims);
  if (handle.IsConcrete() && handle.tensor().IsA(tandem::kDenseHost)) description->data = handle.tensor().data();
}

int32_t tandem_js_tensor_state(const tandem_tensor* tensor) {
  return tensor->handle.IsError() ? TANDEM_ERROR : StateOf(*tensor->handle.value().value());
}

tandem_status* tandem_js_tensor_error(const tandem_tensor* tensor) {
  return tensor->handle.IsError() ? tandem::c::ToC(tensor->handle.GetError()) : nullptr;
}

uint32_t tandem_js_strings(const tandem_tensor* tensor, uint32_t first, uint32_t count, tandem_js_string* strings) {
  if (!tensor->handle.IsConcrete() || !tensor->handle.tensor().IsA(tandem::kStringHost)) return 0;
  const tandem::StringHostView view(tensor->handle.tensor());
  uint32_t given = 0;
  for (; given < count && int64_t{first} + given < view.size(); ++given) {
    const std::string_view text = view[int64_t{first} + given];
    strings[given] = {text.data(), text.size()};
  }
  return given;
}

tandem_code tandem_js_attrs_set_int(tandem_attrs* attrs, const char* name, double value) {
  return tandem_attrs_set_int(attrs, name, static_cast<int64_t>(value));
}

}  // extern "C"
