// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The devices of a runtime, by their names.

#include "objects.h"
#include "tandem/message.h"
#include "tandem/op_handler_module.h"

namespace tandem::c {

namespace {

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kVulkan = "vulkan";
constexpr std::string_view kCuda = "cuda";
constexpr std::string_view kWebGpu = "webgpu";  // added by the bindings of JavaScript alone

#ifdef __EMSCRIPTEN__
constexpr bool kLoadsModules = false;
#else
constexpr bool kLoadsModules = true;
#endif

}  // namespace

StatusOr<OpHandler*> FindDevice(Running& runtime, const char* device) {
  if (device == nullptr) return runtime.device;
  if (OpHandler* handler = runtime.core.FindHandler(device)) return handler;
  MessageBuilder known;
  for (const std::string_view name : {kCpu, kVulkan, kCuda, kWebGpu}) {
    if (runtime.core.FindHandler(name) != nullptr) known.Append(known.view().empty() ? "" : ", ", name);
  }
  return MakeError(StatusCode::kNotFound, "expected a device of this runtime, ", known.view(), ", got ", device);
}

StatusOr<OpHandler*> LoadDevice(Running& runtime, std::string_view module, const OpAttrsRef& settings) {
  const std::lock_guard lock(runtime.adding);
  if (OpHandler* handler = runtime.core.FindHandler(module)) return handler;
  return LoadOpHandler(runtime.core, module, runtime.cpu, settings);
}

StatusOr<OpHandler*> AddDevice(Running& runtime, std::string_view device) {
  const bool is_gpu = device == kVulkan || device == kCuda;
  if (device == kCpu || (kLoadsModules && is_gpu)) return LoadDevice(runtime, device, {});
  const std::lock_guard lock(runtime.adding);
  if (OpHandler* handler = runtime.core.FindHandler(device)) return handler;
  return MakeError(StatusCode::kNotFound, "expected one of the devices ", kCpu, kLoadsModules ? ", vulkan, cuda" : "",
                   ", got ", device);
}

}  // namespace tandem::c
