// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TapAxis: which source elements the outputs of a convolution, or of its transpose, see along one dimension.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_TAPS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_TAPS_H_

#include <cstdint>

#include "tandem/window_geometry.h"

namespace tandem::cpu {

// The taps of windows along one dimension: output o, for o < outputs, sees source element o * stride + first + t * step
// through element tap_first + t * tap_step of the filter, for t < count.
struct TapAxis {
  int64_t source = 0;
  int64_t outputs = 0;
  int64_t stride = 1;
  int64_t count = 0;
  int64_t first = 0;
  int64_t step = 1;
  int64_t tap_first = 0;
  int64_t tap_step = 1;
  // Where the outputs lie in the result: at out_first + o * out_step.
  int64_t out_first = 0;
  int64_t out_step = 1;

  // How many source elements the windows of `n` outputs in a row span.
  int64_t Span(int64_t n) const { return count == 0 ? 1 : (n - 1) * stride + (count - 1) * step + 1; }
  bool IsInside() const { return count == 0 || outputs == 0 || (first >= 0 && first + Span(outputs) <= source); }
};

// The taps of a convolution, without those that see nothing but padding.
TapAxis ForwardTaps(const WindowAxis& axis);
// Its transpose: for the result elements phase, phase + stride, ... of `axis.input`, what reaches them from the output.
TapAxis BackwardTaps(const WindowAxis& axis, int64_t phase);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_TAPS_H_
