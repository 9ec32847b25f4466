// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element by element; the text shows the first few that differ.

#include "comparison.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "number_format.h"
#include "tandem/host_tensors.h"
#include "tandem/message.h"

namespace tandem::conformance {
namespace {

constexpr int kMaxShown = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Counts differences and describes the first of them.
class Differences {
 public:
  explicit Differences(const TensorShape& shape) : shape_(shape) {}

  template <typename T>
  void Add(int64_t element, const T& expected, const T& actual, double ulp = 0) {
    if (++count_ > kMaxShown) return;
    MessageBuilder text;
    text.Append(count_ == 1 ? "" : "; ");
    AppendPosition(text, element);
    text.Append(": expected ", expected, ", got ", actual);
    if (ulp > 0) text.Append(" (", static_cast<float>(ulp), " ulp)");
    text_ += text.view();
  }
  std::string Take() {
    if (count_ > kMaxShown) text_ += "; " + std::to_string(count_) + " elements differ";
    return std::move(text_);
  }

 private:
  void AppendPosition(MessageBuilder& text, int64_t element) const {
    int64_t position[TensorShape::kMaxRank] = {};
    for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
      position[axis] = element % shape_.dim(axis);
      element /= shape_.dim(axis);
    }
    text.Append(std::span<const int64_t>(position, static_cast<size_t>(shape_.rank())));
  }

  const TensorShape shape_;
  int64_t count_ = 0;
  std::string text_;
};

// The error in ULP; 0 if it is within the absolute tolerance. Infinite where no tolerance helps.
double ErrorInUlp(double expected, double actual, DType dtype, double abs_tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual) ? 0 : kInfinity;
  if (expected == actual) return 0;
  if (std::isinf(expected) || std::isinf(actual)) return kInfinity;
  const double error = std::fabs(actual - expected);
  return error <= abs_tolerance ? 0 : error / UlpOf(expected, dtype);
}

template <typename T>
Comparison CompareFloats(const TensorSpec& expected, const void* actual, const Tolerance& tolerance, bool is_strict) {
  const size_t count = expected.bytes.size() / sizeof(T);
  const DType dtype = expected.metadata.dtype;
  const int64_t parts = dtype == DType::kC64 ? 2 : 1;
  Comparison comparison;
  Differences differences(expected.metadata.shape);
  for (size_t i = 0; i < count; ++i) {
    T from;
    T to;
    std::memcpy(&from, expected.bytes.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&to, static_cast<const std::byte*>(actual) + i * sizeof(T), sizeof(T));
    const double want = static_cast<double>(from);
    const double got = static_cast<double>(to);
    const double ulp = ErrorInUlp(want, got, dtype, tolerance.abs);
    const bool is_same_zero = !is_strict || want != 0 || got != 0 || std::signbit(want) == std::signbit(got);
    if (ulp > tolerance.ulp || !is_same_zero) {
      using Shown = std::conditional_t<std::is_same_v<T, double>, double, float>;
      differences.Add(static_cast<int64_t>(i) / parts, static_cast<Shown>(want), static_cast<Shown>(got), ulp);
    }
    if (std::isfinite(ulp)) comparison.worst_ulp = std::max(comparison.worst_ulp, ulp);
  }
  comparison.difference = differences.Take();
  return comparison;
}

template <typename T>
Comparison CompareIntegers(const TensorSpec& expected, const void* actual, const Tolerance& tolerance) {
  const size_t count = expected.bytes.size() / sizeof(T);
  const double allowed = std::max(tolerance.abs, tolerance.ulp);
  Comparison comparison;
  Differences differences(expected.metadata.shape);
  for (size_t i = 0; i < count; ++i) {
    T want;
    T got;
    std::memcpy(&want, expected.bytes.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&got, static_cast<const std::byte*>(actual) + i * sizeof(T), sizeof(T));
    if (want == got) continue;
    const double error = std::fabs(static_cast<double>(got) - static_cast<double>(want));
    // 64-bit integers that differ may be equal as doubles.
    if (allowed < 1 || error > allowed) differences.Add(static_cast<int64_t>(i), want, got);
  }
  comparison.difference = differences.Take();
  return comparison;
}

Comparison CompareStrings(const TensorSpec& expected, const Tensor& actual) {
  const StringHostView strings(actual);
  Comparison comparison;
  Differences differences(expected.metadata.shape);
  for (int64_t i = 0; i < strings.size(); ++i) {
    const std::string_view want = expected.strings[static_cast<size_t>(i)];
    if (want != strings[i]) differences.Add(i, want, strings[i]);
  }
  comparison.difference = differences.Take();
  return comparison;
}

}  // namespace

Comparison Compare(const TensorSpec& expected, const Tensor& actual, const Tolerance& tolerance, bool is_strict) {
  if (!(expected.metadata == actual.metadata())) {
    MessageBuilder text;
    text.Append("expected ", expected.metadata, ", got ", actual.metadata());
    return {.difference = std::string(text.view()), .worst_ulp = 0};
  }
  switch (expected.metadata.dtype) {
    case DType::kString:
      return CompareStrings(expected, actual);
    case DType::kBool:  // compared as bytes: a true that is not 1 is a fault
      return CompareIntegers<uint8_t>(expected, actual.data(), {});
    case DType::kC64:
      return CompareFloats<float>(expected, actual.data(), tolerance, is_strict);
#define TANDEM_COMPARE(enumerator, type)                                         \
  case DType::enumerator:                                                        \
    if constexpr (std::is_integral_v<type>) {                                    \
      return CompareIntegers<type>(expected, actual.data(), tolerance);          \
    } else {                                                                     \
      return CompareFloats<type>(expected, actual.data(), tolerance, is_strict); \
    }
      TANDEM_COMPARE(kU8, uint8_t)
      TANDEM_COMPARE(kI8, int8_t)
      TANDEM_COMPARE(kU16, uint16_t)
      TANDEM_COMPARE(kI16, int16_t)
      TANDEM_COMPARE(kI32, int32_t)
      TANDEM_COMPARE(kU32, uint32_t)
      TANDEM_COMPARE(kI64, int64_t)
      TANDEM_COMPARE(kU64, uint64_t)
      TANDEM_COMPARE(kF16, Float16)
      TANDEM_COMPARE(kBF16, BFloat16)
      TANDEM_COMPARE(kF32, float)
      TANDEM_COMPARE(kF64, double)
#undef TANDEM_COMPARE
    case DType::kInvalid:
      break;
  }
  return {.difference = "a tensor without dtype", .worst_ulp = 0};
}

bool IsSame(const TensorSpec& expected, const Tensor& actual) {
  if (!(expected.metadata == actual.metadata())) return false;
  if (expected.metadata.dtype == DType::kString) return CompareStrings(expected, actual).difference.empty();
  return expected.bytes.empty() || std::memcmp(expected.bytes.data(), actual.data(), expected.bytes.size()) == 0;
}

}  // namespace tandem::conformance
