// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The loops of cumulative sums and products, by dtype, compiled for several instruction sets.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SCAN_SCAN_ROWS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SCAN_SCAN_ROWS_H_

#include <cstdint>

#include "tandem/dtype.h"

namespace tandem::cpu {

enum class ScanOp : uint8_t { kSum, kProduct };

struct ScanOrder {
  bool exclusive;  // an element of the result does not count the one in its place
  bool reverse;    // from the last element to the first
};

// `out` may be `x`; otherwise they do not overlap.
struct ScanRows {
  // `n` contiguous elements. Each result is that of a scan of these elements alone, added to (or multiplied by)
  // `start`, so that the bits do not depend on who computed `start`. `total`: what all elements come to, without
  // `start`. A null `start` is 0 (or 1); with a null `out` only the total is computed.
  void (*along)(const void* x, void* out, int64_t n, ScanOrder order, const void* start, void* total) = nullptr;
  // `n` rows of `width` contiguous elements, `stride` elements apart, of which each column is scanned.
  void (*across)(const void* x, void* out, int64_t n, int64_t stride, int64_t width, ScanOrder order) = nullptr;
  // x + y or x * y; null is 0 or 1.
  void (*combine)(const void* x, const void* y, void* out) = nullptr;
  float along_cost = 0;  // nanoseconds an element
};

// For the best instruction set of this machine. Empty functions for f16, bf16 and dtypes that are no numbers.
ScanRows FindScanRows(ScanOp op, DType dtype);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SCAN_SCAN_ROWS_H_
