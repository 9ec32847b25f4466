// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes, and the values from C that they and tensors are made of.

#include <cstdlib>
#include <cstring>
#include <new>

#include "objects.h"

namespace tandem::c {

static_assert(int{TANDEM_STRING} == static_cast<int>(DType::kString) && TANDEM_STRING + 1 == kNumDTypes);
static_assert(int{TANDEM_F32} == static_cast<int>(DType::kF32) && int{TANDEM_I64} == static_cast<int>(DType::kI64));
static_assert(TANDEM_MAX_RANK == TensorShape::kMaxRank);

Status CheckDType(tandem_dtype dtype) {
  if (dtype > 0 && dtype < kNumDTypes) return Status();
  return InvalidArgument("expected a dtype, got the number ", dtype);
}

Status CheckShape(const int64_t* dims, size_t rank, TensorShape* shape) {
  if (rank > TANDEM_MAX_RANK) {
    return InvalidArgument("a shape has at most ", TANDEM_MAX_RANK, " dimensions, got ", rank);
  }
  if (rank > 0 && dims == nullptr) return InvalidArgument("expected ", rank, " dimensions, got null");
  *shape = TensorShape(std::span(dims, rank));
  return shape->Validate();
}

Status CheckDense(tandem_dtype dtype, const int64_t* dims, size_t rank, const void* data, size_t size,
                  TensorMetadata* metadata) {
  TANDEM_RETURN_IF_ERROR(CheckDType(dtype));
  metadata->dtype = static_cast<DType>(dtype);
  TANDEM_RETURN_IF_ERROR(CheckShape(dims, rank, &metadata->shape));
  TANDEM_RETURN_IF_ERROR(metadata->Validate());
  if (metadata->dtype == DType::kString) {
    return InvalidArgument("strings are no dense data, got ", *metadata);
  }
  if (size != metadata->byte_size()) {
    return InvalidArgument("data of ", *metadata, " must have ", metadata->byte_size(), " bytes, got ", size);
  }
  if (size > 0 && data == nullptr) return InvalidArgument("expected data of ", *metadata, ", got null");
  return Status();
}

Status CheckStrings(const char* const* strings, const size_t* sizes, size_t count, std::string_view* views) {
  for (size_t i = 0; i < count; ++i) {
    if (strings[i] == nullptr && (sizes == nullptr || sizes[i] > 0)) {
      return InvalidArgument("expected a string at index ", i, ", got null");
    }
    views[i] = sizes == nullptr ? std::string_view(strings[i]) : std::string_view(strings[i], sizes[i]);
  }
  return Status();
}

char* CopyText(std::string_view text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

tandem_status* GiveText(std::string_view text, char** copy, size_t* size) {
  *copy = CopyText(text);
  if (*copy == nullptr) return ToC(Status::OutOfMemory());
  if (size != nullptr) *size = text.size();
  return nullptr;
}

namespace {

tandem_code Keep(tandem_attrs& attrs, const Status& error) {
  if (attrs.error.ok()) attrs.error = error;
  return static_cast<tandem_code>(error.code());
}

tandem_code WrongValue(tandem_attrs& attrs, const char* name, const Status& error) {
  return Keep(attrs, MakeError(error.code(), "attribute ", name, ": ", error.message()));
}

// What every setter begins with: false if there is no set, or no name, to set a value of.
bool MayBegin(tandem_attrs* attrs, const char* name) {
  if (attrs == nullptr) return false;
  if (name != nullptr && *name != '\0') return true;
  Keep(*attrs, InvalidArgument("expected the name of an attribute, got ", name == nullptr ? "null" : "an empty text"));
  return false;
}

tandem_code AfterSet(tandem_attrs& attrs, const char* name, bool is_set) {
  if (is_set) return TANDEM_OK;
  if (attrs.attrs.out_of_memory()) return Keep(attrs, Status::OutOfMemory());
  if (attrs.attrs.too_deep()) {
    return Keep(attrs, InvalidArgument("attribute ", name, ": attributes may be nested at most ", kMaxAttrDepth,
                                       " deep, got more"));
  }
  return Keep(attrs, InvalidArgument("attribute ", name, " is already set"));
}

template <typename T>
tandem_code SetScalar(tandem_attrs* attrs, const char* name, const T& value) {
  if (!MayBegin(attrs, name)) return TANDEM_INVALID_ARGUMENT;
  return AfterSet(*attrs, name, attrs->attrs.Set(name, value));
}

Status CheckArray(const void* values, size_t count) {
  const uint64_t wide_count = count;
  if (wide_count > UINT32_MAX) return InvalidArgument("expected at most ", UINT32_MAX, " values, got ", count);
  if (count > 0 && values == nullptr) return InvalidArgument("expected ", count, " values, got null");
  return Status();
}

template <typename T>
tandem_code SetArray(tandem_attrs* attrs, const char* name, const T* values, size_t count) {
  if (!MayBegin(attrs, name)) return TANDEM_INVALID_ARGUMENT;
  if (const Status error = CheckArray(values, count); !error.ok()) return WrongValue(*attrs, name, error);
  return AfterSet(*attrs, name, attrs->attrs.SetArray(name, std::span<const T>(values, count)));
}

// The same for values that are others in C: `convert(i, &value)` makes one of them or says what is wrong with it.
template <typename T, typename Convert>
tandem_code SetConverted(tandem_attrs* attrs, const char* name, const void* values, size_t count, Convert convert) {
  if (!MayBegin(attrs, name)) return TANDEM_INVALID_ARGUMENT;
  if (const Status error = CheckArray(values, count); !error.ok()) return WrongValue(*attrs, name, error);
  SmallArray<T, 8> converted;
  if (!converted.Init(count)) return Keep(*attrs, Status::OutOfMemory());
  for (size_t i = 0; i < count; ++i) {
    if (const Status error = convert(i, &converted[i]); !error.ok()) return WrongValue(*attrs, name, error);
  }
  return AfterSet(*attrs, name, attrs->attrs.SetArray(name, std::span<const T>(converted.span())));
}

}  // namespace

}  // namespace tandem::c

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_attrs_create(tandem_attrs** attrs) {
  if (attrs == nullptr) return WrongArgument("expected a place for the attributes, got null");
  *attrs = new (std::nothrow) tandem_attrs;
  return *attrs == nullptr ? ToC(tandem::Status::OutOfMemory()) : nullptr;
}

void tandem_attrs_release(tandem_attrs* attrs) { delete attrs; }

tandem_status* tandem_attrs_status(const tandem_attrs* attrs) {
  return attrs == nullptr ? WrongArgument("expected attributes, got null") : ToC(attrs->error);
}

tandem_code tandem_attrs_set_bool(tandem_attrs* attrs, const char* name, int value) {
  return SetScalar(attrs, name, value != 0);
}

tandem_code tandem_attrs_set_int(tandem_attrs* attrs, const char* name, int64_t value) {
  return SetScalar(attrs, name, value);
}

tandem_code tandem_attrs_set_float(tandem_attrs* attrs, const char* name, float value) {
  return SetScalar(attrs, name, value);
}

tandem_code tandem_attrs_set_string(tandem_attrs* attrs, const char* name, const char* value, size_t size) {
  if (!MayBegin(attrs, name)) return TANDEM_INVALID_ARGUMENT;
  std::string_view view;
  if (const tandem::Status error = CheckStrings(&value, &size, 1, &view); !error.ok()) {
    return WrongValue(*attrs, name, error);
  }
  return SetScalar(attrs, name, view);
}

tandem_code tandem_attrs_set_dtype(tandem_attrs* attrs, const char* name, tandem_dtype value) {
  if (!MayBegin(attrs, name)) return TANDEM_INVALID_ARGUMENT;
  if (const tandem::Status error = CheckDType(value); !error.ok()) return WrongValue(*attrs, name, error);
  return SetScalar(attrs, name, static_cast<tandem::DType>(value));
}

tandem_code tandem_attrs_set_shape(tandem_attrs* attrs, const char* name, const int64_t* dims, size_t rank) {
  if (!MayBegin(attrs, name)) return TANDEM_INVALID_ARGUMENT;
  tandem::TensorShape shape;
  if (const tandem::Status error = CheckShape(dims, rank, &shape); !error.ok()) return WrongValue(*attrs, name, error);
  return SetScalar(attrs, name, shape);
}

tandem_code tandem_attrs_set_tensor(tandem_attrs* attrs, const char* name, tandem_dtype dtype, const int64_t* dims,
                                    size_t rank, const void* data, size_t size) {
  if (!MayBegin(attrs, name)) return TANDEM_INVALID_ARGUMENT;
  tandem::TensorAttr value;
  if (const tandem::Status error = CheckDense(dtype, dims, rank, data, size, &value.metadata); !error.ok()) {
    return WrongValue(*attrs, name, error);
  }
  value.data = data;
  return SetScalar(attrs, name, value);
}

tandem_code tandem_attrs_set_function(tandem_attrs* attrs, const char* name, const char* value) {
  if (!MayBegin(attrs, name)) return TANDEM_INVALID_ARGUMENT;
  if (value == nullptr) return WrongValue(*attrs, name, tandem::InvalidArgument("expected a name, got null"));
  return SetScalar(attrs, name, tandem::FunctionAttr{value});
}

tandem_code tandem_attrs_set_attrs(tandem_attrs* attrs, const char* name, const tandem_attrs* value) {
  if (!MayBegin(attrs, name)) return TANDEM_INVALID_ARGUMENT;
  if (value == nullptr) return WrongValue(*attrs, name, tandem::InvalidArgument("expected attributes, got null"));
  if (!value->error.ok()) return Keep(*attrs, value->error);  // which names the attribute that is wrong
  return SetScalar(attrs, name, tandem::OpAttrsRef(value->attrs));
}

tandem_code tandem_attrs_set_bools(tandem_attrs* attrs, const char* name, const uint8_t* values, size_t count) {
  return SetConverted<bool>(attrs, name, values, count, [values](size_t i, bool* value) {
    *value = values[i] != 0;
    return tandem::Status();
  });
}

tandem_code tandem_attrs_set_ints(tandem_attrs* attrs, const char* name, const int64_t* values, size_t count) {
  return SetArray(attrs, name, values, count);
}

tandem_code tandem_attrs_set_floats(tandem_attrs* attrs, const char* name, const float* values, size_t count) {
  return SetArray(attrs, name, values, count);
}

tandem_code tandem_attrs_set_strings(tandem_attrs* attrs, const char* name, const char* const* values,
                                     const size_t* sizes, size_t count) {
  const auto convert = [values, sizes](size_t i, std::string_view* value) {
    return CheckStrings(values + i, sizes == nullptr ? nullptr : sizes + i, 1, value);
  };
  return SetConverted<std::string_view>(attrs, name, values, count, convert);
}

tandem_code tandem_attrs_set_dtypes(tandem_attrs* attrs, const char* name, const tandem_dtype* values, size_t count) {
  return SetConverted<tandem::DType>(attrs, name, values, count, [values](size_t i, tandem::DType* value) {
    *value = static_cast<tandem::DType>(values[i]);
    return CheckDType(values[i]);
  });
}

tandem_code tandem_attrs_set_shapes(tandem_attrs* attrs, const char* name, const int64_t* dims, const size_t* ranks,
                                    size_t count) {
  return SetConverted<tandem::TensorShape>(attrs, name, ranks, count,
                                           [dims, ranks](size_t i, tandem::TensorShape* value) mutable {
                                             TANDEM_RETURN_IF_ERROR(CheckShape(dims, ranks[i], value));
                                             if (dims != nullptr) dims += ranks[i];
                                             return tandem::Status();
                                           });
}

}  // extern "C"
