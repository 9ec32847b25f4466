// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/register_tiles.h"

#include <algorithm>

#include "kernels/element_types.h"

namespace tandem::shader {

namespace {

std::string_view QuadType(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "vec4h";
    case DType::kI32:
      return "vec4i";
    case DType::kU32:
      return "vec4u";
    default:
      return "vec4f";
  }
}

}  // namespace

Quads FindQuads(int64_t inner_stride, int64_t inner, int64_t outer_stride, int64_t outer) {
  if (inner_stride == 1 && HasQuads(inner) && (outer == 1 || HasQuads(outer_stride))) return kAlongInner;
  if (outer_stride == 1 && HasQuads(outer) && (inner <= 1 || HasQuads(inner_stride))) return kAlongOuter;
  return kScalars;
}

bool IsFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16; }

void DeclareQuadTypes(ShaderBuilder& builder, DType dtype) {
  DeclareTypes(builder, dtype);
  builder.Alias("T4", QuadType(dtype)).Alias("A4", IsFloat(dtype) ? "vec4f" : QuadType(dtype));
}

int64_t CountTiles(int64_t size, int64_t tile_size) { return (size + tile_size - 1) / tile_size; }

RegisterTile ChooseRegisterTile(int64_t count, int64_t rows, int64_t cols, const GpuLimits& limits) {
  RegisterTile tile = {16, 4};
  if (rows <= 8) tile.rows = rows == 1 ? 1 : rows <= 4 ? 4 : 8;
  if (cols <= 8) tile.quads = cols <= 4 ? 1 : 2;
  if (!limits.is_software) tile = {std::min<int64_t>(tile.rows, 4), std::min<int64_t>(tile.quads, 2)};
  const int64_t enough = limits.is_software ? 64 : 16384;
  while ((tile.rows > 4 || tile.quads > 1) &&
         count * CountTiles(rows, tile.rows) * CountTiles(cols, 4 * tile.quads) < enough) {
    if (tile.quads == 1 || tile.rows > 4 * tile.quads) {
      tile.rows /= 2;
    } else {
      tile.quads /= 2;
    }
  }
  return tile;
}

}  // namespace tandem::shader
