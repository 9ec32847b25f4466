// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reading of case files: strict, so that a slip of the pen is an error rather than a case that tests nothing.

#include "conformance_case.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "number_format.h"
#include "pcg32.h"
#include "tandem/dtype.h"

namespace tandem::conformance {
namespace {

using nlohmann::json;

[[noreturn]] void Fail(const std::string& text) { throw std::runtime_error(text); }

void CheckKeys(const json& object, std::string_view what, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) Fail(std::string(what) + " must be an object, got " + object.dump());
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) == known.end()) Fail(std::string(what) + " has an unknown field \"" + key + "\"");
  }
}

const json& Required(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) Fail("field \"" + std::string(key) + "\" is missing");
  return *found;
}

double ParseReal(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "-0") return -0.0;
  Fail("expected a number, \"nan\", \"inf\", \"-inf\" or \"-0\", got " + value.dump());
}

template <std::integral T>
T ParseInteger(const json& value) {
  T result{};
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, result);
  const bool is_integer = value.is_number_integer() || value.is_string();
  if (!is_integer || error != std::errc() || rest != end) {
    Fail("expected an integer of dtype " + std::string(DTypeName(kDTypeOf<T>)) + ", got " + value.dump());
  }
  return result;
}

bool ParseBool(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value == 0 || value == 1) return value == 1;
  Fail("expected true, false, 1 or 0, got " + value.dump());
}

// An element of a floating-point or integer dtype.
template <typename T>
T FromReal(double value) {
  if constexpr (std::is_integral_v<T>) {
    const double truncated = std::trunc(value);
    if (!(truncated >= static_cast<double>(std::numeric_limits<T>::min()) &&
          truncated <= static_cast<double>(std::numeric_limits<T>::max()))) {
      Fail("random number " + std::to_string(value) + " is out of range");
    }
    return static_cast<T>(truncated);
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<T>(static_cast<float>(RoundToDType(value, kDTypeOf<T>)));
  }
}

template <typename T>
T ParseElement(const json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return ParseBool(value);
  } else if constexpr (std::is_integral_v<T>) {
    return ParseInteger<T>(value);
  } else {
    return FromReal<T>(ParseReal(value));
  }
}

