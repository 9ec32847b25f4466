// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Devices: the op handlers of a runtime that the command line names, and the layers it asks for over them.

#ifndef TANDEM_NATIVE_TOOL_DEVICES_H_
#define TANDEM_NATIVE_TOOL_DEVICES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "tandem/device.h"
#include "tandem/eager.h"
#include "tandem/op_handler.h"
#include "tandem/stacked_op_handlers.h"
#include "tandem/status.h"
#include "tool/console.h"

namespace tandem::tool {

// Devices that the tool knows by name.
inline constexpr std::string_view kDeviceNames[] = {"cpu", "vulkan", "cuda"};

// What --device means, for the help of commands.
inline constexpr char kDeviceHelp[] =
    "cpu, vulkan, cuda, the path of an op handler's module, or layers over one: 'nan-guard:vulkan', "
    "'shadow:vulkan|cpu', 'substitute:table.json|cpu'";

// The runtime and the console outlive it. Thread-safe.
class Devices {
 public:
  struct Options {
    bool profile = false;  // a layer that profiles, over each handler
    // The text of a handler whose results are compared with those of each; empty: no such layer.
    std::string shadow;
    // The file of a table of substitutions for each handler, below the other layers; empty: no such layer.
    std::string substitute;
  };

  Devices(eager::Runtime& runtime, Console& console, Options options);

  // The handler of a device's text, which GetOrMakeOpHandler describes, under the layers of the options. "vulkan"
  // and "cuda" are loaded when they are first asked for, and so is a module by its path; the CPU runs what they have no
  // kernel for.
  StatusOr<OpHandler*> Find(std::string_view text);
  // The same without the layers of the options.
  StatusOr<OpHandler*> FindBare(std::string_view text);

  // Waits for what nobody asks for: ops whose results are not used, and the comparisons of shadows.
  void Drain();

  Profile& profile() { return *stack_.profile; }
  // What the shadows have compared: ok, or DataLoss if results differ. Each of these was told to the console.
  Status ShadowStatus() const;
  // "12 results equal, 3 not compared: the op has side effects (2), ..."; empty if there is no shadow.
  std::string ShadowSummary() const;

 private:
  Status LoadNamed(std::string_view text);
  // The rules of a file, the same ones each time.
  StatusOr<RcRef<Substitutions>> FindTable(std::string_view table);

  eager::Runtime& runtime_;
  const Options options_;
  StackedOpHandlerOptions stack_;
  std::mutex tables_mutex_;
  std::map<std::string, RcRef<Substitutions>, std::less<>> tables_;
};

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_DEVICES_H_
