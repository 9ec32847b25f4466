// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The taps of convolutions and of their transposes.

#include "kernels/convolution/convolution_taps.h"

#include <algorithm>
#include <numeric>

namespace tandem::cpu {
namespace {

// Drops the taps that see nothing but padding, so that what is left spans not much more than the source.
TapAxis Pruned(TapAxis axis) {
  if (axis.count == 0 || axis.outputs == 0) return axis;
  const int64_t lowest = -(axis.outputs - 1) * axis.stride;  // source element of the first tap that reaches element 0
  const int64_t skipped = axis.first < lowest ? (lowest - axis.first + axis.step - 1) / axis.step : 0;
  const int64_t kept = axis.first < axis.source ? (axis.source - 1 - axis.first) / axis.step + 1 : 0;
  axis.count = std::max<int64_t>(0, std::min(axis.count, kept) - skipped);
  if (axis.count == 0) {
    axis.first = 0;
    return axis;
  }
  axis.first += skipped * axis.step;
  axis.tap_first += skipped * axis.tap_step;
  return axis;
}

}  // namespace

TapAxis ForwardTaps(const WindowAxis& axis) {
  TapAxis taps;
  taps.source = axis.input;
  taps.outputs = axis.output;
  taps.stride = axis.stride;
  taps.count = axis.window;
  taps.first = -axis.pad_before;
  taps.step = axis.dilation;
  return Pruned(taps);
}

TapAxis BackwardTaps(const WindowAxis& axis, int64_t phase) {
  TapAxis taps;
  taps.source = axis.output;
  taps.outputs = phase < axis.input ? (axis.input - 1 - phase) / axis.stride + 1 : 0;
  taps.out_first = phase;
  taps.out_step = axis.stride;
  // Tap w reaches result element x from output (x + pad_before - w * dilation) / stride, where that is a whole number.
  const int64_t common = std::gcd(axis.stride, axis.dilation);
  const int64_t period = axis.stride / common;
  const int64_t end = std::min(period, axis.window);
  int64_t tap = 0;
  while (tap < end && (phase + axis.pad_before - tap * axis.dilation) % axis.stride != 0) ++tap;
  if (tap == end) return taps;
  taps.count = (axis.window - 1 - tap) / period + 1;
  taps.tap_first = tap + (taps.count - 1) * period;
  taps.tap_step = -period;
  taps.first = (phase + axis.pad_before - taps.tap_first * axis.dilation) / axis.stride;
  taps.step = axis.dilation / common;
  return Pruned(taps);
}

}  // namespace tandem::cpu
