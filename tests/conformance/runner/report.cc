// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The report as text and as JSON.

#include "report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "number_format.h"

namespace tandem::conformance {
namespace {

using nlohmann::ordered_json;

ordered_json ToJson(const Counts& counts) {
  return {{"passed", counts.passed}, {"failed", counts.failed}, {"skipped", counts.skipped}};
}

}  // namespace

void Report::Add(std::string_view place, std::string_view name, const Subject& subject, Outcome outcome,
                 double worst_ulp, std::string_view reason) {
  total_.Add(outcome);
  if (!subject.op.empty()) {
    Entry& entry = ops_[std::string(subject.op)][std::string(subject.dtype)];
    entry.has_kernel = subject.has_kernel;
    entry.counts.Add(outcome);
    entry.worst_ulp = std::max(entry.worst_ulp, worst_ulp);
  }
  const Problem problem = {std::string(place), std::string(name), std::string(reason)};
  if (outcome == Outcome::kFailed) failures_.push_back(problem);
  if (outcome == Outcome::kSkipped) skips_.push_back(problem);
}

std::string Report::WorstUlpLines() const {
  std::string lines;
  for (const auto& [op, entries] : ops_) {
    std::string line;
    for (const auto& [dtype, entry] : entries) {
      const std::optional<DType> parsed = ParseDType(dtype);
      if (!parsed || !IsFloat(*parsed)) continue;
      char text[64];
      std::snprintf(text, sizeof(text), "  %s %.3g", dtype.c_str(), entry.worst_ulp);
      line += text;
    }
    if (line.empty()) continue;
    lines += "worst ulp  " + op + line + "\n";
  }
  return lines;
}

std::string Report::TotalLine() const {
  return std::to_string(total_.passed) + " passed, " + std::to_string(total_.failed) + " failed, " +
         std::to_string(total_.skipped) + " skipped";
}

void Report::Write(const std::filesystem::path& file) const {
  ordered_json json = {{"device", device_}};
  json.update(ToJson(total_));
  ordered_json& ops = json["ops"] = ordered_json::object();
  for (const auto& [op, entries] : ops_) {
    for (const auto& [dtype, entry] : entries) {
      ordered_json& target = ops[op][dtype] = ToJson(entry.counts);
      target["worst_ulp"] = entry.worst_ulp;
      target["has_kernel"] = entry.has_kernel;
    }
  }
  const auto list = [](const std::vector<Problem>& problems) {
    ordered_json result = ordered_json::array();
    for (const Problem& problem : problems) {
      result.push_back({{"place", problem.place}, {"case", problem.name}, {"reason", problem.reason}});
    }
    return result;
  };
  json["failures"] = list(failures_);
  json["skips"] = list(skips_);
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file);
  stream << json.dump(1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  if (!stream.flush()) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace tandem::conformance
