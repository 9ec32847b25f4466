// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Target: which cases a device does not support or is expected to fail, what its number formats allow, and why.

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
  // Adds the entries of another file.
  void Add(const std::filesystem::path& file);

  // Null if the case is not in the list.
  const std::string* FindReason(const ConformanceCase& conformance_case) const;

 private:
  std::vector<std::pair<std::regex, std::string>> entries_;
};

// What devices may differ by that do not compute as IEEE 754 says, by the precision tables of their shading languages:
// a JSON object from patterns, as above, to {"ulp": N, "abs": X, "reason": "..."}.
class ToleranceList {
 public:
  // The same as for CaseList.
  void Add(const std::filesystem::path& file);
  // The case's own tolerance, or that of the entries that match it, whatever is larger.
  Tolerance Find(const ConformanceCase& conformance_case) const;

 private:
  std::vector<std::pair<std::regex, Tolerance>> entries_;
};

struct Target {
  // Reads unsupported.json, expected_failures.json and tolerances.json of each of the folders.
  explicit Target(const std::vector<std::filesystem::path>& folders);

  CaseList unsupported;
  CaseList expected_failures;
  ToleranceList tolerances;
};

// Where the lists of a device are: a folder of its own, and one that the devices that run shaders share.
std::vector<std::filesystem::path> TargetFolders(const std::filesystem::path& targets, const std::string& device);

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_TARGET_H_
