// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Translates the kernels' language, a part of WGSL (backends/shader/kernels/README.md), to CUDA C++.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_TEXT_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_TEXT_H_

#include <string>
#include <string_view>

#include "tandem/status.h"

namespace tandem::cuda {

// A kernel in CUDA C++ with the same meaning, which needs kCudaPrelude in front of it: a namespace `name`_scope with
// the function `extern "C" __global__ void name(...)`. So texts of other names may stand behind it. Its parameters are
// the addresses of the buffers, by binding, and then, if the kernel has parameters, a struct of them by value. Lines
// are numbered as in `wgsl`. `name` is an identifier.
//
// Buffers are __restrict__, as the kernels' language has it, and those that are only read const, so that they are read
// through the read-only cache. Multiplication and addition may be contracted, as there.
//
// Fails, with line and word, where the text has something that the kernels' language has not.
StatusOr<std::string> TranslateToCuda(std::string_view wgsl, std::string_view name);

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_TEXT_H_
