// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What loads op libraries tells no place of its own in errors.

#include "tool/op_libraries.h"

#include <utility>

namespace tandem::tool {

void AddOpLibraryOption(CLI::App& app, std::vector<std::string>& paths) {
  app.add_option("--op-library", paths, "the path of a shared library with further ops; as often as there are such")
      ->option_text("FILE")
      ->allow_extra_args(false);
}

StatusOr<std::vector<LoadedOpLibrary>> LoadOpLibraries(eager::Runtime& runtime, const std::vector<std::string>& paths) {
  std::vector<LoadedOpLibrary> libraries;
  for (const std::string& path : paths) {
    TANDEM_ASSIGN_OR_RETURN(LoadedOpLibrary library, LoadOpLibrary(runtime.core(), path, Location()));
    libraries.push_back(std::move(library));
  }
  return libraries;
}

}  // namespace tandem::tool
