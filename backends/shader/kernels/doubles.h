// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Numbers of f64 in kernels that are defined in them, on devices with f64 and without: one text for both.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_DOUBLES_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_DOUBLES_H_

#include <string>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

// Declares D, which is f64 or, `is_soft`, its bits, and T and A of `dtype`, as DeclareTypes does. Before buffers of D.
void DeclareDoubles(ShaderBuilder& builder, DType dtype, bool is_soft);

// `double_of(x: T) -> D`, where T is floating-point `rounded(value: D) -> T`, which rounds once (f16 and bf16 by way of
// f32), and the library functions that these and `text` call. Soft numbers are finite; see soft_double.wgsl.
std::string DoubleFunctions(std::string_view text, DType dtype, bool is_soft);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_DOUBLES_H_
