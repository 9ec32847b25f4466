// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SharedLibrary: a shared library of any maker, loaded while somebody holds it.

#ifndef TANDEM_CORE_LIB_BASE_SHARED_LIBRARY_H_
#define TANDEM_CORE_LIB_BASE_SHARED_LIBRARY_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tandem/status.h"

namespace tandem {

// Thread-safe. Closed with the last reference, which must not be dropped by code of the library itself.
class SharedLibrary {
 public:
  // How long the code stays: until nobody holds the library, or as long as the process.
  enum class Lifetime { kHeld, kProcess };

  // The absolute path of a file that can be read, without links, by which a file is known: NotFound if there is none,
  // InvalidArgument for a folder or the like, FailedPrecondition for one that may not be read. `what` is what errors
  // call the file, such as "op library".
  static StatusOr<std::string> FindFile(std::string_view what, std::string_view path);
  // Loads it with all that it needs, its symbols for itself alone. `path` without a slash is looked for where the
  // system has its libraries. NotFound if there is none, FailedPrecondition if it cannot be loaded, with the system's
  // reason; Unimplemented where there are no shared libraries.
  static StatusOr<std::shared_ptr<const SharedLibrary>> Open(std::string_view what, const std::string& path,
                                                             Lifetime lifetime = Lifetime::kHeld);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  // The address of a symbol, or null.
  void* FindOrNull(const char* symbol) const;
  // FailedPrecondition if there is none.
  StatusOr<void*> Find(const char* symbol) const;
  // As it was given to Open.
  const std::string& path() const { return path_; }

 private:
  SharedLibrary(std::string path, void* library) : path_(std::move(path)), library_(library) {}

  const std::string path_;
  void* const library_;
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_BASE_SHARED_LIBRARY_H_
