// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Report: what became of the cases, by op and dtype.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_REPORT_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_REPORT_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::conformance {

enum class Outcome { kPassed, kFailed, kSkipped };

struct Counts {
  int64_t passed = 0;
  int64_t failed = 0;
  int64_t skipped = 0;

  void Add(Outcome outcome) {
    (outcome == Outcome::kPassed ? passed : outcome == Outcome::kFailed ? failed : skipped) += 1;
  }
};

class Report {
 public:
  explicit Report(std::string_view device) : device_(device) {}

  // What a case is about.
  struct Subject {
    std::string_view op;
    std::string_view dtype;   // "" if there is none
    bool has_kernel = false;  // whether the device itself has a kernel for it
  };
  // `place` is "FILE:LINE". `reason` says why the case failed or was skipped.
  void Add(std::string_view place, std::string_view name, const Subject& subject, Outcome outcome, double worst_ulp,
           std::string_view reason);
  // A line that is no case counts as a failed one.
  void AddBadLine(std::string_view place, std::string_view reason) { Add(place, "", {}, Outcome::kFailed, 0, reason); }

  const Counts& total() const { return total_; }
  // "tf.Exp  f32 1 f64 1.5", a line for each op that gives numbers with a fraction.
  std::string WorstUlpLines() const;
  // "N passed, N failed, N skipped"
  std::string TotalLine() const;
  // As JSON; the folder is made if it is missing. Throws std::runtime_error if the file cannot be written.
  void Write(const std::filesystem::path& file) const;

 private:
  struct Entry {
    Counts counts;
    double worst_ulp = 0;
    bool has_kernel = false;
  };
  struct Problem {
    std::string place;
    std::string name;
    std::string reason;
  };

  std::string device_;
  Counts total_;
  std::map<std::string, std::map<std::string, Entry>> ops_;  // by op, then dtype
  std::vector<Problem> failures_;
  std::vector<Problem> skips_;
};

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_REPORT_H_
