// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op fuzzer: random calls of every op, right and wrong, each in two ways, and what must hold of all of them.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "call.h"
#include "call_runner.h"
#include "call_source.h"
#include "effort.h"
#include "minimise.h"
#include "random.h"
#include "watchdog.h"

namespace tandem::fuzz {
namespace {

constexpr int kHangSeconds = 120;
constexpr size_t kMostFailures = 20;

struct Settings {
  uint64_t seed = 1;
  uint64_t first = 0;
  uint64_t calls = 100'000;
  int64_t seconds = 0;
  int jobs = 1;
  std::string ops;
  std::string ignore;
  std::string replay;
  bool minimise = false;
  bool print = false;
  std::vector<std::string> cases;
};

// Shared by the jobs' processes.
struct Totals {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> drawn{0};
  std::atomic<uint64_t> right{0};
  std::atomic<uint64_t> failures{0};
};

std::atomic<uint64_t> current_seed{0};
std::atomic<uint64_t> current_index{0};

void SayCurrent() {
  WriteError("op_fuzzer: it was call ");
  WriteError(current_seed);
  WriteError(":");
  WriteError(current_index);
  WriteError(" (op_fuzzer --replay SEED:INDEX shows it)\n");
}

void PrintFailure(const Settings& settings, uint64_t index, const std::string& failure, const Call& call) {
  std::printf("FAILED %llu:%llu [%s] %s\n  %s\n", static_cast<unsigned long long>(settings.seed),
              static_cast<unsigned long long>(index), call.op.c_str(), failure.c_str(), TextOf(call).c_str());
  std::fflush(stdout);
}

class Fuzzer {
 public:
  explicit Fuzzer(const Settings& settings) : settings_(settings), source_(runner_.registry(), settings.ops) {
    if (source_.num_ops() == 0) throw std::runtime_error("no op is called like \"" + settings.ops + "\"");
    for (const std::string& file : settings.cases) source_.ReadCases(file);
  }

  // Calls `job`, `job` + jobs and so on.
  void Fuzz(int job, Totals& totals) {
    Watchdog watchdog(&SayCurrent, kHangSeconds);
    current_seed = settings_.seed;
    const auto begin = std::chrono::steady_clock::now();
    const auto jobs = static_cast<uint64_t>(settings_.jobs);
    std::set<std::string> seen;
    uint64_t index = settings_.first + static_cast<uint64_t>(job);
    uint64_t drawn = 0;
    for (; runner_.num_calls() < settings_.calls / jobs && seen.size() < kMostFailures; index += jobs, ++drawn) {
      if (settings_.seconds > 0 && drawn % 64 == 0 &&
          std::chrono::steady_clock::now() - begin > std::chrono::seconds(settings_.seconds)) {
        break;
      }
      current_index = index;
      watchdog.Note();
      const Call call = DrawCall(index);
      if (settings_.print) std::printf("%llu %s\n", static_cast<unsigned long long>(index), TextOf(call).c_str());
      const std::string failure = runner_.Run(call);
      if (!settings_.ignore.empty() && failure.find(settings_.ignore) != std::string::npos) continue;
      if (failure.empty() || !seen.insert(call.op + failure.substr(0, 48)).second) continue;
      PrintFailure(settings_, index, failure, call);
    }
    totals.calls += runner_.num_calls();
    totals.drawn += drawn;
    totals.right += runner_.num_right();
    totals.failures += seen.size();
  }

  Call DrawCall(uint64_t index) const {
    Random random(settings_.seed, index);
    return source_.Draw(random);
  }
  size_t num_ops() const { return source_.num_ops(); }
  size_t num_cases() const { return source_.num_cases(); }

