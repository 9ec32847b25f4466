// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DriverFunctions: CUDA's driver API, as far as it is used, opened where it is there.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_DRIVER_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tandem/status.h"

namespace tandem::cuda {

// The types and functions as the driver's header declares them. They are declared here, so that a machine without the
// toolkit builds the same module: an entry point's name has its version in it, and what a name means never changes.
using DriverResult = int;
using DevicePointer = uint64_t;
using DeviceNumber = int;
using ContextHandle = void*;
using StreamHandle = void*;
using EventHandle = void*;
using ModuleHandle = void*;
using FunctionHandle = void*;
using PoolHandle = void*;
using GraphHandle = void*;
using GraphExecHandle = void*;

struct PoolLocation {
  int type;  // kPoolOnDevice
  int id;
};
struct PoolProperties {
  int allocation_type;  // kPoolPinned
  int handle_types;     // 0: memory is not shared with other processes
  PoolLocation location;
  void* windows_security;
  size_t max_size;  // 0: what the device has
  unsigned short usage;
  unsigned char reserved[54];
};
static_assert(sizeof(PoolProperties) == 88);

inline constexpr int kPoolOnDevice = 1;
inline constexpr int kPoolPinned = 1;

struct DriverFunctions {
  DriverResult (*GetErrorName)(DriverResult result, const char** name);
  DriverResult (*GetErrorString)(DriverResult result, const char** text);
  DriverResult (*Init)(unsigned flags);
  DriverResult (*DriverGetVersion)(int* version);  // 1000 * major + 10 * minor of CUDA
  DriverResult (*DeviceGetCount)(int* count);
  DriverResult (*DeviceGet)(DeviceNumber* device, int ordinal);
  DriverResult (*DeviceGetName)(char* name, int size, DeviceNumber device);
  DriverResult (*DeviceGetAttribute)(int* value, int attribute, DeviceNumber device);
  DriverResult (*DeviceTotalMem)(size_t* bytes, DeviceNumber device);
  DriverResult (*DevicePrimaryCtxRetain)(ContextHandle* context, DeviceNumber device);
  DriverResult (*DevicePrimaryCtxRelease)(DeviceNumber device);
  DriverResult (*CtxSetCurrent)(ContextHandle context);
  DriverResult (*StreamCreate)(StreamHandle* stream, unsigned flags);
  DriverResult (*StreamDestroy)(StreamHandle stream);
  DriverResult (*StreamSynchronize)(StreamHandle stream);
  DriverResult (*StreamWaitEvent)(StreamHandle stream, EventHandle event, unsigned flags);
  DriverResult (*EventCreate)(EventHandle* event, unsigned flags);
  DriverResult (*EventDestroy)(EventHandle event);
  DriverResult (*EventRecord)(EventHandle event, StreamHandle stream);
  DriverResult (*EventQuery)(EventHandle event);
  DriverResult (*EventSynchronize)(EventHandle event);
  DriverResult (*EventElapsedTime)(float* milliseconds, EventHandle start, EventHandle end);
  DriverResult (*MemPoolCreate)(PoolHandle* pool, const PoolProperties* properties);
  DriverResult (*MemPoolDestroy)(PoolHandle pool);
  DriverResult (*MemPoolSetAttribute)(PoolHandle pool, int attribute, void* value);
  DriverResult (*MemPoolTrimTo)(PoolHandle pool, size_t bytes);
  DriverResult (*MemAllocFromPoolAsync)(DevicePointer* memory, size_t bytes, PoolHandle pool, StreamHandle stream);
  DriverResult (*MemFreeAsync)(DevicePointer memory, StreamHandle stream);
  DriverResult (*PointerGetAttribute)(void* value, int attribute, DevicePointer pointer);
  DriverResult (*MemHostAlloc)(void** memory, size_t bytes, unsigned flags);
  DriverResult (*MemFreeHost)(void* memory);
  DriverResult (*MemcpyHtoDAsync)(DevicePointer to, const void* from, size_t bytes, StreamHandle stream);
  DriverResult (*MemcpyDtoHAsync)(void* to, DevicePointer from, size_t bytes, StreamHandle stream);
  DriverResult (*MemcpyDtoDAsync)(DevicePointer to, DevicePointer from, size_t bytes, StreamHandle stream);
  DriverResult (*MemsetD32Async)(DevicePointer to, unsigned value, size_t count, StreamHandle stream);
  DriverResult (*ModuleLoadData)(ModuleHandle* module, const void* image);
  DriverResult (*ModuleUnload)(ModuleHandle module);
  DriverResult (*ModuleGetFunction)(FunctionHandle* function, ModuleHandle module, const char* name);
  DriverResult (*LaunchKernel)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                               StreamHandle stream, void** parameters, void** extra);
};

inline constexpr int kCaptureRelaxed = 2;

// Of drivers of CUDA 12.0 and later.
struct GraphFunctions {
  DriverResult (*StreamBeginCapture)(StreamHandle stream, int mode);
  DriverResult (*StreamEndCapture)(StreamHandle stream, GraphHandle* graph);
  DriverResult (*GraphInstantiate)(GraphExecHandle* exec, GraphHandle graph, unsigned long long flags);
  DriverResult (*GraphLaunch)(GraphExecHandle exec, StreamHandle stream);
  DriverResult (*GraphExecDestroy)(GraphExecHandle exec);
  DriverResult (*GraphDestroy)(GraphHandle graph);
};

// Results that are told apart.
inline constexpr DriverResult kDriverSuccess = 0;
inline constexpr DriverResult kDriverOutOfMemory = 2;
inline constexpr DriverResult kDriverStubLibrary = 34;
inline constexpr DriverResult kDriverNoDevice = 100;
inline constexpr DriverResult kDriverNotReady = 600;

// Attributes and flags, as the header numbers them.
inline constexpr int kAttributeMultiprocessorCount = 16;
inline constexpr int kAttributeComputeCapabilityMajor = 75;
inline constexpr int kAttributeComputeCapabilityMinor = 76;
inline constexpr int kAttributeMemoryPoolsSupported = 115;
inline constexpr int kPoolAttributeReleaseThreshold = 4;
inline constexpr int kPointerMemoryType = 2;     // an unsigned
inline constexpr int kPointerDeviceOrdinal = 9;  // an int
inline constexpr unsigned kMemoryOfHost = 1;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;

// The oldest driver with all of these functions: that of CUDA 11.2.
inline constexpr int kOldestDriver = 11020;

// The driver's functions. NotFound if there is no libcuda.so.1, or only the toolkit's stub of it; FailedPrecondition,
// naming what it lacks, if it is too old. TANDEM_CUDA_DRIVER in the environment names another file.
StatusOr<DriverFunctions> OpenDriver();
// Of the same file, which has been opened. FailedPrecondition if the driver is too old for them.
StatusOr<GraphFunctions> OpenGraphFunctions();

// Ok, ResourceExhausted for lack of memory, else Internal: `call` and the driver's own words.
Status DriverStatus(const DriverFunctions& driver, DriverResult result, std::string_view call);

// Whether nothing more can be done with the context: a kernel's fault, a device that is gone. What such a result was
// given for is not what caused it.
bool IsContextLost(DriverResult result);

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_DRIVER_H_
