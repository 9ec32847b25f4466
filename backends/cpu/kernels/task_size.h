// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How much work of products of matrices and convolutions makes a task that is worth its hand-over to a thread.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_TASK_SIZE_H_
#define TANDEM_BACKENDS_CPU_KERNELS_TASK_SIZE_H_

#include <cstdint>

#include "tandem/work_queue.h"

namespace tandem::cpu {

// Products of two elements, some ten microseconds of them; and as many as are enough where a thread is waiting for
// work. In WebAssembly vectors are short and a hand-over is cheaper.
#ifdef __wasm__
inline constexpr int64_t kMinTaskProducts = int64_t{1} << 18;
inline constexpr int64_t kMinAwaitedProducts = kMinTaskProducts / 4;
#else
inline constexpr int64_t kMinTaskProducts = int64_t{1} << 20;
inline constexpr int64_t kMinAwaitedProducts = kMinTaskProducts / 8;
#endif
// Elements to copy or pack.
inline constexpr int64_t kMinTaskElements = int64_t{1} << 15;

// Of matrices of m x k and k x n elements.
inline double NumProducts(int64_t m, int64_t n, int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

// Of a task of a kernel that does so many `products`. `queue` may be null.
inline int64_t MinTaskProducts(WorkQueue* queue, double products) {
  const bool is_worth_sharing = queue != nullptr && products >= static_cast<double>(2 * kMinAwaitedProducts);
  return is_worth_sharing && queue->RequestHelper() ? kMinAwaitedProducts : kMinTaskProducts;
}

// How many of `n` things that take so many products each make such a task.
inline int64_t TaskGrain(WorkQueue* queue, int64_t n, double products) {
  const auto min_products = static_cast<double>(MinTaskProducts(queue, static_cast<double>(n) * products));
  return 1 + static_cast<int64_t>(min_products / products);
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_TASK_SIZE_H_
