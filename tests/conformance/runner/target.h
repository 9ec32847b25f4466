// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Target: which cases a device does not support or is expected to fail, and why.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_TARGET_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_TARGET_H_

#include <filesystem>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance_case.h"

namespace tandem::conformance {

// A list of cases with reasons: a JSON object from patterns to reasons. A pattern is a regular expression (ECMAScript)
// that matches the whole of a case's name, of its op, or of one of its tags.
class CaseList {
 public:
  CaseList() = default;
  // Empty if there is no such file. Throws std::runtime_error if it is not such an object.
  explicit CaseList(const std::filesystem::path& file);

  // Null if the case is not in the list.
  const std::string* FindReason(const ConformanceCase& conformance_case) const;

 private:
  std::vector<std::pair<std::regex, std::string>> entries_;
};

struct Target {
  // Reads unsupported.json and expected_failures.json of `folder`.
  explicit Target(const std::filesystem::path& folder)
      : unsupported(folder / "unsupported.json"), expected_failures(folder / "expected_failures.json") {}

  CaseList unsupported;
  CaseList expected_failures;
};

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_TARGET_H_
