// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What every CUDA device that this backend takes grants.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_LIMITS_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_LIMITS_H_

#include <cstdint>

#include "tandem/shader/shader_call.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::cuda {

// The oldest compute capability: Turing's.
inline constexpr int kOldestArchitecture = 75;

// Of compute capability 7.5 and later (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
inline shader::GpuLimits CudaLimits() {
  shader::GpuLimits limits;
  // Kernels count elements by 32 bits; sizes of bindings are in bytes.
  limits.max_buffer_bytes = limits.max_binding_bytes = (uint64_t{1} << 32) - 256;
  limits.offset_alignment = 16;  // of the largest vectors that are read at once
  limits.max_storage_buffers = shader::ShaderCall::kMaxBuffers;
  limits.max_workgroups = 65535;
  limits.max_invocations = 1024;
  limits.max_workgroup_z = 64;
  limits.max_workgroup_bytes = 48 << 10;
  limits.has_f16 = limits.has_all_dtypes = true;
  limits.has_subgroups = true;
  limits.min_subgroup_size = limits.max_subgroup_size = 32;
  return limits;
}

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_LIMITS_H_
