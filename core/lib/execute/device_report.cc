// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/device_report.h"

#include <map>
#include <mutex>
#include <utility>

namespace tandem {

namespace {

// Of a runtime's devices. Thread-safe.
class DeviceReports final : public SharedContext {
 public:
  void Set(const Device& device, DeviceReport report) {
    const std::lock_guard lock(mutex_);
    reports_[&device] = std::move(report);
  }
  DeviceReport Find(const Device& device) const {
    const std::lock_guard lock(mutex_);
    const auto found = reports_.find(&device);
    return found == reports_.end() ? DeviceReport() : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<const Device*, DeviceReport> reports_;
};

}  // namespace

std::string ReportText(const DeviceReport& report) {
  std::string text;
  for (const DevicePart& part : report) {
    text += part.name;
    if (part.missing.empty()) {
      if (!part.version.empty()) text += " " + part.version;
      if (!part.use.empty()) text += ": " + part.use;
    } else {
      text += " is not used: " + part.missing;
      if (!part.use.empty()) text += "; " + part.use;
    }
    text += "\n";
  }
  return text;
}

DeviceReport FindDeviceReport(CoreRuntime& runtime, const Device& device) {
  const auto reports = runtime.GetOrCreateSharedContext<DeviceReports>();
  return reports ? reports->Find(device) : DeviceReport();
}

bool AddDeviceReport(CoreRuntime& runtime, const Device& device, DeviceReport report) {
  const auto reports = runtime.GetOrCreateSharedContext<DeviceReports>();
  if (reports) reports->Set(device, std::move(report));
  return static_cast<bool>(reports);
}

}  // namespace tandem
