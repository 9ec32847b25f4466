// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ConformanceCase: one line of a case file: an op call and what it must give.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_CONFORMANCE_CASE_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_CONFORMANCE_CASE_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/tensor_metadata.h"

namespace tandem::conformance {

// A tensor spelt out in a case, with its elements as a dense tensor has them.
struct TensorSpec {
  TensorMetadata metadata;
  std::vector<std::byte> bytes;      // of any dtype but string
  std::vector<std::string> strings;  // of dtype string

  friend bool operator==(const TensorSpec& a, const TensorSpec& b) = default;
};

// Results pass if |actual - expected| <= max(abs, ulp * ULP(expected)).
struct Tolerance {
  double ulp = 0;
  double abs = 0;
};

struct ConformanceCase {
  std::string name;
  std::string op;
  nlohmann::json attrs;  // an object
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;   // of the first results
  std::optional<std::string> error;  // in place of outputs
  Tolerance tolerance;
  std::vector<std::string> tags;

  bool HasTag(std::string_view tag) const;
};

// Both throw std::runtime_error that says what is wrong with the text.
ConformanceCase ParseCase(std::string_view line);
TensorSpec ParseTensor(const nlohmann::json& json);

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_CONFORMANCE_CASE_H_
