// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Rows sorted by keys: by blocks in shared memory, and then by merging these.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SORT_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SORT_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/shader/shader_call.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

enum class SortOrder : int32_t {
  kDescending,  // NaN comes before all; 0 and -0 are equal
  kAnyOrder,    // equal elements lie next to each other, 0 and -0 are equal, and so are all NaN; c64 and bool, too
};

// The type of keys: "u32", or "u64" of dtypes of 8 bytes.
std::string_view SortKeyType(DType dtype);
// Declares that type as K, and `fn key_of(x: A) -> K`, where A is the type that elements of the dtype are computed in.
void DeclareSortKeys(ShaderBuilder& builder, DType dtype, SortOrder order);

// Equal elements are in the order that they have in the row.
struct SortedRows {
  GpuBuffer* keys;    // [rows, cols] of the type above
  GpuBuffer* places;  // [rows, cols] of u32: which column an element comes from
};
// Sorts `x`, [rows, cols] elements, none of which is 0. Null pointers if the call has failed.
SortedRows SortRows(ShaderCall& call, GpuBuffer* x, DType dtype, uint64_t rows, uint64_t cols, SortOrder order);

// For tests: one of each kind.
std::vector<ShaderVariant> SortVariants();

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_INDEXING_SORT_H_
