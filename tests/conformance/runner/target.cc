// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reading and asking the lists.

#include "target.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tandem::conformance {

namespace {

// The object in `file`; empty if there is no such file.
nlohmann::json ReadObject(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return nlohmann::json::object();
  std::ifstream stream(file);
  nlohmann::json list = nlohmann::json::parse(stream);
  if (!list.is_object()) throw std::runtime_error(file.string() + " must be an object from patterns to reasons");
  return list;
}

[[noreturn]] void ThrowWrongEntry(const std::filesystem::path& file, const std::string& pattern,
                                  const std::string& expected, const nlohmann::json& given) {
  throw std::runtime_error(file.string() + ": \"" + pattern + "\" must have " + expected + ", got " + given.dump());
}

bool Matches(const std::regex& pattern, const ConformanceCase& conformance_case) {
  const auto matches = [&](const std::string& text) { return std::regex_match(text, pattern); };
  return matches(conformance_case.name) || matches(conformance_case.op) ||
         std::ranges::any_of(conformance_case.tags, matches);
}

}  // namespace

CaseList::CaseList(const std::filesystem::path& file) { Add(file); }

void CaseList::Add(const std::filesystem::path& file) {
  const nlohmann::json list = ReadObject(file);
  for (const auto& [pattern, reason] : list.items()) {
    if (!reason.is_string() || reason.get_ref<const std::string&>().empty()) {
      ThrowWrongEntry(file, pattern, "a reason", reason);
    }
    entries_.emplace_back(std::regex(pattern), reason.get<std::string>());
  }
}

const std::string* CaseList::FindReason(const ConformanceCase& conformance_case) const {
  for (const auto& [pattern, reason] : entries_) {
    if (Matches(pattern, conformance_case)) return &reason;
  }
  return nullptr;
}

void ToleranceList::Add(const std::filesystem::path& file) {
  const nlohmann::json list = ReadObject(file);
  for (const auto& [pattern, entry] : list.items()) {
    if (!entry.is_object() || !entry.contains("reason") || !entry["reason"].is_string()) {
      ThrowWrongEntry(file, pattern, "a tolerance with a reason", entry);
    }
    entries_.emplace_back(std::regex(pattern), Tolerance{entry.value("ulp", 0.0), entry.value("abs", 0.0)});
  }
}

Tolerance ToleranceList::Find(const ConformanceCase& conformance_case) const {
  Tolerance widest = conformance_case.tolerance;
  for (const auto& [pattern, tolerance] : entries_) {
    if (!Matches(pattern, conformance_case)) continue;
    widest.ulp = std::max(widest.ulp, tolerance.ulp);
    widest.abs = std::max(widest.abs, tolerance.abs);
  }
  return widest;
}

Target::Target(const std::vector<std::filesystem::path>& folders) {
  for (const std::filesystem::path& folder : folders) {
    unsupported.Add(folder / "unsupported.json");
    expected_failures.Add(folder / "expected_failures.json");
    tolerances.Add(folder / "tolerances.json");
  }
}

std::vector<std::filesystem::path> TargetFolders(const std::filesystem::path& targets, const std::string& device) {
  if (device == "cpu") return {targets / device};
  return {targets / "shader", targets / (device == "cuda-emulated" ? "cuda" : device)};
}

}  // namespace tandem::conformance
