// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that call functions compiled by TVM.

#include <memory>
#include <new>
#include <utility>

#include "objects.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/tvm/packed_function.h"
#include "tandem/tvm/tvm_ops.h"

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the function below is outside of any

struct tandem_tvm_library {
  std::shared_ptr<const tandem::tvm::Library> library;
};

extern "C" {

tandem_status* tandem_runtime_add_tvm_ops(tandem_runtime* runtime) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  // CreateCpuOpHandler has made it.
  TANDEM_C_RETURN_IF_ERROR(tandem::tvm::RegisterOps(rt->core, *rt->cpu));
  tandem::OpHandler* const cuda = rt->core.FindHandler("cuda");
  if (cuda == nullptr || cuda->kernel_handler() == nullptr) return nullptr;
  return ToC(tandem::tvm::RegisterOps(rt->core, *cuda->kernel_handler()));
}

tandem_status* tandem_tvm_library_load(const char* path, tandem_tvm_library** library) {
  if (library == nullptr) return WrongArgument("expected a place for the library, got null");
  *library = nullptr;
  auto loaded = tandem::tvm::Library::Load(path == nullptr ? "" : path);
  if (!loaded.ok()) return ToC(loaded.status());
  *library = new (std::nothrow) tandem_tvm_library{std::move(*loaded)};
  return *library == nullptr ? ToC(tandem::Status::OutOfMemory()) : nullptr;
}

void tandem_tvm_library_release(tandem_tvm_library* library) { delete library; }

const char* tandem_tvm_library_path(const tandem_tvm_library* library) {
  return library == nullptr ? "" : library->library->path().c_str();
}

tandem_status* tandem_tvm_library_check(const tandem_tvm_library* library, const char* function) {
  if (library == nullptr) return WrongArgument("expected a library, got null");
  return ToC(library->library->Find(function == nullptr ? "" : function).status());
}

}  // extern "C"
