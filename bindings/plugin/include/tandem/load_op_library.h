// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LoadOpLibrary: ops, kernels and op handlers of the C interface tandem_plugin.h, from a shared library or a program.

#ifndef TANDEM_LOAD_OP_LIBRARY_H_
#define TANDEM_LOAD_OP_LIBRARY_H_

#include <memory>
#include <source_location>
#include <string_view>

#include "tandem.h"
#include "tandem/async_value.h"
#include "tandem/chain.h"
#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/location.h"
#include "tandem/status.h"

namespace tandem {

class OpLibraries;

// A use of an op library, which is there while anybody has one. The runtime outlives it. For one thread at a time.
class TANDEM_EXPORT LoadedOpLibrary {
 public:
  LoadedOpLibrary() = default;  // of none
  LoadedOpLibrary(LoadedOpLibrary&&) noexcept;
  LoadedOpLibrary& operator=(LoadedOpLibrary&&) noexcept;
  ~LoadedOpLibrary();

  // Ends the use, and waits for nothing. The last use of a library takes its ops and kernels away, as
  // OpLibrary::Remove; calls that run or are pending end as they would have. The result is available when this has
  // happened and the library has been unloaded; at once if others use it.
  AsyncValueRef<Chain> Unload();

 private:
  friend class OpLibraries;
  struct Entry;
  explicit LoadedOpLibrary(std::shared_ptr<Entry> entry);

  std::shared_ptr<Entry> entry_;
};

// Loads the library of a file, or gives another use of it if the runtime has it already (DL-1). If anything fails, the
// registry is as it was, and nothing stays loaded (DL-4). NotFound if there is no such file; FailedPrecondition if it
// may not be read, is no shared library, lacks a symbol, or is of another version of tandem_plugin.h; the error of the
// library's own function, as what it is; Unimplemented in WebAssembly. Errors have `location`. Thread-safe, but not for
// the functions of an op library to call.
TANDEM_EXPORT StatusOr<LoadedOpLibrary> LoadOpLibrary(CoreRuntime& runtime, std::string_view path,
                                                      Location location = std::source_location::current());

// The same for a library that `fill` of this program fills, which is called once; each call makes another one.
TANDEM_EXPORT StatusOr<LoadedOpLibrary> MakeOpLibrary(CoreRuntime& runtime, tandem_op_library_init fill, void* user,
                                                      Location location = std::source_location::current());

}  // namespace tandem

#endif  // TANDEM_LOAD_OP_LIBRARY_H_
