// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/op_handler_module.h"

#ifdef __unix__
#include <dlfcn.h>
#endif

#include <string>
#include <string_view>

#include "base/shared_library.h"

namespace tandem {

#if defined(__unix__) && !defined(__EMSCRIPTEN__)

namespace {

// The folder of the library that this is in, with its slash; empty if it is not known.
std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&LoadOpHandler), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string_view file = info.dli_fname;
  return std::string(file.substr(0, file.rfind('/') + 1));
}

}  // namespace

StatusOr<OpHandler*> LoadOpHandler(CoreRuntime& runtime, std::string_view module, OpHandler* fallback,
                                   const OpAttrsRef& settings) {
  const bool is_path = module.find('/') != std::string_view::npos;
  const std::string path = is_path ? std::string(module)
                                   : OwnFolder() + "libtandem_" + std::string(module) + ".so." TANDEM_SO_VERSION_STRING;
  TANDEM_ASSIGN_OR_RETURN(const auto library, SharedLibrary::Open("module", path, SharedLibrary::Lifetime::kProcess));
  TANDEM_ASSIGN_OR_RETURN(void* const symbol, library->Find(internal::kOpHandlerModuleSymbol));
  const auto entry = reinterpret_cast<internal::OpHandlerModuleEntry>(symbol);
  internal::OpHandlerModuleCall call = {TANDEM_VERSION_STRING,
                                        &kDenseHost,
                                        path.c_str() + path.rfind('/') + 1,
                                        &runtime,
                                        fallback,
                                        &settings,
                                        nullptr,
                                        {}};
  entry(&call);
  TANDEM_RETURN_IF_ERROR(call.error);
  return call.handler;
}

#else

StatusOr<OpHandler*> LoadOpHandler(CoreRuntime&, std::string_view module, OpHandler*, const OpAttrsRef&) {
  return MakeError(StatusCode::kUnimplemented, "expected a system that loads modules, to get ", module);
}

#endif

}  // namespace tandem
