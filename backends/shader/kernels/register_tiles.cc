// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/register_tiles.h"

#include <algorithm>
#include <limits>

#include "kernels/element_types.h"

namespace tandem::shader {

namespace {

constexpr RegisterTile kTiles[] = {{16, 4}, {16, 2}, {8, 4}, {8, 2}, {8, 1}, {4, 2}, {4, 1}, {1, 2}, {1, 1}};

}  // namespace

Quads FindQuads(int64_t inner_stride, int64_t inner, int64_t outer_stride, int64_t outer) {
  if (inner_stride == 1 && HasQuads(inner) && (outer == 1 || HasQuads(outer_stride))) return kAlongInner;
  if (outer_stride == 1 && HasQuads(outer) && (inner <= 1 || HasQuads(inner_stride))) return kAlongOuter;
  return kScalars;
}

bool IsFloat(DType dtype) { return kFloatDTypes.Contains(dtype); }

void DeclareQuadTypes(ShaderBuilder& builder, DType dtype) {
  DeclareTypes(builder, dtype);
  builder.Alias("T4", VectorOf(StorageType(dtype))).Alias("A4", VectorOf(ArithmeticType(dtype)));
}

int64_t CountTiles(int64_t size, int64_t tile_size) { return (size + tile_size - 1) / tile_size; }

RegisterTile ChooseRegisterTile(int64_t count, int64_t rows, int64_t cols, const GpuLimits& limits) {
  // An element read costs about ten times what a product does; measured on SwiftShader.
  constexpr double kReadCost = 10;
  const int64_t enough = limits.is_software ? 64 : 16384;
  const int64_t most_rows = limits.is_software ? 16 : 4;
  const int64_t most_quads = limits.is_software ? 4 : 2;
  RegisterTile best = {1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (const RegisterTile& tile : kTiles) {
    if (tile.rows > most_rows || tile.quads > most_quads || (tile.rows == 1) != (rows == 1)) continue;
    const int64_t tiles = count * CountTiles(rows, tile.rows) * CountTiles(cols, 4 * tile.quads);
    const auto reads = static_cast<double>(tile.rows + 4 * tile.quads);
    const auto products = static_cast<double>(tile.rows * 4 * tile.quads);
    const double cost = static_cast<double>(std::max(tiles, enough)) * (kReadCost * reads + products);
    if (cost < least) {
      least = cost;
      best = tile;
    }
  }
  return best;
}

}  // namespace tandem::shader
