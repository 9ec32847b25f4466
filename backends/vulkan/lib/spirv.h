// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SpirvCompiler: GLSL to SPIR-V, by glslang.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_SPIRV_H_
#define TANDEM_BACKENDS_VULKAN_LIB_SPIRV_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/status.h"

namespace tandem::vulkan {

// Thread-safe. While there is one, glslang's process-wide tables are there.
class SpirvCompiler {
 public:
  SpirvCompiler();
  ~SpirvCompiler();
  SpirvCompiler(const SpirvCompiler&) = delete;
  SpirvCompiler& operator=(const SpirvCompiler&) = delete;

  // A compute shader for Vulkan 1.1 (SPIR-V 1.3). The error has glslang's words.
  StatusOr<std::vector<uint32_t>> Compile(const std::string& glsl) const;
};

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_SPIRV_H_
