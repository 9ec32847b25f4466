// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The functions of elementary.wgsl, from which a shader takes those that it calls.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_SHADER_FUNCTIONS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_SHADER_FUNCTIONS_H_

#include <string>
#include <string_view>

namespace tandem::shader {

// The functions that `text` calls, and those that they call, each once.
std::string FunctionsCalledBy(std::string_view text);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_SHADER_FUNCTIONS_H_
