// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SharedLibrary: a library that is opened where it is there.

#ifndef TANDEM_BACKENDS_CUDA_LIB_SHARED_LIBRARY_H_
#define TANDEM_BACKENDS_CUDA_LIB_SHARED_LIBRARY_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tandem/status.h"

namespace tandem::cuda {

// It stays in the process once it was opened: CUDA's libraries have threads that may run to its end.
class SharedLibrary {
 public:
  SharedLibrary() = default;

  // The first of the files that can be opened; `what` is what they are called in the error, NotFound, which has the
  // loader's words on the first of them that is there, or else on the first.
  static StatusOr<SharedLibrary> Open(std::string_view what, std::span<const std::string> files);

  const std::string& file() const { return file_; }

  // Finds functions one after the other; the first that is not there is kept, and is an error in the end.
  class Finder {
   public:
    explicit Finder(const SharedLibrary& library) : library_(library) {}
    template <typename T>
    Finder& Find(const char* name, T*& function) {
      function = reinterpret_cast<T*>(library_.Symbol(name));
      if (function == nullptr && missing_ == nullptr) missing_ = name;
      return *this;
    }
    // FailedPrecondition, naming library and function.
    Status Finish() const;

   private:
    const SharedLibrary& library_;
    const char* missing_ = nullptr;
  };

 private:
  void* Symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string file_;
};

// A library of the toolkit's, "libnvrtc.so", which `called` is for errors: the file that `variable` in the environment
// names, where "off" is none; else the loader finds it by its name, or it is in CUDA_PATH, CUDA_HOME, or where it is
// installed by default. Each with the versions behind it, "" or ".13". NotFound, naming what was tried.
StatusOr<SharedLibrary> OpenToolkitLibrary(std::string_view called, const char* variable, std::string_view name,
                                           std::span<const std::string_view> versions);

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_SHARED_LIBRARY_H_
