// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include <dlfcn.h>

#include <string_view>

#include "tandem/host_tensors.h"
#include "tandem/version.h"
#include "tandem/vulkan.h"
#include "vulkan_module.h"

namespace tandem {
namespace {

// The folder of the library that this is in, with its slash; empty if it is not known.
std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&LoadVulkanOpHandler), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string_view file = info.dli_fname;
  return std::string(file.substr(0, file.rfind('/') + 1));
}

StatusOr<VulkanModuleEntry> FindEntry() {
  const std::string path = OwnFolder() + kVulkanModuleFile;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();
    return MakeError(StatusCode::kNotFound, "expected the module ", path, ": ",
                     reason == nullptr ? "it cannot be opened" : reason);
  }
  const auto entry = reinterpret_cast<VulkanModuleEntry>(dlsym(library, kVulkanModuleSymbol));
  if (entry == nullptr) return FailedPrecondition("expected ", path, " to have ", kVulkanModuleSymbol);
  return entry;
}

}  // namespace

StatusOr<OpHandler*> LoadVulkanOpHandler(CoreRuntime& runtime, const VulkanHandlerOptions& options) {
  TANDEM_ASSIGN_OR_RETURN(const VulkanModuleEntry entry, FindEntry());
  VulkanModuleCall call;
  call.version = TANDEM_VERSION_STRING;
  call.dense_host = &kDenseHost;
  call.runtime = &runtime;
  call.options = &options;
  entry(&call);
  TANDEM_RETURN_IF_ERROR(call.error);
  return call.handler;
}

}  // namespace tandem
