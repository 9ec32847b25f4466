// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The types and functions of the kernels' language, written in CUDA C++.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_PRELUDE_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_PRELUDE_H_

#include <string_view>

namespace tandem::cuda {

// All its names begin with "w_" or "W_". It includes nothing, so that NVRTC needs no file; a compiler that is not
// CUDA's needs declarations of what CUDA has built in (tests/cuda/emulated_cuda.h).
//
// Where C++ leaves open what an operation gives, it is what WGSL says: integers wrap, x / 0 is x and x % 0 is 0, shifts
// take their lowest bits, conversions to integers clamp.
extern const std::string_view kCudaPrelude;

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_PRELUDE_H_
