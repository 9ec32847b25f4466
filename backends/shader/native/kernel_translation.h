// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Translates the kernels' language, a part of WGSL (backends/shader/kernels/README.md).

#ifndef TANDEM_BACKENDS_SHADER_NATIVE_KERNEL_TRANSLATION_H_
#define TANDEM_BACKENDS_SHADER_NATIVE_KERNEL_TRANSLATION_H_

#include <string>
#include <string_view>

#include "kernel_dialect.h"
#include "tandem/status.h"

namespace tandem::shader {

// The same shader in the dialect, which has been used for no other; lines are numbered as in `wgsl`, so that a
// compiler's messages fit it. The translation is by words: what it lets pass and the other language does not allow is
// left to that compiler. Fails, with line and word, where the text has something that the kernels' language has not.
StatusOr<std::string> TranslateKernel(std::string_view wgsl, KernelDialect& dialect);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_NATIVE_KERNEL_TRANSLATION_H_
