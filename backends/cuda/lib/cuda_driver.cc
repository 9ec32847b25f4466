// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_driver.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "shared_library.h"

namespace tandem::cuda {

namespace {

StatusOr<SharedLibrary> OpenLibrary() {
  const char* const named = std::getenv("TANDEM_CUDA_DRIVER");
  const std::vector<std::string> files = {named != nullptr && *named != 0 ? named : "libcuda.so.1"};
  return SharedLibrary::Open("a CUDA driver", files);
}

}  // namespace

StatusOr<GraphFunctions> OpenGraphFunctions() {
  TANDEM_ASSIGN_OR_RETURN(const SharedLibrary library, OpenLibrary());
  GraphFunctions graphs;
  TANDEM_RETURN_IF_ERROR(SharedLibrary::Finder(library)
                             .Find("cuStreamBeginCapture_v2", graphs.StreamBeginCapture)
                             .Find("cuStreamEndCapture", graphs.StreamEndCapture)
                             .Find("cuGraphInstantiateWithFlags", graphs.GraphInstantiate)
                             .Find("cuGraphLaunch", graphs.GraphLaunch)
                             .Find("cuGraphExecDestroy", graphs.GraphExecDestroy)
                             .Find("cuGraphDestroy", graphs.GraphDestroy)
                             .Finish());
  return graphs;
}

StatusOr<DriverFunctions> OpenDriver() {
  TANDEM_ASSIGN_OR_RETURN(const SharedLibrary library, OpenLibrary());
  DriverFunctions driver;
  // The first ones are in any driver, and tell how old it is.
  TANDEM_RETURN_IF_ERROR(SharedLibrary::Finder(library)
                             .Find("cuGetErrorName", driver.GetErrorName)
                             .Find("cuGetErrorString", driver.GetErrorString)
                             .Find("cuInit", driver.Init)
                             .Find("cuDriverGetVersion", driver.DriverGetVersion)
                             .Finish());
  int version = 0;
  TANDEM_RETURN_IF_ERROR(DriverStatus(driver, driver.DriverGetVersion(&version), "cuDriverGetVersion"));
  if (version < kOldestDriver) {
    return FailedPrecondition("expected a driver of CUDA ", kOldestDriver / 1000, ".", kOldestDriver % 1000 / 10,
                              " or later, got one of CUDA ", version / 1000, ".", version % 1000 / 10);
  }
  TANDEM_RETURN_IF_ERROR(SharedLibrary::Finder(library)
                             .Find("cuDeviceGetCount", driver.DeviceGetCount)
                             .Find("cuDeviceGet", driver.DeviceGet)
                             .Find("cuDeviceGetName", driver.DeviceGetName)
                             .Find("cuDeviceGetAttribute", driver.DeviceGetAttribute)
                             .Find("cuDeviceTotalMem_v2", driver.DeviceTotalMem)
                             .Find("cuDevicePrimaryCtxRetain", driver.DevicePrimaryCtxRetain)
                             .Find("cuDevicePrimaryCtxRelease_v2", driver.DevicePrimaryCtxRelease)
                             .Find("cuCtxSetCurrent", driver.CtxSetCurrent)
                             .Find("cuStreamCreate", driver.StreamCreate)
                             .Find("cuStreamDestroy_v2", driver.StreamDestroy)
                             .Find("cuStreamSynchronize", driver.StreamSynchronize)
                             .Find("cuStreamWaitEvent", driver.StreamWaitEvent)
                             .Find("cuEventCreate", driver.EventCreate)
                             .Find("cuEventDestroy_v2", driver.EventDestroy)
                             .Find("cuEventRecord", driver.EventRecord)
                             .Find("cuEventQuery", driver.EventQuery)
                             .Find("cuEventSynchronize", driver.EventSynchronize)
                             .Find("cuEventElapsedTime", driver.EventElapsedTime)
                             .Find("cuMemPoolCreate", driver.MemPoolCreate)
                             .Find("cuMemPoolDestroy", driver.MemPoolDestroy)
                             .Find("cuMemPoolSetAttribute", driver.MemPoolSetAttribute)
                             .Find("cuMemPoolTrimTo", driver.MemPoolTrimTo)
                             .Find("cuMemAllocFromPoolAsync", driver.MemAllocFromPoolAsync)
                             .Find("cuMemFreeAsync", driver.MemFreeAsync)
                             .Find("cuPointerGetAttribute", driver.PointerGetAttribute)
                             .Find("cuMemHostAlloc", driver.MemHostAlloc)
                             .Find("cuMemFreeHost", driver.MemFreeHost)
                             .Find("cuMemcpyHtoDAsync_v2", driver.MemcpyHtoDAsync)
                             .Find("cuMemcpyDtoHAsync_v2", driver.MemcpyDtoHAsync)
                             .Find("cuMemcpyDtoDAsync_v2", driver.MemcpyDtoDAsync)
                             .Find("cuMemsetD32Async", driver.MemsetD32Async)
                             .Find("cuModuleLoadData", driver.ModuleLoadData)
                             .Find("cuModuleUnload", driver.ModuleUnload)
                             .Find("cuModuleGetFunction", driver.ModuleGetFunction)
                             .Find("cuLaunchKernel", driver.LaunchKernel)
                             .Finish());
  return driver;
}

Status DriverStatus(const DriverFunctions& driver, DriverResult result, std::string_view call) {
  if (result == kDriverSuccess) return Status();
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.GetErrorName(result, &name) != kDriverSuccess || name == nullptr) name = "an unknown error";
  if (driver.GetErrorString(result, &text) != kDriverSuccess || text == nullptr) text = "the driver has no text for it";
  const StatusCode code = result == kDriverOutOfMemory ? StatusCode::kResourceExhausted : StatusCode::kInternal;
  return MakeError(code, "expected ", call, " to succeed, got ", std::string_view(name), " (", result,
                   "): ", std::string_view(text));
}

// Those of which the driver's header says that the process must be ended, or the context made again; from 700 on all
// but 701, 703 to 708, 712, 713 and 720 to 799.
bool IsContextLost(DriverResult result) {
  constexpr std::array<DriverResult, 16> kLost = {4,   214, 220, 226, 700, 702, 709, 710,
                                                  714, 715, 716, 717, 718, 719, 810, 911};
  return result == 999 || std::ranges::find(kLost, result) != kLost.end();
}

}  // namespace tandem::cuda
