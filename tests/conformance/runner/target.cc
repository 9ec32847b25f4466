// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reading and asking the lists.

#include "target.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tandem::conformance {

CaseList::CaseList(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return;
  std::ifstream stream(file);
  const nlohmann::json list = nlohmann::json::parse(stream);
  if (!list.is_object()) throw std::runtime_error(file.string() + " must be an object from patterns to reasons");
  for (const auto& [pattern, reason] : list.items()) {
    if (!reason.is_string() || reason.get_ref<const std::string&>().empty()) {
      throw std::runtime_error(file.string() + ": \"" + pattern + "\" must have a reason, got " + reason.dump());
    }
    entries_.emplace_back(std::regex(pattern), reason.get<std::string>());
  }
}

const std::string* CaseList::FindReason(const ConformanceCase& conformance_case) const {
  for (const auto& [pattern, reason] : entries_) {
    const auto matches = [&pattern = pattern](const std::string& text) { return std::regex_match(text, pattern); };
    if (matches(conformance_case.name) || matches(conformance_case.op) ||
        std::ranges::any_of(conformance_case.tags, matches)) {
      return &reason;
    }
  }
  return nullptr;
}

}  // namespace tandem::conformance
