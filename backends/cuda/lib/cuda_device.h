// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudaDevice: a device with its primary context, which a process shares with the CUDA runtime and its libraries.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_DEVICE_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cuda_driver.h"
#include "tandem/status.h"

namespace tandem::cuda {

// Thread-safe.
class CudaDevice {
 public:
  // `chosen` is an index in the driver's order, or a part of a name in any case; empty: the first one. NotFound if
  // there is no device, or none such; FailedPrecondition, naming what it lacks, if it is too old.
  static StatusOr<std::unique_ptr<CudaDevice>> Create(const DriverFunctions& driver, std::string_view chosen);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DriverFunctions& driver() const { return driver_; }
  DeviceNumber number() const { return number_; }
  int ordinal() const { return ordinal_; }  // in the driver's order, which is that of other libraries of the process
  // "NVIDIA H100 80GB HBM3 (compute capability 9.0, driver of CUDA 13.0)".
  const std::string& description() const { return description_; }
  int architecture() const { return architecture_; }  // 90
  int driver_version() const { return driver_version_; }
  uint64_t total_bytes() const { return total_bytes_; }

  // Makes the context the calling thread's, as it must be for every call of the driver that concerns it: other
  // libraries may have set theirs.
  DriverResult Enter() const { return driver_.CtxSetCurrent(context_); }
  Status Check(DriverResult result, std::string_view call) const { return DriverStatus(driver_, result, call); }

 private:
  explicit CudaDevice(const DriverFunctions& driver) : driver_(driver) {}
  Status Choose(std::string_view chosen);
  Status ReadFacts();
  StatusOr<std::string> NameOf(DeviceNumber device) const;

  const DriverFunctions driver_;
  DeviceNumber number_ = 0;
  int ordinal_ = 0;
  ContextHandle context_ = nullptr;
  std::string description_;
  int architecture_ = 0;
  int driver_version_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_DEVICE_H_
