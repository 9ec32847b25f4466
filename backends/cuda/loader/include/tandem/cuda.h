// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The CUDA op handler, for programs that link the shared library: it is in a module of its own, loaded when it is asked
// for, which opens the driver and NVRTC itself, so that a machine without them runs the rest.

#ifndef TANDEM_CUDA_H_
#define TANDEM_CUDA_H_

#include <cstdint>
#include <string>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/op_handler.h"
#include "tandem/status.h"

namespace tandem {

// Which device the handler is for, and what it does with what that lacks. LoadOpHandler takes the same as settings of
// these names: `device` and `cache_folder` as text, `synchronous` and `graphs` as bool, `memory_limit` and
// `cache_limit` as i64.
struct CudaHandlerOptions {
  // Which device: its index in the driver's order, or a part of its name in any case. Empty: the first one.
  // TANDEM_CUDA_DEVICE in the environment comes first.
  std::string device{};
  // Runs ops that the device has no kernel for, moving arguments and results (OH-2); null: such calls are errors.
  OpHandler* fallback = nullptr;
  uint64_t memory_limit = UINT64_MAX;  // bytes of tensors on the device
  uint64_t cache_limit = UINT64_MAX;   // bytes of freed tensors kept for later ones; a quarter of the device's at most
  // Where compiled kernels are kept from one run to the next. Empty: TANDEM_CUDA_CACHE in the environment, else
  // `tandem` in the user's cache folder; "off" keeps none.
  std::string cache_folder{};
  // The device is waited for after each op, so that a kernel's fault is told of the op that made it; also where
  // TANDEM_CUDA_SYNCHRONOUS=1 is in the environment.
  bool synchronous = false;
  // Stretches of commands that come again and again are launched as CUDA graphs; also where TANDEM_CUDA_GRAPHS=1 is in
  // the environment.
  bool graphs = false;
};

// Loads the module, which is beside the library and has the same version in its name (libtandem_cuda.so.0.1), makes the
// handler "cuda" and adds it to the runtime, which owns it; the module stays in the process. NotFound if there is no
// module, driver, NVRTC or such device; FailedPrecondition if the module is of another version, the program links the
// static library, or driver, NVRTC or device are too old.
TANDEM_EXPORT StatusOr<OpHandler*> LoadCudaOpHandler(CoreRuntime& runtime, const CudaHandlerOptions& options = {});

}  // namespace tandem

#endif  // TANDEM_CUDA_H_
