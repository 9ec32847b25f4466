// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Op libraries of the C interface.

#include <new>
#include <utility>

#include "objects.h"
#include "tandem/load_op_library.h"
#include "tandem_plugin.h"

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the functions below are outside of any

struct tandem_op_library final : public tandem::c::Dependent {
  explicit tandem_op_library(tandem_runtime& of) : Dependent(of) {}
  void LetGo() override { static_cast<void>(library.Unload()); }
  tandem::LoadedOpLibrary library;
};

namespace {

// `make(core, location)` makes the library.
template <typename Make>
tandem_status* GiveLibrary(tandem_runtime* runtime, const char* location, tandem_op_library** library, Make make) {
  if (library == nullptr) return WrongArgument("expected a place for the op library, got null");
  *library = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  std::unique_ptr<tandem_op_library> given(new (std::nothrow) tandem_op_library(*runtime));
  if (given == nullptr) return ToC(tandem::Status::OutOfMemory());
  auto made = make(rt->core, runtime->LocationOf(location));
  if (!made.ok()) return ToC(made.status());
  given->library = std::move(*made);
  *library = given.release();
  return nullptr;
}

}  // namespace

extern "C" {

tandem_status* tandem_op_library_load(tandem_runtime* runtime, const char* path, const char* location,
                                      tandem_op_library** library) {
  return GiveLibrary(runtime, location, library, [path](tandem::CoreRuntime& core, tandem::Location place) {
    return tandem::LoadOpLibrary(core, path == nullptr ? "" : path, place);
  });
}

tandem_status* tandem_op_library_create(tandem_runtime* runtime, uint32_t plugin_abi_version,
                                        tandem_op_library_init init, void* user, const char* location,
                                        tandem_op_library** library) {
  if (library != nullptr) *library = nullptr;
  if (plugin_abi_version != TANDEM_PLUGIN_ABI_VERSION) {
    return ToC(tandem::FailedPrecondition("the library has version ", TANDEM_PLUGIN_ABI_VERSION,
                                          " of tandem_plugin.h, the program was compiled for version ",
                                          plugin_abi_version));
  }
  return GiveLibrary(runtime, location, library, [init, user](tandem::CoreRuntime& core, tandem::Location place) {
    return tandem::MakeOpLibrary(core, init, user, place);
  });
}

tandem_status* tandem_op_library_unload(tandem_op_library* library, tandem_chain** unloaded) {
  if (unloaded != nullptr) *unloaded = nullptr;
  if (library == nullptr) return nullptr;
  const std::unique_ptr<tandem_op_library> released(library);
  std::unique_ptr<tandem_chain> chain;
  if (unloaded != nullptr) {
    chain.reset(new (std::nothrow) tandem_chain);
    if (chain == nullptr) return ToC(tandem::Status::OutOfMemory());
    chain->runtime = tandem::RcRef<tandem_runtime>::Share(&library->runtime());
  }
  tandem::AsyncValueRef<tandem::Chain> gone = library->library.Unload();
  if (chain == nullptr) return nullptr;
  chain->value = std::move(gone);
  *unloaded = chain.release();
  return nullptr;
}

}  // extern "C"