 private:
  const Settings& settings_;
  CallRunner runner_;
  CallSource source_;
};

// "SEED:INDEX", a call as JSON, or a file with one in each line.
std::vector<Call> CallsToReplay(Settings& settings) {
  const std::string& text = settings.replay;
  if (text.starts_with('{')) return {ParseCall(text)};
  const size_t colon = text.find(':');
  if (colon != std::string::npos && text.find_first_not_of("0123456789:") == std::string::npos) {
    settings.seed = std::stoull(text);
    return {Fuzzer(settings).DrawCall(std::stoull(text.substr(colon + 1)))};
  }
  std::ifstream stream(text);
  if (!stream) throw std::runtime_error(text + " cannot be read");
  std::vector<Call> calls;
  std::string line;
  while (std::getline(stream, line)) {
    if (line.starts_with('{')) calls.push_back(ParseCall(line));
  }
  return calls;
}

int Replay(Settings& settings) {
  int num_failures = 0;
  for (Call call : CallsToReplay(settings)) {
    if (settings.minimise) call = Minimise(call);
    // Before it is made, since it may be the last thing that this program does.
    std::printf("%s\n", TextOf(call).c_str());
    std::fflush(stdout);
    CallRunner runner;
    const std::string failure = runner.Run(call);
    if (!failure.empty()) std::printf("FAILED [%s] %s\n", call.op.c_str(), failure.c_str());
    num_failures += !failure.empty();
  }
  return num_failures == 0 ? 0 : 1;
}

// In processes of their own, so that each can say what is left at its end.
int RunJobs(const Settings& settings) {
  void* const memory = mmap(nullptr, sizeof(Totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory to share");
  auto& totals = *new (memory) Totals;
  std::fflush(stdout);
  for (int job = 0; job < settings.jobs; ++job) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process can be had");
    if (child > 0) continue;
    int result = 0;
    try {
      Fuzzer(settings).Fuzz(job, totals);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "op_fuzzer: %s\n", error.what());
      result = 2;
    }
    if (AsyncValue::CountsLive() && AsyncValue::NumLive() != 0) result = 2;
    std::exit(result);
  }
  bool is_good = true;
  for (int job = 0; job < settings.jobs; ++job) {
    int status = 0;
    wait(&status);
    is_good = is_good && status == 0;
  }
  std::printf("op_fuzzer: seed %llu, %llu op calls, %llu drawn, %llu of them right, %llu failures%s\n",
              static_cast<unsigned long long>(settings.seed), static_cast<unsigned long long>(totals.calls),
              static_cast<unsigned long long>(totals.drawn), static_cast<unsigned long long>(totals.right),
              static_cast<unsigned long long>(totals.failures), is_good ? "" : ", a job has crashed");
  return is_good && totals.failures == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Makes random op calls and checks what must hold of every call.");
  app.add_option("--seed", settings.seed, "What the calls are drawn from")->capture_default_str();
  app.add_option("--first", settings.first, "The number of the first call drawn")->capture_default_str();
  app.add_option("--calls", settings.calls, "How many op calls to make")->capture_default_str();
  AddFullOption(app, settings.calls, "--calls");
  app.add_option("--seconds", settings.seconds, "End after so many seconds, 0: never")->capture_default_str();
  app.add_option("--jobs", settings.jobs, "Processes")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--ops", settings.ops, "Only ops with this in their name");
  app.add_option("--ignore", settings.ignore, "Pass over failures with this in their text");
  app.add_option("--replay", settings.replay, "Make one call again: SEED:INDEX, or its JSON, or a file of such lines");
  app.add_flag("--minimise", settings.minimise, "Make what is replayed smaller as long as it fails");
  app.add_flag("--print", settings.print, "Print each call before it is made");
  app.add_option("cases", settings.cases, "Conformance cases to change, as tests/conformance/cases/*.jsonl");
  CLI11_PARSE(app, argc, argv);
  try {
    return settings.replay.empty() ? RunJobs(settings) : Replay(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "op_fuzzer: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace tandem::fuzz

int main(int argc, char** argv) { return tandem::fuzz::Main(argc, argv); }
