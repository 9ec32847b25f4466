// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conversion of values, by Node-API.

#include "values.h"

#include "environment.h"

namespace tandem::node {

Arguments::Arguments(napi_env env, napi_callback_info info) : env_(env) {
  size_t count = kMost;  // the rest is undefined
  Check(napi_get_cb_info(env, info, &count, values_, nullptr, nullptr));
}

void Arguments::Check(napi_status status) {
  if (status == napi_ok || !ok_) return;
  ok_ = false;
  bool is_pending = false;
  napi_is_exception_pending(env_, &is_pending);
  if (!is_pending) napi_throw_type_error(env_, nullptr, "expected another type of argument for the addon");
}

bool Arguments::IsOfType(napi_value value, napi_valuetype type) {
  napi_valuetype given = napi_undefined;
  Check(napi_typeof(env_, value, &given));
  return given == type;
}

bool Arguments::Bool(size_t i) {
  bool value = false;
  Check(napi_get_value_bool(env_, values_[i], &value));
  return value;
}

std::string Arguments::Text(napi_value value) {
  std::string text;
  if (IsOfType(value, napi_undefined)) return text;
  size_t size = 0;
  Check(napi_get_value_string_utf8(env_, value, nullptr, 0, &size));
  if (!ok_) return text;
  text.resize(size + 1);
  Check(napi_get_value_string_utf8(env_, value, text.data(), text.size(), &size));
  text.resize(size);
  return text;
}

double Arguments::Number(napi_value value) {
  double number = 0;
  Check(napi_get_value_double(env_, value, &number));
  return number;
}

int64_t Arguments::Int(napi_value value) {
  int64_t number = 0;
  if (IsOfType(value, napi_bigint)) {
    bool is_lossless = false;
    Check(napi_get_value_bigint_int64(env_, value, &number, &is_lossless));
  } else {
    Check(napi_get_value_int64(env_, value, &number));
  }
  return number;
}

void* Arguments::Pointer(napi_value external) {
  void* pointer = nullptr;
  Check(napi_get_value_external(env_, external, &pointer));
  return pointer;
}

std::vector<napi_value> Arguments::List(napi_value array) {
  uint32_t length = 0;
  Check(napi_get_array_length(env_, array, &length));
  std::vector<napi_value> values(ok_ ? length : 0);
  for (uint32_t i = 0; i < values.size() && ok_; ++i) Check(napi_get_element(env_, array, i, &values[i]));
  if (!ok_) values.clear();
  return values;
}

std::vector<int64_t> Arguments::Ints(napi_value array) {
  std::vector<int64_t> ints;
  for (napi_value value : List(array)) ints.push_back(Int(value));
  return ints;
}

napi_value MakeText(napi_env env, const char* text) {
  napi_value value = nullptr;
  return napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value) == napi_ok ? value : nullptr;
}

napi_value MakeNumber(napi_env env, double number) {
  napi_value value = nullptr;
  return napi_create_double(env, number, &value) == napi_ok ? value : nullptr;
}

napi_value Throw(napi_env env, tandem_status* status) {
  const napi_value error = Environment::Of(env)->MakeError(env, status);
  if (error != nullptr) napi_throw(env, error);
  return nullptr;
}

}  // namespace tandem::node
