// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Translates the kernels' language, a part of WGSL (backends/shader/kernels/README.md), to GLSL for Vulkan.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_GLSL_TEXT_H_
#define TANDEM_BACKENDS_VULKAN_LIB_GLSL_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/status.h"

namespace tandem::vulkan {

// Where a shader finds its parameters.
enum class ParameterPlace : uint8_t { kUniformBuffer, kPushConstants };

// A complete compute shader in GLSL 4.50 with the same meaning; lines are numbered as in `wgsl`, so that a compiler's
// messages fit it. The translation is by words: what it lets pass and GLSL does not allow is left to the compiler, and
// every name of the kernel's has "_v" at its end there, so that it is none of GLSL's. Fails, with line and word, where
// the text has something that the kernels' language has not.
//
// Arithmetic is not marked `precise`: WGSL lets a compiler contract `a * b + c`, too, so no kernel may rely on its
// being two roundings, and matrix products take half the time so.
StatusOr<std::string> TranslateToGlsl(std::string_view wgsl, ParameterPlace parameters);

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_GLSL_TEXT_H_
