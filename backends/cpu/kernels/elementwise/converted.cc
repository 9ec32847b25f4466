// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ConvertElements: the rows of tf.Cast on whole tensors.

#include "kernels/converted.h"

#include <algorithm>
#include <cstddef>

#include "kernels/elementwise/elementwise_rows.h"

namespace tandem::cpu {

void ConvertElements(const KernelFrame& frame, DType from, const void* elements, DType to, void* out, int64_t n) {
  constexpr int64_t kBlock = 1024;
  const RowFunction function = CastRows().Function(from, to, /*truncate=*/false);
  const auto from_size = static_cast<int64_t>(DTypeSize(from));
  const auto to_size = static_cast<int64_t>(DTypeSize(to));
  const auto* first = static_cast<const std::byte*>(elements);
  auto* first_out = static_cast<std::byte*>(out);
  frame.ParallelFor(n, 0.5, [&](int64_t begin, int64_t end) {
    alignas(64) float widened[kBlock];
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t count = std::min(kBlock, end - i);
      const void* operand = first + i * from_size;
      if (function.widen != nullptr) {
        function.widen(&operand, widened, count);
        operand = widened;
      }
      function.row(&operand, first_out + i * to_size, count);
    }
  });
}

}  // namespace tandem::cpu
