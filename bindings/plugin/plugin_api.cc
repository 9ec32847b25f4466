// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The table of functions that plug-ins call: checks what C gives, and passes it on.

#include <algorithm>
#include <string_view>

#include "objects.h"
#include "plugin_call.h"
#include "plugin_library.h"
#include "tandem/attr_entry.h"
#include "tandem/host_tensors.h"
#include "tandem/small_array.h"

namespace tandem::plugin {

namespace {

using c::ReadStruct;
using c::ToC;
using c::WrongArgument;

// Errors.

tandem_status* MakeErrorForC(tandem_code code, const char* message) {
  const bool is_known = code > TANDEM_OK && code <= TANDEM_DATA_LOSS;
  return ToC(Status::Error(is_known ? static_cast<StatusCode>(code) : StatusCode::kUnknown,
                           message == nullptr ? "" : message));
}

// Adding.

tandem_status* DefineOp(tandem_plugin* plugin, const tandem_plugin_op_def* op) {
  if (plugin == nullptr || op == nullptr) return WrongArgument("expected a plugin and an op, got null");
  tandem_plugin_op_def def;
  TANDEM_C_RETURN_IF_ERROR(ReadStruct(op, TANDEM_C_LEAST_SIZE(tandem_plugin_op_def, destroy), &def));
  return ToC(plugin->Define(def));
}

tandem_status* AddKernel(tandem_plugin* plugin, const tandem_plugin_kernel_def* kernel) {
  if (plugin == nullptr || kernel == nullptr) return WrongArgument("expected a plugin and a kernel, got null");
  tandem_plugin_kernel_def def;
  TANDEM_C_RETURN_IF_ERROR(ReadStruct(kernel, TANDEM_C_LEAST_SIZE(tandem_plugin_kernel_def, destroy), &def));
  return ToC(plugin->AddKernel(def));
}

tandem_status* AddHandler(tandem_plugin* plugin, const char* name, const char* fallback) {
  if (plugin == nullptr || name == nullptr) return WrongArgument("expected a plugin and a name, got null");
  return ToC(plugin->AddHandler(name, fallback == nullptr ? "cpu" : fallback));
}

tandem_status* OnUnload(tandem_plugin* plugin, tandem_plugin_destroy unload, void* user) {
  if (plugin == nullptr) return WrongArgument("expected a plugin, got null");
  return ToC(plugin->SetUnload(unload, user));
}

// Tensors.

tandem_status* Show(const TensorMetadata& metadata, const Tensor* tensor, tandem_plugin_tensor* shown) {
  if (shown == nullptr || shown->struct_size < sizeof(tandem_plugin_tensor)) {
    return WrongArgument("expected a place for a tensor with its struct_size, got ",
                         shown == nullptr ? "null" : "less");
  }
  shown->dtype = static_cast<tandem_dtype>(metadata.dtype);
  const std::span<const int64_t> dims = metadata.shape.dims();
  shown->rank = dims.size();
  std::copy(dims.begin(), dims.end(), shown->dims);
  shown->num_elements = metadata.num_elements();
  const bool has_data = tensor != nullptr && metadata.dtype != DType::kString && shown->num_elements > 0;
  shown->data = has_data ? tensor->data() : nullptr;
  shown->size = has_data ? metadata.byte_size() : 0;
  return nullptr;
}

tandem_status* CheckInput(const tandem_plugin_call* call, size_t index) {
  if (call == nullptr) return WrongArgument("expected a call, got null");
  if (index < call->num_inputs) return nullptr;
  return WrongArgument("expected an input below ", call->num_inputs, ", got ", index);
}

tandem_status* CheckResult(const tandem_plugin_call* call, size_t index) {
  if (call == nullptr) return WrongArgument("expected a call, got null");
  if (index < call->num_results) return nullptr;
  return WrongArgument("expected a result below ", call->num_results, ", got ", index);
}

size_t NumInputs(const tandem_plugin_call* call) { return call == nullptr ? 0 : call->num_inputs; }
size_t NumResults(const tandem_plugin_call* call) { return call == nullptr ? 0 : call->num_results; }

tandem_status* Input(tandem_plugin_call* call, size_t index, tandem_plugin_tensor* tensor) {
  if (tandem_status* error = CheckInput(call, index)) return error;
  const StatusOr<const Tensor*> input = call->Input(index);
  if (!input.ok()) return ToC(input.status());
  return Show(call->InputMetadata(index), *input, tensor);
}

tandem_status* InputString(tandem_plugin_call* call, size_t index, int64_t element, const char** data, size_t* size) {
  if (tandem_status* error = CheckInput(call, index)) return error;
  if (data == nullptr || size == nullptr) return WrongArgument("expected places for the data and its size, got null");
  const StatusOr<const Tensor*> input = call->Input(index);
  if (!input.ok()) return ToC(input.status());
  const TensorMetadata& metadata = call->InputMetadata(index);
  if (*input == nullptr || !(*input)->IsA(kStringHost)) {
    return WrongArgument("expected an input of strings to read, input ", index, " is ", metadata);
  }
  const StringHostView strings(**input);
  if (element < 0 || element >= strings.size()) {
    return WrongArgument("expected an element below ", strings.size(), ", got ", element);
  }
  *data = strings[element].data();
  *size = strings[element].size();
  return nullptr;
}

tandem_status* Result(tandem_plugin_call* call, size_t index, tandem_plugin_tensor* tensor) {
  if (tandem_status* error = CheckResult(call, index)) return error;
  return Show(call->ResultMetadata(index), nullptr, tensor);
}

tandem_status* DescribeResult(tandem_plugin_call* call, size_t index, tandem_dtype dtype, const int64_t* dims,
                              size_t rank) {
  if (tandem_status* error = CheckResult(call, index)) return error;
  TensorMetadata metadata;
  metadata.dtype = call->ResultMetadata(index).dtype;
  if (dtype != 0) {
    TANDEM_C_RETURN_IF_ERROR(c::CheckDType(dtype));
    metadata.dtype = static_cast<DType>(dtype);
  }
  TANDEM_C_RETURN_IF_ERROR(c::CheckShape(dims, rank, &metadata.shape));
  TANDEM_C_RETURN_IF_ERROR(metadata.Validate());
  return ToC(call->Describe(index, metadata));
}

// Attributes: those that plug-ins see are entries.

const AttrEntry& EntryOf(const tandem_plugin_attr* attr) {
  return *static_cast<const AttrEntry*>(static_cast<const void*>(attr));
}
const tandem_plugin_attr* AttrOf(const AttrEntry* entry) {
  return static_cast<const tandem_plugin_attr*>(static_cast<const void*>(entry));
}

const tandem_plugin_attr* Attr(const tandem_plugin_call* call, const char* name) {
  return call == nullptr || name == nullptr ? nullptr : AttrOf(call->attrs().Find(name));
}

const tandem_plugin_attr* FindAttr(const tandem_plugin_attrs* attrs, const char* name) {
  if (attrs == nullptr || name == nullptr) return nullptr;
  return AttrOf(static_cast<const OpAttrsRef*>(static_cast<const void*>(attrs))->Find(name));
}

tandem_attr_type TypeOf(AttrType type) {
  switch (type) {
    case AttrType::kBool:
      return TANDEM_ATTR_BOOL;
    case AttrType::kI32:
    case AttrType::kI64:
      return TANDEM_ATTR_INT;
    case AttrType::kF32:
    case AttrType::kF64:
      return TANDEM_ATTR_FLOAT;
    case AttrType::kDType:
      return TANDEM_ATTR_DTYPE;
    case AttrType::kString:
      return TANDEM_ATTR_STRING;
    case AttrType::kShape:
      return TANDEM_ATTR_SHAPE;
    case AttrType::kTensor:
      return TANDEM_ATTR_TENSOR;
    case AttrType::kFunction:
      return TANDEM_ATTR_FUNCTION;
    case AttrType::kAttrs:
      return TANDEM_ATTR_ATTRS;
  }
  return 0;
}

tandem_attr_type TypeOfAttr(const tandem_plugin_attr* attr) { return attr == nullptr ? 0 : TypeOf(EntryOf(attr).type); }
size_t AttrCount(const tandem_plugin_attr* attr) { return attr == nullptr ? 0 : EntryOf(attr).size; }
int AttrIsList(const tandem_plugin_attr* attr) { return attr != nullptr && EntryOf(attr).is_array; }

tandem_status* WrongType(const tandem_plugin_attr* attr, std::string_view expected) {
  if (attr == nullptr) return WrongArgument("expected an attribute as ", expected, ", got null");
  const AttrEntry& entry = EntryOf(attr);
  return WrongArgument("expected attribute ", entry.name, " as ", expected, ", got ", AttrTypeName(entry.type));
}

// Gives value `index` if it is stored as a T, and else tries further types; `expected` names what they are.
template <typename T, typename... Others, typename Give>
tandem_status* Read(const tandem_plugin_attr* attr, size_t index, std::string_view expected, Give give) {
  if (attr != nullptr && EntryOf(attr).type == AttrTypeOf<T>::value) {
    const AttrEntry& entry = EntryOf(attr);
    if (index < entry.size) return give(static_cast<const T*>(entry.data)[index]);
    return WrongArgument("expected attribute ", entry.name, " to have more than ", index, " values, got ", entry.size);
  }
  if constexpr (sizeof...(Others) > 0) {
    return Read<Others...>(attr, index, expected, give);
  } else {
    return WrongType(attr, expected);
  }
}

template <typename... Stored, typename To>
tandem_status* ReadTo(const tandem_plugin_attr* attr, size_t index, std::string_view expected, To* to) {
  if (to == nullptr) return WrongArgument("expected a place for the value, got null");
  return Read<Stored...>(attr, index, expected, [to](const auto& value) -> tandem_status* {
    *to = static_cast<To>(value);
    return nullptr;
  });
}

tandem_status* AttrBool(const tandem_plugin_attr* attr, size_t index, int* value) {
  return ReadTo<bool>(attr, index, "bool", value);
}
tandem_status* AttrInt(const tandem_plugin_attr* attr, size_t index, int64_t* value) {
  return ReadTo<int64_t, int32_t>(attr, index, "int", value);
}
tandem_status* AttrFloat(const tandem_plugin_attr* attr, size_t index, double* value) {
  return ReadTo<float, double>(attr, index, "float", value);
}
tandem_status* AttrDType(const tandem_plugin_attr* attr, size_t index, tandem_dtype* value) {
  return ReadTo<DType>(attr, index, "dtype", value);
}

tandem_status* GiveBytes(std::string_view text, const char** data, size_t* size) {
  *data = text.data();
  *size = text.size();
  return nullptr;
}

tandem_status* AttrString(const tandem_plugin_attr* attr, size_t index, const char** data, size_t* size) {
  if (data == nullptr || size == nullptr) return WrongArgument("expected places for the data and its size, got null");
  if (TypeOfAttr(attr) == TANDEM_ATTR_FUNCTION) {
    return Read<FunctionAttr>(attr, index, "function",
                              [&](const FunctionAttr& value) { return GiveBytes(value.name, data, size); });
  }
  return Read<std::string_view>(attr, index, "string",
                                [&](std::string_view value) { return GiveBytes(value, data, size); });
}

tandem_status* AttrShape(const tandem_plugin_attr* attr, size_t index, int64_t* dims, size_t* rank) {
  if (dims == nullptr || rank == nullptr) return WrongArgument("expected places for dimensions and rank, got null");
  return Read<TensorShape>(attr, index, "shape", [&](const TensorShape& value) -> tandem_status* {
    std::copy(value.dims().begin(), value.dims().end(), dims);
    *rank = value.dims().size();
    return nullptr;
  });
}

tandem_status* AttrTensor(const tandem_plugin_attr* attr, size_t index, tandem_plugin_tensor* tensor) {
  return Read<TensorAttr>(attr, index, "tensor", [tensor](const TensorAttr& value) -> tandem_status* {
    if (tandem_status* error = Show(value.metadata, nullptr, tensor)) return error;
    if (value.metadata.dtype == DType::kString || value.metadata.num_elements() == 0) return nullptr;
    tensor->data = value.data;
    tensor->size = value.metadata.byte_size();
    return nullptr;
  });
}

tandem_status* AttrTensorString(const tandem_plugin_attr* attr, size_t index, int64_t element, const char** data,
                                size_t* size) {
  if (data == nullptr || size == nullptr) return WrongArgument("expected places for the data and its size, got null");
  return Read<TensorAttr>(attr, index, "tensor", [&](const TensorAttr& value) -> tandem_status* {
    if (element < 0 || static_cast<uint64_t>(element) >= value.strings.size()) {
      return WrongArgument("expected an element below ", value.strings.size(), ", got ", element);
    }
    return GiveBytes(value.strings[static_cast<size_t>(element)], data, size);
  });
}

tandem_status* AttrAttrs(const tandem_plugin_attr* attr, size_t index, const tandem_plugin_attrs** attrs) {
  if (attrs == nullptr) return WrongArgument("expected a place for the attributes, got null");
  return Read<OpAttrsRef>(attr, index, "attrs", [attrs](const OpAttrsRef& value) -> tandem_status* {
    *attrs = static_cast<const tandem_plugin_attrs*>(static_cast<const void*>(&value));
    return nullptr;
  });
}

// Kernels.

tandem_status* Allocate(tandem_plugin_call* call, size_t index, std::optional<size_t> input, void** data) {
  if (data == nullptr) return WrongArgument("expected a place for the data, got null");
  *data = nullptr;
  if (tandem_status* error = CheckResult(call, index)) return error;
  if (input.has_value()) {
    if (tandem_status* error = CheckInput(call, *input)) return error;
  }
  return ToC(call->Allocate(index, input, data));
}

tandem_status* AllocateResult(tandem_plugin_call* call, size_t index, void** data) {
  return Allocate(call, index, std::nullopt, data);
}
tandem_status* ForwardOrAllocateResult(tandem_plugin_call* call, size_t index, size_t input, void** data) {
  return Allocate(call, index, input, data);
}

tandem_status* SetResultStrings(tandem_plugin_call* call, size_t index, const char* const* strings, const size_t* sizes,
                                size_t count) {
  if (tandem_status* error = CheckResult(call, index)) return error;
  if (count > 0 && strings == nullptr) return WrongArgument("expected ", count, " strings, got null");
  SmallArray<std::string_view, 8> views;
  if (!views.Init(count)) return ToC(Status::OutOfMemory());
  TANDEM_C_RETURN_IF_ERROR(c::CheckStrings(strings, sizes, count, views.data()));
  return ToC(call->SetStrings(index, views.span()));
}

tandem_status* FailResult(tandem_plugin_call* call, size_t index, tandem_status* error) {
  Status status = FromC(error);
  if (tandem_status* wrong = CheckResult(call, index)) return wrong;
  if (status.ok()) return WrongArgument("expected an error for result ", index, ", got null");
  return ToC(call->Fail(index, std::move(status)));
}

int IsCancelled(tandem_plugin_call* call) { return call != nullptr && call->IsCancelled(); }
int IsExact(tandem_plugin_call* call) { return call != nullptr && call->IsExact(); }

int ParallelForRanges(tandem_plugin_call* call, int64_t count, double cost, tandem_plugin_range range, void* user) {
  if (call == nullptr || range == nullptr) return 0;
  return call->ParallelFor(count, cost, [range, user](int64_t begin, int64_t end) { range(user, begin, end); });
}

tandem_status* Defer(tandem_plugin_call* call, tandem_plugin_call** later) {
  if (call == nullptr || later == nullptr) return WrongArgument("expected a call and a place for another, got null");
  *later = nullptr;
  return ToC(call->Defer(later));
}

void Finish(tandem_plugin_call* later, tandem_status* error) {
  Status status = FromC(error);
  if (later != nullptr) later->Finish(std::move(status));
}

constexpr tandem_plugin_api kApi = {
    TANDEM_PLUGIN_ABI_VERSION,
    sizeof(tandem_plugin_api),
    &MakeErrorForC,
    &tandem_status_release,
    &tandem_status_code,
    &tandem_status_message,
    &DefineOp,
    &AddKernel,
    &AddHandler,
    &OnUnload,
    &NumInputs,
    &Input,
    &InputString,
    &NumResults,
    &Result,
    &DescribeResult,
    &Attr,
    &TypeOfAttr,
    &AttrCount,
    &AttrIsList,
    &AttrBool,
    &AttrInt,
    &AttrFloat,
    &AttrDType,
    &AttrString,
    &AttrShape,
    &AttrTensor,
    &AttrTensorString,
    &AttrAttrs,
    &FindAttr,
    &AllocateResult,
    &ForwardOrAllocateResult,
    &SetResultStrings,
    &FailResult,
    &IsCancelled,
    &IsExact,
    &ParallelForRanges,
    &Defer,
    &Finish,
};

}  // namespace

const tandem_plugin_api& Api() { return kApi; }

}  // namespace tandem::plugin
