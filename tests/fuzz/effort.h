// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How much a fuzzer does: little in the tests of every change, much where somebody asks for it.

#ifndef TANDEM_TESTS_FUZZ_EFFORT_H_
#define TANDEM_TESTS_FUZZ_EFFORT_H_

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tandem::fuzz {

// Adds the option --full: what `amount`, an option by the name `of`, is where the environment has TANDEM_TEST_FULL=1.
template <typename T>
void AddFullOption(CLI::App& app, T& amount, const std::string& of) {
  app.add_option_function<T>(
      "--full",
      [&amount](const T& full) {
        const char* const wanted = std::getenv("TANDEM_TEST_FULL");
        if (wanted != nullptr && std::string_view(wanted) == "1") amount = full;
      },
      of + ", where the environment has TANDEM_TEST_FULL=1");
}

}  // namespace tandem::fuzz

#endif  // TANDEM_TESTS_FUZZ_EFFORT_H_
