// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reductions of what the processes have, in the order of their ranks.

#ifndef TANDEM_MPI_REDUCTION_H_
#define TANDEM_MPI_REDUCTION_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tandem.h"

namespace tandem::mpi {

enum class Reduction : uint32_t { kNone, kSum, kMean, kMin, kMax, kProd };

// kNone for any other word.
Reduction ReductionOf(std::string_view word);
const char* NameOf(Reduction reduction);

// Bytes of an element; 0 for strings and what is no dtype.
size_t SizeOf(tandem_dtype dtype);
const char* NameOf(tandem_dtype dtype);
// Numbers but complex ones; of kMean those with a fraction.
bool CanReduce(tandem_dtype dtype, Reduction reduction);

// result[i] = parts[0][i] op parts[1][i] op ..., from the left, for `count` elements of each of `num_parts` > 0 parts,
// which are `count` elements apart from each other. f16 and bf16 are computed in f32 and rounded once; integers wrap;
// of kMin and kMax a NaN is the result, if there is one. `result` may be parts[0]. The dtype and reduction can be.
void Reduce(tandem_dtype dtype, Reduction reduction, const void* parts, size_t num_parts, size_t count, void* result);

}  // namespace tandem::mpi

#endif  // TANDEM_MPI_REDUCTION_H_
