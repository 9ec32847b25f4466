// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The functions of elementary.wgsl, from which a shader takes those that it calls.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_SHADER_FUNCTIONS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_SHADER_FUNCTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::shader {

// Of f32 (elementary.wgsl), of f64 and c64 (wide.wgsl), some of which have the same names, or of all these; and of f64
// by the names of soft_double.wgsl: those of that file with what is of f32, or of hard_double.wgsl with all there is.
enum class FunctionTypes : uint8_t { kF32, kWide, kAll, kSoft, kHard };

// The functions that `text` calls, and those that they call, each once.
std::string FunctionsCalledBy(std::string_view text, FunctionTypes types = FunctionTypes::kF32);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_SHADER_FUNCTIONS_H_
