// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ParallelFor: splits a range over the work queue; the caller takes part and returns when all of it is done.

#ifndef TANDEM_PARALLEL_FOR_H_
#define TANDEM_PARALLEL_FOR_H_

#include <cstdint>

#include "tandem/export.h"
#include "tandem/function_ref.h"
#include "tandem/work_queue.h"

namespace tandem {

// Calls fn(begin, end) for disjoint ranges that together are [0, n), from several threads at once. Ranges begin at
// multiples of `grain` and have at least `grain` elements except the last; `grain` >= 1 should be some ten
// microseconds of work. May be nested and called from any thread; never deadlocks, since the caller can do all the
// work itself, as it does when memory for helpers cannot be had.
//
// Within a kernel, each thread asks now and then whether the kernel is to end (CA-4). Then some of the ranges are left
// out, and the result is false: memory must not be addressed by what they were to compute.
TANDEM_EXPORT bool ParallelFor(WorkQueue& queue, int64_t n, int64_t grain,
                               FunctionRef<void(int64_t begin, int64_t end)> fn);

}  // namespace tandem

#endif  // TANDEM_PARALLEL_FOR_H_
