// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Running sums and products along one dimension: within chunks, after a scan of what the chunks come to.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_SCAN_SCAN_PROGRAMS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_SCAN_SCAN_PROGRAMS_H_

#include <cstdint>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::shader {

enum class ScanOp : int32_t { kSum, kProduct };

struct ScanKind {
  ScanOp op;
  DType dtype;
  bool exclusive = false;
  bool reverse = false;
};

struct ScanShape {
  uint64_t outer;
  uint64_t rows;  // along these
  uint64_t inner;
};

// Into how many chunks the rows are cut.
uint64_t ScanChunks(const ScanShape& shape, const GpuLimits& limits);

// What each chunk comes to: buffers x, totals [outer, chunks, inner].
Launch ScanTotalsProgram(const ScanKind& kind, const ScanShape& shape, uint64_t chunks, const GpuLimits& limits);
// The scan itself: buffers x, y if there is one chunk, else x, offsets (what comes before each chunk), y.
Launch ScanProgram(const ScanKind& kind, const ScanShape& shape, uint64_t chunks, const GpuLimits& limits);

// One variant of each kind of shader, for tests that compile them.
std::vector<ShaderVariant> ScanVariants(const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_SCAN_SCAN_PROGRAMS_H_
