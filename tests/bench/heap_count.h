// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How often this thread has called the allocator: the benchmark program's operator new counts.

#ifndef TANDEM_TESTS_BENCH_HEAP_COUNT_H_
#define TANDEM_TESTS_BENCH_HEAP_COUNT_H_

#include <cstdint>

namespace tandem::bench {

extern constinit thread_local uint64_t heap_calls;

}  // namespace tandem::bench

#endif  // TANDEM_TESTS_BENCH_HEAP_COUNT_H_