// `numbers_per_element` of the list make an element: two of a complex one.
template <typename T>
void ParseData(const json& data, size_t numbers_per_element, TensorSpec& tensor) {
  const size_t expected = static_cast<size_t>(tensor.metadata.num_elements()) * numbers_per_element;
  if (!data.is_array() || data.size() != expected) {
    Fail("data must be a list of " + std::to_string(expected) + " numbers, got " +
         (data.is_array() ? std::to_string(data.size()) : data.dump()));
  }
  tensor.bytes.resize(expected * sizeof(T));
  for (size_t i = 0; i < expected; ++i) {
    const T element = ParseElement<T>(data[i]);
    std::memcpy(tensor.bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
}

template <typename T>
void DrawData(const json& random, TensorSpec& tensor) {
  CheckKeys(random, "random", {"seed", "low", "high"});
  Pcg32 generator(ParseInteger<uint64_t>(Required(random, "seed")));
  const double low = ParseReal(Required(random, "low"));
  const double high = ParseReal(Required(random, "high"));
  const auto count = static_cast<size_t>(tensor.metadata.num_elements());
  tensor.bytes.resize(count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    T element{};
    if constexpr (std::is_same_v<T, bool>) {
      element = FromReal<uint8_t>(generator.Uniform(low, high)) != 0;
    } else {
      element = FromReal<T>(generator.Uniform(low, high));
    }
    std::memcpy(tensor.bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
}

template <typename T>
void ParseElements(const json& object, TensorSpec& tensor) {
  const auto random = object.find("random");
  if (random == object.end()) return ParseData<T>(Required(object, "data"), 1, tensor);
  if (object.contains("data")) Fail("a tensor has either data or random, not both");
  DrawData<T>(*random, tensor);
}

TensorShape ParseShape(const json& dims) {
  if (!dims.is_array()) Fail("shape must be a list, got " + dims.dump());
  TensorShape shape;
  for (const json& dim : dims) shape.Append(ParseInteger<int64_t>(dim));
  return shape;
}

void ParseStrings(const json& data, TensorSpec& tensor) {
  if (!data.is_array() || data.size() != static_cast<size_t>(tensor.metadata.num_elements())) {
    Fail("data must be a list of " + std::to_string(tensor.metadata.num_elements()) + " strings");
  }
  for (const json& element : data) {
    if (!element.is_string()) Fail("expected a string, got " + element.dump());
    tensor.strings.push_back(element.get<std::string>());
  }
}

std::vector<TensorSpec> ParseTensors(const json& list, std::string_view what) {
  if (!list.is_array()) Fail(std::string(what) + " must be a list, got " + list.dump());
  std::vector<TensorSpec> tensors;
  for (const json& tensor : list) {
    try {
      tensors.push_back(ParseTensor(tensor));
    } catch (const std::runtime_error& error) {
      Fail(std::string(what) + "[" + std::to_string(tensors.size()) + "]: " + error.what());
    }
  }
  return tensors;
}

Tolerance ParseTolerance(const json& object) {
  CheckKeys(object, "tolerance", {"ulp", "abs"});
  Tolerance tolerance;
  if (object.contains("ulp")) tolerance.ulp = ParseReal(object["ulp"]);
  if (object.contains("abs")) tolerance.abs = ParseReal(object["abs"]);
  if (!(tolerance.ulp >= 0 && tolerance.abs >= 0)) Fail("tolerance must not be negative, got " + object.dump());
  return tolerance;
}

std::string ParseText(const json& object, const char* key) {
  const json& value = Required(object, key);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    Fail("field \"" + std::string(key) + "\" must be a string that is not empty, got " + value.dump());
  }
  return value.get<std::string>();
}

}  // namespace

bool ConformanceCase::HasTag(std::string_view tag) const { return std::ranges::find(tags, tag) != tags.end(); }

TensorSpec ParseTensor(const json& object) {
  CheckKeys(object, "a tensor", {"dtype", "shape", "data", "random"});
  const std::string name = ParseText(object, "dtype");
  const std::optional<DType> dtype = ParseDType(name);
  if (!dtype || DTypeName(*dtype) != name) Fail("unknown dtype \"" + name + "\"");
  TensorSpec tensor;
  tensor.metadata = TensorMetadata(*dtype, ParseShape(Required(object, "shape")));
  if (const Status valid = tensor.metadata.Validate(); !valid.ok()) Fail(std::string(valid.message()));
  if (*dtype == DType::kString) {
    ParseStrings(Required(object, "data"), tensor);
  } else if (*dtype == DType::kC64) {
    ParseData<float>(Required(object, "data"), 2, tensor);
  } else {
    switch (*dtype) {
#define TANDEM_PARSE_ELEMENTS(enumerator, type)                                                    \
  case DType::enumerator:                                                                          \
    if constexpr (!std::is_same_v<type, std::complex<float>>) ParseElements<type>(object, tensor); \
    break;
      TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_PARSE_ELEMENTS)
#undef TANDEM_PARSE_ELEMENTS
      default:
        break;
    }
  }
  return tensor;
}

ConformanceCase ParseCase(std::string_view line) {
  const json object = json::parse(line);
  CheckKeys(object, "a case", {"name", "op", "attrs", "inputs", "outputs", "error", "tolerance", "tags"});
  ConformanceCase result;
  result.name = ParseText(object, "name");
  result.op = ParseText(object, "op");
  result.attrs = object.value("attrs", json::object());
  if (!result.attrs.is_object()) Fail("attrs must be an object, got " + result.attrs.dump());
  if (object.contains("inputs")) result.inputs = ParseTensors(object["inputs"], "inputs");
  if (object.contains("outputs") == object.contains("error")) Fail("a case has either outputs or an error");
  if (object.contains("outputs")) result.outputs = ParseTensors(object["outputs"], "outputs");
  if (object.contains("error")) result.error = ParseText(object, "error");
  if (object.contains("tolerance")) result.tolerance = ParseTolerance(object["tolerance"]);
  if (object.contains("tags")) result.tags = object["tags"].get<std::vector<std::string>>();
  return result;
}

}  // namespace tandem::conformance
