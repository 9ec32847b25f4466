// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element by element; the text shows the first few that differ.

#include "comparison.h"

#include <cstring>

#include "tandem/host_tensors.h"
#include "tandem/message.h"
#include "tandem/tensor_comparison.h"

namespace tandem::conformance {
namespace {

constexpr int kMaxShown = 4;

// Counts differences and describes the first of them.
class Differences {
 public:
  explicit Differences(const TensorShape& shape) : shape_(shape) {}

  // `append_expected(text)` and `append_actual(text)` write the element, or the part of it that differs.
  template <typename AppendExpected, typename AppendActual>
  void Add(int64_t element, const AppendExpected& append_expected, const AppendActual& append_actual, double ulp = 0) {
    if (++count_ > kMaxShown) return;
    MessageBuilder text;
    text.Append(count_ == 1 ? "" : "; ");
    AppendPosition(text, shape_, element);
    text.Append(": expected ");
    append_expected(text);
    text.Append(", got ");
    append_actual(text);
    if (ulp > 0) text.Append(" (", static_cast<float>(ulp), " ulp)");
    text_ += text.view();
  }
  std::string Take() {
    if (count_ > kMaxShown) text_ += "; " + std::to_string(count_) + " elements differ";
    return std::move(text_);
  }

 private:
  const TensorShape shape_;
  int64_t count_ = 0;
  std::string text_;
};

Comparison CompareNumbersOf(const TensorSpec& expected, const void* actual, const TensorTolerance& tolerance) {
  const DType dtype = expected.metadata.dtype;
  const int64_t parts = dtype == DType::kC64 ? 2 : 1;
  const void* const want = expected.bytes.data();
  const int64_t count = static_cast<int64_t>(expected.bytes.size() / DTypeSize(dtype)) * parts;
  Comparison comparison;
  Differences differences(expected.metadata.shape);
  comparison.worst_ulp = CompareNumbers(dtype, want, actual, count, tolerance, [&](const NumberDifference& difference) {
    differences.Add(
        difference.number / parts, [&](MessageBuilder& text) { AppendNumber(text, dtype, want, difference.number); },
        [&](MessageBuilder& text) { AppendNumber(text, dtype, actual, difference.number); }, difference.ulp);
  });
  comparison.difference = differences.Take();
  return comparison;
}

Comparison CompareStrings(const TensorSpec& expected, const Tensor& actual) {
  const StringHostView strings(actual);
  Comparison comparison;
  Differences differences(expected.metadata.shape);
  for (int64_t i = 0; i < strings.size(); ++i) {
    const std::string_view want = expected.strings[static_cast<size_t>(i)];
    if (want == strings[i]) continue;
    differences.Add(
        i, [&](MessageBuilder& text) { text.Append(want); }, [&](MessageBuilder& text) { text.Append(strings[i]); });
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
  if (expected.metadata.dtype == DType::kString) return CompareStrings(expected, actual);
  if (expected.metadata.dtype == DType::kInvalid) return {.difference = "a tensor without dtype", .worst_ulp = 0};
  return CompareNumbersOf(expected, actual.data(),
                          {.ulp = tolerance.ulp, .abs = tolerance.abs, .signed_zeros = is_strict});
}

bool IsSame(const TensorSpec& expected, const Tensor& actual) {
  if (!(expected.metadata == actual.metadata())) return false;
  if (expected.metadata.dtype == DType::kString) return CompareStrings(expected, actual).difference.empty();
  return expected.bytes.empty() || std::memcmp(expected.bytes.data(), actual.data(), expected.bytes.size()) == 0;
}

}  // namespace tandem::conformance
