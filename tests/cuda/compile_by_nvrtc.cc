// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Compiles the kernels of a folder (see emulated_driver.h) by NVRTC to PTX, which needs no device, and says how many.
// usage: compile_by_nvrtc FOLDER [JOBS]; exit status 77 where there is no NVRTC.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "nvrtc.h"

namespace tandem::cuda {
namespace {

constexpr std::array<int, 3> kArchitectures = {75, 80, 90};
// Kernels that are compiled at once: the prelude takes longer than most of them.
constexpr size_t kBatch = 48;
constexpr int kSkippedExitCode = 77;

std::string ReadFile(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

size_t CountOf(std::string_view text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class Compilation {
 public:
  Compilation(const Nvrtc& nvrtc, const std::filesystem::path& folder)
      : nvrtc_(nvrtc), folder_(folder), prelude_(ReadFile(folder / "prelude.cuh")) {}

  // Of one batch for all architectures. Gives how many were not compiled, and has said which and why.
  size_t Run(const std::vector<std::string>& names) const {
    size_t failed = 0;
    for (const int architecture : kArchitectures) {
      if (!Compile(names, architecture).empty()) failed += RunEach(names, architecture);
    }
    return failed;
  }

 private:
  size_t RunEach(const std::vector<std::string>& names, int architecture) const {
    size_t failed = 0;
    for (const std::string& name : names) {
      const std::string error = Compile({name}, architecture);
      if (error.empty()) continue;
      ++failed;
      std::printf("%s for %d: %.2000s\n", name.c_str(), architecture, error.c_str());
    }
    // They compile one by one, but not together.
    return std::max<size_t>(failed, 1);
  }

  // Empty, or why they are not compiled.
  std::string Compile(const std::vector<std::string>& names, int architecture) const {
    std::string source = prelude_;
    for (const std::string& name : names) source += ReadFile(folder_ / (name + ".cu"));
    const StatusOr<Nvrtc::Code> code = nvrtc_.Compile(source, "kernels", architecture, {.ptx = true});
    if (!code.ok()) return std::string(code.status().message());
    if (CountOf(code->bytes, ".visible .entry ") != names.size()) return "PTX has not as many kernels as its source";
    return code->bytes.find(".target sm_" + std::to_string(architecture)) == std::string::npos
               ? "PTX is for another architecture"
               : "";
  }

  const Nvrtc& nvrtc_;
  const std::filesystem::path folder_;
  const std::string prelude_;
};

int Main(const std::filesystem::path& folder, size_t jobs) {
  const StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) {
    std::printf("skipped: %s\n", nvrtc.status().ToString().c_str());
    return kSkippedExitCode;
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  if (names.empty()) {
    std::printf("expected kernels in %s, got none\n", folder.c_str());
    return 1;
  }
  // By processes, since NVRTC compiles one program of a process after another.
  std::vector<pid_t> children;
  for (size_t job = 0; job < jobs; ++job) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child > 0) children.push_back(child);
    if (child != 0) continue;
    const Compilation compilation(*nvrtc, folder);
    size_t failed = 0;
    for (size_t first = job * kBatch; first < names.size(); first += jobs * kBatch) {
      const auto begin = names.begin() + static_cast<ptrdiff_t>(first);
      const auto end = begin + static_cast<ptrdiff_t>(std::min(kBatch, names.size() - first));
      failed += compilation.Run({begin, end});
    }
    std::fflush(stdout);
    _exit(failed == 0 ? 0 : 1);
  }
  bool ok = children.size() == jobs;
  for (const pid_t child : children) {
    int status = 0;
    ok = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 && ok;
  }
  std::printf("NVRTC %s: %zu kernels for %zu architectures: %s\n", nvrtc->version().c_str(), names.size(),
              kArchitectures.size(), ok ? "all compiled" : "FAILED");
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace tandem::cuda

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: compile_by_nvrtc FOLDER [JOBS]\n");
    return 2;
  }
  return tandem::cuda::Main(argv[1], argc == 3 ? static_cast<size_t>(std::atoi(argv[2])) : 2);
}
