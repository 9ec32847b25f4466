// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shared libraries by dlopen, where there is one.

#include "base/shared_library.h"

#if defined(__unix__) && (!defined(__EMSCRIPTEN__) || defined(TANDEM_WASM_OP_LIBRARIES))
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#endif

#include <utility>

namespace tandem {

#if defined(__unix__) && (!defined(__EMSCRIPTEN__) || defined(TANDEM_WASM_OP_LIBRARIES))

namespace {

Status FileError(StatusCode code, std::string_view what, std::string_view path, std::string_view reason) {
  return MakeError(code, "expected the ", what, " ", path, ": ", reason);
}

// What the system says of a failed dlopen, without the path that it begins with.
std::string_view LoaderReason(std::string_view path) {
  const char* const text = dlerror();
  if (text == nullptr) return "it cannot be opened";
  std::string_view reason = text;
  if (reason.starts_with(path) && reason.substr(path.size()).starts_with(": ")) reason.remove_prefix(path.size() + 2);
  return reason;
}

}  // namespace

StatusOr<std::string> SharedLibrary::FindFile(std::string_view what, std::string_view path) {
  // The system would see a path that ends at the first NUL.
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return InvalidArgument("expected the path of the ", what, ", got ", path.empty() ? "an empty text" : "a NUL in it");
  }
  const std::unique_ptr<char, void (*)(void*)> absolute(realpath(std::string(path).c_str(), nullptr), &std::free);
  struct stat file;
  if (absolute == nullptr || stat(absolute.get(), &file) != 0) {
    return FileError(StatusCode::kNotFound, what, path, std::generic_category().message(errno));
  }
  if (!S_ISREG(file.st_mode)) return FileError(StatusCode::kInvalidArgument, what, path, "it is no regular file");
  if (access(absolute.get(), R_OK) != 0) {
    return FileError(StatusCode::kFailedPrecondition, what, path, std::generic_category().message(errno));
  }
  return std::string(absolute.get());
}

StatusOr<std::shared_ptr<const SharedLibrary>> SharedLibrary::Open(std::string_view what, const std::string& path,
                                                                   Lifetime lifetime) {
  const int keep = lifetime == Lifetime::kProcess ? RTLD_NODELETE : 0;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | keep);
  if (library == nullptr) {
    const bool is_there = path.find('/') != std::string::npos && access(path.c_str(), F_OK) == 0;
    const StatusCode code = is_there ? StatusCode::kFailedPrecondition : StatusCode::kNotFound;
    return FileError(code, what, path, LoaderReason(path));
  }
  return std::shared_ptr<const SharedLibrary>(new SharedLibrary(path, library));
}

SharedLibrary::~SharedLibrary() { dlclose(library_); }

void* SharedLibrary::FindOrNull(const char* symbol) const { return dlsym(library_, symbol); }

#else

StatusOr<std::string> SharedLibrary::FindFile(std::string_view what, std::string_view path) {
  return MakeError(StatusCode::kUnimplemented, "expected a system with shared libraries, to get the ", what, " ", path);
}

StatusOr<std::shared_ptr<const SharedLibrary>> SharedLibrary::Open(std::string_view what, const std::string& path,
                                                                   Lifetime) {
  return FindFile(what, path).status();
}

SharedLibrary::~SharedLibrary() = default;

void* SharedLibrary::FindOrNull(const char*) const { return library_; }

#endif

StatusOr<void*> SharedLibrary::Find(const char* symbol) const {
  if (void* const address = FindOrNull(symbol)) return address;
  return FailedPrecondition("expected ", path_, " to have ", symbol);
}

}  // namespace tandem
