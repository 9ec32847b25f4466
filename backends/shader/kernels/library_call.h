// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RunByLibrary: ops on images by a library of the device, where it has one.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_LIBRARY_CALL_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_LIBRARY_CALL_H_

#include <span>
#include <utility>

#include "kernels/element_types.h"
#include "tandem/shader/library_window_op.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

// False: nobody but a shader computes it.
inline bool RunByLibrary(ShaderCall& call, const LibraryWindowOp& op, std::span<GpuBuffer* const> buffers) {
  if constexpr (kMayHaveAllDTypes) {
    if (!call.ok()) return false;
    auto pipeline = call.device().queue().FindWindowOp(op);
    if (pipeline.IsValid()) {
      call.RunLibrary(std::move(pipeline), buffers);
      return true;
    }
  }
  return false;
}

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_LIBRARY_CALL_H_
