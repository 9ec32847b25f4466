// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Chains of cheap element-wise ops of f32 in registers: a tile of elements is loaded, goes through all steps, and is
// stored. Row by row, even from the first-level cache, loads and stores would take longer than the arithmetic.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_TILES_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_TILES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tandem::cpu {

// What a step does with the tile in registers, x, and elements in memory, y. Each gives the bits of its op's row; of a
// NaN only that it is one.
enum class TileOp : uint8_t {
  kStore,  // y = x
  kLoad,   // x = y
  kAdd,
  kMul,
  kSquaredDifference,
  kSub,          // x - y
  kSubFrom,      // y - x
  kDiv,          // x / y
  kDivInto,      // y / x
  kMaximum,      // of x and y
  kMaximumFrom,  // of y and x, which differs for zeros of both signs
  kMinimum,
  kMinimumFrom,
  kNeg,  // from here on without y
  kAbs,
  kSquare,
  kRelu,
};

struct TileStep {
  TileOp op;
  std::byte* data;  // y; no alignment is needed
};

// By which steps an op is computed.
struct TileOps {
  TileOp if_first;   // x is its first operand
  TileOp if_second;  // x is its second operand
};
// Of an op of the registry; null if it is to be computed by its row.
const TileOps* FindTileOps(std::string_view op);

// Elements that are computed at once, at least.
inline constexpr int64_t kTileElements = 32;

// Takes each tile of the `n` elements, a multiple of kTileElements, through the steps, of which the first is kLoad and
// the last kStore. What one step stores a later one may read; otherwise memory that is stored to is at most the same
// elements as are read.
void ComputeTiles(std::span<const TileStep> steps, int64_t n);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_TILES_H_
