// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// `tandem devices`: which devices there are, and why others are not.

#include <memory>
#include <string>
#include <string_view>

#include "tandem/device_report.h"
#include "tool/command.h"
#include "tool/devices.h"
#include "tool/kernels.h"

namespace tandem::tool {

namespace {

std::string Describe(eager::Runtime& runtime, const OpHandler& handler) {
  size_t own = 0;
  for (const OpDef* def : runtime.core().registry().List()) own += !KernelDTypes(handler, *def).empty();
  std::string text = "there: kernels for " + std::to_string(own) + " ops";
  if (&handler == &runtime.handler()) {
    text += ", " + std::to_string(runtime.host().work_queue().ParallelismLevel()) + " threads";
  } else {
    text += "; the CPU runs the others";
  }
  // Its parts, a line each.
  std::string parts = ReportText(FindDeviceReport(runtime.core(), *handler.device()));
  if (!parts.empty()) parts.pop_back();
  for (size_t at = 0; !parts.empty() && at != std::string::npos;) {
    const size_t end = parts.find('\n', at);
    text += "\n" + std::string(12, ' ') + parts.substr(at, end - at);
    at = end == std::string::npos ? end : end + 1;
  }
  return text;
}

ExitCode ListDevices(Console& console) {
  const StatusOr<std::unique_ptr<eager::Runtime>> runtime = eager::Runtime::Create();
  if (!runtime.ok()) return ExitWith(runtime.status(), console);
  Devices devices(**runtime, console, {});
  for (const std::string_view name : kDeviceNames) {
    const StatusOr<OpHandler*> handler = devices.Find(name);
    const std::string text =
        handler.ok() ? Describe(**runtime, **handler) : "not there: " + ErrorText(handler.status());
    const std::string padding(10 - name.size(), ' ');
    console.Print(console.Bold(name) + padding + text + "\n");
  }
  return ExitCode::kOk;
}

}  // namespace

Command MakeDevicesCommand(CLI::App& tool) {
  CLI::App& app =
      *tool.add_subcommand("devices", "list the devices that there are, and why others are not")->group("Commands");
  app.footer(
      "TANDEM_VULKAN_DEVICE and TANDEM_CUDA_DEVICE in the environment choose one of several GPUs, by\n"
      "its index or a part of its name; TANDEM_CPU_TARGET makes the CPU use no better instruction set\n"
      "than the one it names.\n\n"
      "Example:\n"
      "  tandem devices");
  return {&app, ListDevices};
}

}  // namespace tandem::tool
