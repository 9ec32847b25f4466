// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What happens to the outputs of a convolution once their sums are complete.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_FINISH_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_FINISH_H_

#include <cstdint>

#include "tandem/function_ref.h"

namespace tandem::cpu {

// Changes the first `count` pixels of the dense result, channels last, while they are in the cache.
template <typename T>
using PixelFunction = FunctionRef<void(T* pixels, int64_t count)>;

// x = x + bias, but `low` where that is not more than `low`, and `high` where it is more than `high`. NaN stays NaN.
template <typename T>
struct BiasAndLimits {
  const T* bias = nullptr;  // one for each channel; null: x stays as it is
  T low = 0;
  T high = 0;

  BiasAndLimits From(int64_t channel) const { return {bias == nullptr ? nullptr : bias + channel, low, high}; }
};

// `limits` does the same as `apply`, if that is as simple: tiles that can do it while the sums are in registers.
template <typename T>
struct PixelFinish {
  PixelFunction<T> apply;
  BiasAndLimits<T> limits;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_FINISH_H_
