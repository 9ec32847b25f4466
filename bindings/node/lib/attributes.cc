// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Setting of attributes, by their kinds.

#include "attributes.h"

#include <string>
#include <string_view>
#include <vector>

namespace tandem::node {

namespace {

// Attributes as they are read. What a setter refuses, the call tells.
class Setter {
 public:
  Setter(Arguments& args, tandem_attrs* attrs) : args_(args), attrs_(attrs) {}

  void Set(const std::string& name, std::string_view kind, bool is_list, napi_value value) {
    if (is_list) return SetList(name, kind, args_.List(value));
    const char* const key = name.c_str();
    if (kind == "bool") {
      tandem_attrs_set_bool(attrs_, key, Bool(value));
    } else if (kind == "int") {
      tandem_attrs_set_int(attrs_, key, args_.Int(value));
    } else if (kind == "float") {
      tandem_attrs_set_float(attrs_, key, static_cast<float>(args_.Number(value)));
    } else if (kind == "type") {
      tandem_attrs_set_dtype(attrs_, key, static_cast<tandem_dtype>(args_.Int(value)));
    } else if (kind == "shape") {
      const std::vector<int64_t> dims = args_.Ints(value);
      tandem_attrs_set_shape(attrs_, key, dims.data(), dims.size());
    } else if (kind == "func") {
      tandem_attrs_set_function(attrs_, key, args_.Text(value).c_str());
    } else {
      const std::string text = args_.Text(value);
      tandem_attrs_set_string(attrs_, key, text.data(), text.size());
    }
  }

 private:
  bool Bool(napi_value value) {
    bool is_true = false;
    args_.Check(napi_get_value_bool(args_.env(), value, &is_true));
    return is_true;
  }

  template <typename T, typename Read>
  static std::vector<T> Each(const std::vector<napi_value>& values, Read read) {
    std::vector<T> elements;
    for (napi_value value : values) elements.push_back(static_cast<T>(read(value)));
    return elements;
  }

  void SetList(const std::string& name, std::string_view kind, const std::vector<napi_value>& values) {
    const char* const key = name.c_str();
    const size_t count = values.size();
    if (kind == "bool") {
      const auto bools = Each<uint8_t>(values, [this](napi_value value) { return Bool(value); });
      tandem_attrs_set_bools(attrs_, key, bools.data(), count);
    } else if (kind == "int") {
      const auto ints = Each<int64_t>(values, [this](napi_value value) { return args_.Int(value); });
      tandem_attrs_set_ints(attrs_, key, ints.data(), count);
    } else if (kind == "float") {
      const auto floats = Each<float>(values, [this](napi_value value) { return args_.Number(value); });
      tandem_attrs_set_floats(attrs_, key, floats.data(), count);
    } else if (kind == "type") {
      const auto dtypes = Each<tandem_dtype>(values, [this](napi_value value) { return args_.Int(value); });
      tandem_attrs_set_dtypes(attrs_, key, dtypes.data(), count);
    } else if (kind == "shape") {
      SetShapes(key, values);
    } else {
      SetStrings(key, values);
    }
  }

  void SetShapes(const char* key, const std::vector<napi_value>& values) {
    std::vector<int64_t> dims;
    std::vector<size_t> ranks;
    for (napi_value value : values) {
      const std::vector<int64_t> shape = args_.Ints(value);
      dims.insert(dims.end(), shape.begin(), shape.end());
      ranks.push_back(shape.size());
    }
    tandem_attrs_set_shapes(attrs_, key, dims.data(), ranks.data(), values.size());
  }

  void SetStrings(const char* key, const std::vector<napi_value>& values) {
    std::vector<std::string> strings;
    for (napi_value value : values) strings.push_back(args_.Text(value));
    std::vector<const char*> texts;
    std::vector<size_t> sizes;
    for (const std::string& string : strings) {
      texts.push_back(string.data());
      sizes.push_back(string.size());
    }
    tandem_attrs_set_strings(attrs_, key, texts.data(), sizes.data(), values.size());
  }

  Arguments& args_;
  tandem_attrs* const attrs_;
};

}  // namespace

Attributes ReadAttributes(Arguments& args, napi_value array) {
  const std::vector<napi_value> entries = args.List(array);
  tandem_attrs* made = nullptr;
  if (entries.empty()) return nullptr;
  if (tandem_status* error = tandem_attrs_create(&made)) {
    tandem_status_release(error);
    args.Check(napi_generic_failure);
    return nullptr;
  }
  Attributes attributes(made);
  Setter setter(args, made);
  for (napi_value entry : entries) {
    const std::vector<napi_value> parts = args.List(entry);
    if (parts.size() != 4) args.Check(napi_invalid_arg);
    if (!args.ok()) return nullptr;
    const std::string name = args.Text(parts[0]);
    const std::string kind = args.Text(parts[1]);
    bool is_list = false;
    args.Check(napi_get_value_bool(args.env(), parts[2], &is_list));
    setter.Set(name, kind, is_list, parts[3]);
  }
  return args.ok() ? std::move(attributes) : nullptr;
}

}  // namespace tandem::node
