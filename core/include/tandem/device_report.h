// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DeviceReport: what an op handler's device is made of: drivers and libraries, their versions, what they are used for,
// and why others are not.

#ifndef TANDEM_DEVICE_REPORT_H_
#define TANDEM_DEVICE_REPORT_H_

#include <string>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/device.h"
#include "tandem/export.h"

namespace tandem {

// A driver or library, or what else a device is made of.
struct DevicePart {
  std::string name;     // "cuDNN"
  std::string version;  // "9.19"; empty: it is not there, or not used
  std::string use;      // what it does, or of one that is not there, who does that instead
  std::string missing;  // why it is not there; empty if it is
};

// In the order in which they are asked for.
using DeviceReport = std::vector<DevicePart>;

// "cuDNN 9.19: convolutions, ..." and "cuDNN is not used: expected ...; its ops are kernels'", a line each.
TANDEM_EXPORT std::string ReportText(const DeviceReport& report);

// The report of a device that an op handler of the runtime is for; empty if there is none.
TANDEM_EXPORT DeviceReport FindDeviceReport(CoreRuntime& runtime, const Device& device);

// How an op handler gives it. False if memory is exhausted.
[[nodiscard]] TANDEM_EXPORT bool AddDeviceReport(CoreRuntime& runtime, const Device& device, DeviceReport report);

}  // namespace tandem

#endif  // TANDEM_DEVICE_REPORT_H_
