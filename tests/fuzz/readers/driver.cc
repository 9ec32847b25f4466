// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Drives an entry point in the form of libFuzzer's, where that is not linked: the files of a corpus as they are, then
// with random changes, each of which can be made again by its number.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "effort.h"
#include "random.h"
#include "watchdog.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tandem::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kHangSeconds = 60;

std::atomic<uint64_t> current_seed{0};
std::atomic<uint64_t> current_input{0};

void SayCurrent() {
  WriteError("it was --seed ");
  WriteError(current_seed);
  WriteError(" --first ");
  WriteError(current_input);
  WriteError(" --inputs 1\n");
}

Bytes ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(stream), {});
}

// Bytes that decide much: ends of numbers, signs, brackets, quotes.
constexpr uint8_t kBytes[] = {0,   1,   127, 128, 255, '\n', ' ', '"', '\'', '[',
                              ']', '{', '}', ',', ':', '-',  '9', '0', '>',  '='};

void Change(Bytes& bytes, const std::vector<Bytes>& corpus, Random& random) {
  const size_t at = random.Below(bytes.size() + 1);
  const auto place = bytes.begin() + static_cast<ptrdiff_t>(at);
  const auto length = static_cast<ptrdiff_t>(std::min(bytes.size() - at, random.Below(9)));
  switch (random.Below(6)) {
    case 0:  // a bit
      if (at < bytes.size()) bytes[at] ^= static_cast<uint8_t>(1u << random.Below(8));
      break;
    case 1:  // a byte
      if (at < bytes.size()) bytes[at] = random.OneIn(2) ? random.Pick(kBytes) : static_cast<uint8_t>(random.Next());
      break;
    case 2:
      bytes.erase(place, place + length);
      break;
    case 3:
      bytes.insert(place, random.Below(5), random.Pick(kBytes));
      break;
    case 4: {  // something from before or from another input
      const Bytes other = random.OneIn(2) ? bytes : random.Pick(corpus);
      if (other.empty()) break;
      const size_t from = random.Below(other.size());
      const size_t count = std::min(other.size() - from, random.Below(33));
      bytes.insert(place, other.begin() + static_cast<ptrdiff_t>(from),
                   other.begin() + static_cast<ptrdiff_t>(from + count));
      break;
    }
    default:  // cut off
      if (random.OneIn(4)) bytes.resize(at);
  }
}

int Main(int argc, char** argv) {
  uint64_t seed = 1;
  uint64_t first = 0;
  uint64_t num_inputs = 20'000;
  std::string folder;
  CLI::App app("Gives a reader the files of a corpus with random changes.");
  app.add_option("--seed", seed, "What the changes are drawn from")->capture_default_str();
  app.add_option("--first", first, "The number of the first input")->capture_default_str();
  app.add_option("--inputs", num_inputs, "How many inputs")->capture_default_str();
  AddFullOption(app, num_inputs, "--inputs");
  app.add_option("corpus", folder, "A folder of inputs, or one input to read as it is")->required();
  CLI11_PARSE(app, argc, argv);
  if (!std::filesystem::is_directory(folder)) {
    const Bytes bytes = ReadFile(folder);
    return LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().string());
  std::ranges::sort(files);
  std::vector<Bytes> corpus;
  for (const std::string& file : files) corpus.push_back(ReadFile(file));
  if (corpus.empty()) {
    std::fprintf(stderr, "%s has no files\n", folder.c_str());
    return 2;
  }
  Watchdog watchdog(&SayCurrent, kHangSeconds);
  current_seed = seed;
  for (uint64_t i = first; i < first + num_inputs; ++i) {
    current_input = i;
    watchdog.Note();
    Random random(seed, i);
    Bytes bytes = i < corpus.size() ? corpus[i] : random.Pick(corpus);
    const size_t num_changes = i < corpus.size() ? 0 : 1 + random.Below(6);
    for (size_t change = 0; change < num_changes; ++change) Change(bytes, corpus, random);
    // Of its own size, so that a sanitizer sees what is read beyond it.
    const Bytes exact(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  }
  std::printf("%llu inputs from %zu files\n", static_cast<unsigned long long>(num_inputs), corpus.size());
  return 0;
}

}  // namespace
}  // namespace tandem::fuzz

int main(int argc, char** argv) { return tandem::fuzz::Main(argc, argv); }
