// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The functions of the kernels' language that GLSL has not, or with another meaning, written in GLSL.

#ifndef TANDEM_BACKENDS_VULKAN_LIB_GLSL_PRELUDE_H_
#define TANDEM_BACKENDS_VULKAN_LIB_GLSL_PRELUDE_H_

#include <string_view>

namespace tandem::vulkan {

// All their names begin with "w_". What a shader does not call is not compiled.
extern const std::string_view kGlslPrelude;
// The same for f16; in need of GL_EXT_shader_explicit_arithmetic_types_float16.
extern const std::string_view kGlslPreludeF16;

}  // namespace tandem::vulkan

#endif  // TANDEM_BACKENDS_VULKAN_LIB_GLSL_PRELUDE_H_
