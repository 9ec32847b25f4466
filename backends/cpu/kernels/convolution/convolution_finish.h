// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What happens to the outputs of a convolution once their sums are complete.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_FINISH_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_FINISH_H_

#include <cstdint>

#include "tandem/function_ref.h"

namespace tandem::cpu {

// Changes the first `count` pixels of the dense result, channels last, while they are in the cache. `added` is null, or
// has as many pixels to add.
template <typename T>
using PixelFunction = FunctionRef<void(T* pixels, int64_t count, const T* added)>;

// x = x + bias + added, but `low` where that is not more than `low`, and `high` where it is more than `high`. NaN stays
// NaN.
template <typename T>
struct BiasAndLimits {
  const T* bias = nullptr;  // one for each channel; null: x stays as it is
  T low = 0;
  T high = 0;
  const T* added = nullptr;  // if not null, laid out as the result is

  BiasAndLimits From(int64_t channel) const {
    return {bias == nullptr ? nullptr : bias + channel, low, high, added == nullptr ? nullptr : added + channel};
  }
};

// `limits` does the same as `apply`, if that is as simple: tiles that can do it while the sums are in registers.
template <typename T>
struct PixelFinish {
  PixelFunction<T> apply;
  BiasAndLimits<T> limits;      // but for what is to be added
  const void* added = nullptr;  // if not null, a tensor to add, of the result's layout and dtype
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_FINISH_H_
