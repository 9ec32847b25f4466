// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The devices of a runtime, by their names.

#include "objects.h"
#include "tandem/message.h"
#ifdef TANDEM_C_LOADS_VULKAN
#include "tandem/vulkan.h"
#endif

namespace tandem::c {

namespace {

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kVulkan = "vulkan";
constexpr std::string_view kWebGpu = "webgpu";  // added by the bindings of JavaScript alone

#ifdef TANDEM_C_LOADS_VULKAN
constexpr std::string_view kAddable = "cpu, vulkan";
StatusOr<OpHandler*> AddVulkan(Running& runtime) {
  VulkanHandlerOptions options;
  options.fallback = runtime.cpu;
  return LoadVulkanOpHandler(runtime.core, options);
}
#else
constexpr std::string_view kAddable = "cpu";
#endif

}  // namespace

StatusOr<OpHandler*> FindDevice(Running& runtime, const char* device) {
  if (device == nullptr) return runtime.device;
  if (OpHandler* handler = runtime.core.FindHandler(device)) return handler;
  MessageBuilder known;
  for (const std::string_view name : {kCpu, kVulkan, kWebGpu}) {
    if (runtime.core.FindHandler(name) != nullptr) known.Append(known.view().empty() ? "" : ", ", name);
  }
  return MakeError(StatusCode::kNotFound, "expected a device of this runtime, ", known.view(), ", got ", device);
}

StatusOr<OpHandler*> AddDevice(Running& runtime, std::string_view device) {
  const std::lock_guard lock(runtime.adding);
  if (OpHandler* handler = runtime.core.FindHandler(device)) return handler;
#ifdef TANDEM_C_LOADS_VULKAN
  if (device == kVulkan) return AddVulkan(runtime);
#endif
  return MakeError(StatusCode::kNotFound, "expected one of the devices ", kAddable, ", got ", device);
}

}  // namespace tandem::c
