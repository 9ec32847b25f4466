// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "shared_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace tandem::cuda {

namespace {

// In the order in which they are tried.
std::vector<std::string> ToolkitFiles(std::string_view name, std::span<const std::string_view> versions) {
  std::vector<std::string> folders = {""};
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && *value != 0) folders.push_back(std::string(value) + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (const std::string_view version : versions) files.push_back(folder + std::string(name) + std::string(version));
  }
  return files;
}

}  // namespace

StatusOr<SharedLibrary> SharedLibrary::Open(std::string_view what, std::span<const std::string> files) {
  std::string reason;
  for (const std::string& file : files) {
    SharedLibrary library;
    library.handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ != nullptr) {
      library.file_ = file;
      return library;
    }
    const char* const error = dlerror();
    const std::string text = error == nullptr ? "" : error;
    // One that is there and cannot be loaded says more than one that is not.
    const bool is_there = text.find("No such file") == std::string::npos;
    if (reason.empty() || is_there) reason = text;
    if (is_there) break;
  }
  return MakeError(StatusCode::kNotFound, "expected ", what, ", got none: ", std::string_view(reason));
}

void* SharedLibrary::Symbol(const char* name) const { return dlsym(handle_, name); }

Status SharedLibrary::Finder::Finish() const {
  if (missing_ == nullptr) return Status();
  return MakeError(StatusCode::kFailedPrecondition, "expected ", std::string_view(library_.file()), " with ",
                   std::string_view(missing_), ", got one without, which is too old");
}

StatusOr<SharedLibrary> OpenToolkitLibrary(std::string_view called, const char* variable, std::string_view name,
                                           std::span<const std::string_view> versions) {
  const char* const named = std::getenv(variable);
  if (named != nullptr && std::string_view(named) == "off") {
    return MakeError(StatusCode::kNotFound, "expected ", called, ", got none: ", variable, " is off");
  }
  const std::vector<std::string> files =
      named != nullptr && *named != 0 ? std::vector<std::string>{named} : ToolkitFiles(name, versions);
  return SharedLibrary::Open(std::string(called) + " (" + std::string(name) + ")", files);
}

}  // namespace tandem::cuda
