// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_device.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <new>

#include "cuda_limits.h"

namespace tandem::cuda {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Create(const DriverFunctions& driver, std::string_view chosen) {
  const DriverResult init = driver.Init(0);
  if (init == kDriverNoDevice) return MakeError(StatusCode::kNotFound, "expected a CUDA device, got none");
  if (init == kDriverStubLibrary) {
    return MakeError(StatusCode::kNotFound, "expected a CUDA driver, got the toolkit's stub of one");
  }
  TANDEM_RETURN_IF_ERROR(DriverStatus(driver, init, "cuInit"));
  std::unique_ptr<CudaDevice> device(new (std::nothrow) CudaDevice(driver));
  if (device == nullptr) return Status::OutOfMemory();
  const char* const named = std::getenv("TANDEM_CUDA_DEVICE");
  TANDEM_RETURN_IF_ERROR(device->Choose(named != nullptr && *named != 0 ? named : chosen));
  TANDEM_RETURN_IF_ERROR(device->ReadFacts());
  TANDEM_RETURN_IF_ERROR(
      device->Check(driver.DevicePrimaryCtxRetain(&device->context_, device->number_), "cuDevicePrimaryCtxRetain"));
  return device;
}

CudaDevice::~CudaDevice() {
  if (context_ != nullptr) driver_.DevicePrimaryCtxRelease(number_);
}

StatusOr<std::string> CudaDevice::NameOf(DeviceNumber device) const {
  std::array<char, 256> name = {};
  TANDEM_RETURN_IF_ERROR(
      Check(driver_.DeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device), "cuDeviceGetName"));
  return std::string(name.data());
}

Status CudaDevice::Choose(std::string_view chosen) {
  int count = 0;
  TANDEM_RETURN_IF_ERROR(Check(driver_.DeviceGetCount(&count), "cuDeviceGetCount"));
  if (count <= 0) return MakeError(StatusCode::kNotFound, "expected a CUDA device, got none");
  int index = -1;
  const auto [end, error] = std::from_chars(chosen.data(), chosen.data() + chosen.size(), index);
  if (error != std::errc() || end != chosen.data() + chosen.size()) index = -1;
  std::string names;
  for (int i = 0; i < count; ++i) {
    DeviceNumber device = 0;
    TANDEM_RETURN_IF_ERROR(Check(driver_.DeviceGet(&device, i), "cuDeviceGet"));
    TANDEM_ASSIGN_OR_RETURN(const std::string name, NameOf(device));
    const bool has_name = index < 0 && Lower(name).find(Lower(chosen)) != std::string::npos;
    if (i == index || has_name) {
      number_ = device;
      ordinal_ = i;
      description_ = name;
      return Status();
    }
    names += (names.empty() ? "" : ", ") + std::to_string(i) + ": " + name;
  }
  return MakeError(StatusCode::kNotFound, "expected a CUDA device \"", chosen, "\", got ", std::string_view(names));
}

Status CudaDevice::ReadFacts() {
  const auto attribute = [&](int which, int& value) {
    return Check(driver_.DeviceGetAttribute(&value, which, number_), "cuDeviceGetAttribute");
  };
  int major = 0, minor = 0, has_pools = 0;
  TANDEM_RETURN_IF_ERROR(attribute(kAttributeComputeCapabilityMajor, major));
  TANDEM_RETURN_IF_ERROR(attribute(kAttributeComputeCapabilityMinor, minor));
  TANDEM_RETURN_IF_ERROR(attribute(kAttributeMemoryPoolsSupported, has_pools));
  TANDEM_RETURN_IF_ERROR(Check(driver_.DriverGetVersion(&driver_version_), "cuDriverGetVersion"));
  size_t total = 0;
  TANDEM_RETURN_IF_ERROR(Check(driver_.DeviceTotalMem(&total, number_), "cuDeviceTotalMem"));
  total_bytes_ = total;
  architecture_ = 10 * major + minor;
  if (architecture_ < kOldestArchitecture) {
    return FailedPrecondition("expected a device of compute capability ", kOldestArchitecture / 10, ".",
                              kOldestArchitecture % 10, " or later, got ", std::string_view(description_), " of ",
                              major, ".", minor);
  }
  if (has_pools == 0) {
    return FailedPrecondition("expected a device with memory pools, got ", std::string_view(description_), " without");
  }
  description_ += " (compute capability " + std::to_string(major) + "." + std::to_string(minor) + ", driver of CUDA " +
                  VersionText(driver_version_) + ")";
  return Status();
}

}  // namespace tandem::cuda
