// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What kernels that compute tiles of products of matrices in registers have in common.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_REGISTER_TILES_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_REGISTER_TILES_H_

#include <cstdint>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

// Invocations of a workgroup, each with a tile of its own.
inline constexpr uint32_t kRegisterWorkgroup = 16;

// Along what four elements of a matrix are read at once. Outer are the rows of a first, the columns of a second matrix.
enum Quads : int32_t { kScalars, kAlongInner, kAlongOuter };

inline bool HasQuads(int64_t x) { return x % 4 == 0; }

// How the elements of a matrix can be read, whose sizes and distances are these, and which begins at a multiple of
// four.
Quads FindQuads(int64_t inner_stride, int64_t inner, int64_t outer_stride, int64_t outer);

bool IsFloat(DType dtype);

// T and T4: an element and four as they are stored; A and A4: as they are computed with.
void DeclareQuadTypes(ShaderBuilder& builder, DType dtype);
// The type of a buffer's elements.
inline std::string_view BufferType(int32_t quads) { return quads == 0 ? "T" : "T4"; }

struct RegisterTile {
  int64_t rows;   // 4, 8 or 16, so that four rows can be read at once; 1 if there is but one
  int64_t quads;  // of columns: 1, 2 or 4
};

int64_t CountTiles(int64_t size, int64_t tile_size);

// For `count` matrices of `rows` x `cols`: the larger a tile, the fewer elements are read for a product; but there must
// be some tiles to be computed at once.
RegisterTile ChooseRegisterTile(int64_t count, int64_t rows, int64_t cols, const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_REGISTER_TILES_H_
