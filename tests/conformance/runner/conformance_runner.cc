// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs conformance cases on one device and says which fail.

#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conformance_case.h"
#include "report.h"
#include "session.h"
#include "target.h"

namespace tandem::conformance {
namespace {

constexpr int kSkippedExitCode = 77;

struct Settings {
  SessionOptions session;
  bool no_fallback = false;
  size_t share = 1;
  std::string filter;
  std::string report;
  std::string bits;
  std::string targets = TANDEM_CONFORMANCE_TARGETS;
  std::vector<std::string> files;
};

class Runner {
 public:
  explicit Runner(const Settings& settings)
      : session_(settings.session),
        target_(TargetFolders(settings.targets, settings.session.device)),
        report_(settings.session.device),
        is_quiet_(settings.session.collects_kernels),
        share_(settings.share) {
    if (!settings.filter.empty()) filter_.emplace(settings.filter);
  }

  void RunFile(const std::string& file) {
    std::ifstream stream(file);
    if (!stream) return Fail(file, "cannot be read");
    std::string line;
    std::set<std::string> names;
    for (int64_t number = 1; std::getline(stream, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const std::string place = file + ":" + std::to_string(number);
      try {
        ConformanceCase conformance_case = ParseCase(line);
        session_.CheckTolerance(conformance_case);
        conformance_case.tolerance = target_.tolerances.Find(conformance_case);
        if (!names.insert(conformance_case.name).second) {
          throw std::runtime_error("there is another case named " + conformance_case.name);
        }
        RunCase(file, place, conformance_case);
      } catch (const std::exception& error) {
        Fail(place, error.what());
      }
    }
    if (names.empty()) Fail(file, "has no cases");
  }

  const Report& report() const { return report_; }
  // "FAMILY NAME OP HASH", a line for each case, which has "error" instead of a hash if that is what is expected, or
  // "failed" or "skipped".
  const std::string& bits() const { return bits_; }

 private:
  void RunCase(const std::string& file, const std::string& place, const ConformanceCase& conformance_case) {
    const auto matches = [&](const std::string& text) { return std::regex_search(text, *filter_); };
    if (filter_ && !matches(conformance_case.name) && !matches(conformance_case.op)) return;
    if (IsLeftOut(conformance_case)) return;
    const auto add = [&](Outcome outcome, const CaseResult& result, const std::string& reason) {
      if (outcome == Outcome::kFailed && !is_quiet_) Print(place, conformance_case.name + ": " + reason);
      const std::string dtype = session_.KernelDType(conformance_case);
      report_.Add(place, conformance_case.name,
                  {conformance_case.op, dtype, session_.HasKernel(conformance_case, dtype)}, outcome, result.worst_ulp,
                  reason);
    };
    if (const std::string* reason = target_.unsupported.FindReason(conformance_case)) {
      AddBits(file, conformance_case, "skipped");
      return add(Outcome::kSkipped, {}, *reason);
    }
    const CaseResult result = session_.Run(conformance_case);
    AddBits(file, conformance_case, WordOf(conformance_case, result));
    const std::string* expected_failure = target_.expected_failures.FindReason(conformance_case);
    if (expected_failure == nullptr) {
      return add(result.failure.empty() ? Outcome::kPassed : Outcome::kFailed, result, result.failure);
    }
    if (!result.failure.empty()) return add(Outcome::kSkipped, {}, *expected_failure);
    add(Outcome::kFailed, result, "passed, though it is listed as an expected failure: " + *expected_failure);
  }

  // By a hash of its name, so that which ones are run does not change with others.
  bool IsLeftOut(const ConformanceCase& conformance_case) {
    if (share_ <= 1) return false;
    constexpr DTypeSet kOthers = {DType::kF64, DType::kI64, DType::kU64,  DType::kI16, DType::kU16,
                                  DType::kI8,  DType::kU8,  DType::kBF16, DType::kC64};
    const std::optional<DType> dtype = ParseDType(session_.KernelDType(conformance_case));
    const bool is_other = dtype.has_value() && kOthers.Contains(*dtype);
    uint32_t hash = 2166136261u;
    for (const char c : conformance_case.name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
    return is_other && hash % share_ != 0;
  }

  static std::string WordOf(const ConformanceCase& conformance_case, const CaseResult& result) {
    if (!result.failure.empty()) return "failed";
    if (conformance_case.error) return "error";
    char text[17];
    std::snprintf(text, sizeof(text), "%016" PRIx64, result.bits.value_or(0));
    return text;
  }
  void AddBits(const std::string& file, const ConformanceCase& conformance_case, const std::string& word) {
    const std::string family = std::filesystem::path(file).stem();
    bits_ += family + " " + conformance_case.name + " " + conformance_case.op + " " + word + "\n";
  }

  void Fail(const std::string& place, const std::string& reason) {
    Print(place, reason);
    report_.AddBadLine(place, reason);
  }
  static void Print(const std::string& place, const std::string& reason) {
    std::printf("%s: %s\n", place.c_str(), reason.c_str());
  }

  Session session_;
  const Target target_;
  std::optional<std::regex> filter_;
  Report report_;
  const bool is_quiet_;
  const size_t share_;
  std::string bits_;
};

void WriteBits(const std::filesystem::path& file, const std::string& text) {
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file);
  stream << text;
  if (!stream.flush()) throw std::runtime_error("cannot write " + file.string());
}

int Run(const Settings& settings) {
  std::optional<Runner> runner(settings);
  for (const std::string& file : settings.files) runner->RunFile(file);
  const Report report = runner->report();
  if (!settings.bits.empty()) WriteBits(settings.bits, runner->bits());
  runner.reset();
  if (settings.session.collects_kernels) return 0;
  if (!settings.report.empty()) report.Write(settings.report);
  std::printf("%s%s\n", report.WorstUlpLines().c_str(), report.TotalLine().c_str());
  if (AsyncValue::CountsLive() && AsyncValue::NumLive() != 0) {
    std::fprintf(stderr, "AV-6: async values still live at the end: %lld, expected 0\n",
                 static_cast<long long>(AsyncValue::NumLive()));
    return 1;
  }
  return report.total().failed == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Runs conformance cases on one device.");
  SessionOptions& session = settings.session;
  app.add_option("--device", session.device, "Which device: cpu, vulkan, cuda or cuda-emulated")->capture_default_str();
  app.add_option("--kernels", session.kernels, "Folder of kernels for cuda-emulated (tests/cuda/README.md)");
  app.add_flag("--collect", session.collects_kernels,
               "Write the kernels that cases need to that folder; results are not looked at");
  app.add_flag("--keep", session.keeps_kernels, "Collect to what is in the folder");
  app.add_option("--threads", session.num_threads, "Threads of the work queue")->capture_default_str();
  app.add_flag("--exact", session.exact, "Exact mode: results of the CPU are the same bits on every machine");
  app.add_flag("--no-fallback", settings.no_fallback, "Ops that the device has no kernel for are errors");
  app.add_option("--filter", settings.filter, "Run only cases whose name or op has a match of this regular expression");
  app.add_option(
         "--share", settings.share,
         "Of the cases of dtypes that most GPUs lack (all but f32, f16, i32, u32, bool), run one in so many; all "
         "where the environment has TANDEM_TEST_FULL=1")
      ->check(CLI::PositiveNumber);
  app.add_option("--report", settings.report, "Write counts, worst errors and failures to this file, as JSON");
  app.add_option("--bits", settings.bits, "Write a hash of the results of each case to this file, for compare_bits.py");
  app.add_option("--targets", settings.targets, "Folder with one folder a device, of the lists of what it lacks")
      ->capture_default_str();
  app.add_option("files", settings.files, "Case files, as tests/conformance/cases/elementwise.jsonl")->required();
  CLI11_PARSE(app, argc, argv);
  session.use_fallback = !settings.no_fallback;
  const char* const full = std::getenv("TANDEM_TEST_FULL");
  if (full != nullptr && std::string_view(full) == "1") settings.share = 1;
  try {
    return Run(settings);
  } catch (const NoDevice& reason) {
    std::printf("skipped: %s\n", reason.what());
    return kSkippedExitCode;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conformance_runner: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace tandem::conformance

int main(int argc, char** argv) { return tandem::conformance::Main(argc, argv); }
