// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// An interpreter whose registers are vectors: which step comes next is looked up once for a whole tile.

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/elementwise/elementwise_tiles.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/elementwise_tile_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, static_cast<size_t>(kTileElements)>;
using V = hn::Vec<D>;
constexpr size_t kLanes = hn::MaxLanes(D());
constexpr size_t kNarrow = static_cast<size_t>(kTileElements) / kLanes;  // vectors
// As many as there are registers for beside what the steps need: of 32, of 16, or of the fewest of an instruction set.
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kWide = 16;
#elif HWY_TARGET == HWY_AVX2
constexpr size_t kWide = 12;
#else
constexpr size_t kWide = std::max<size_t>(kNarrow, 8);
#endif
static_assert(kWide % kNarrow == 0);

// As the functions of elements of the same names (elementwise_simd_rows.cc, positive_part-inl.h).
HWY_INLINE V Maximum(V x, V y) {
#if HWY_TARGET == HWY_AVX3
  // Here, Max is x if x > y, else y.
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, y));
#elif HWY_TARGET == HWY_AVX2
  // So it is here; all bits set are a NaN.
  return hn::Or(hn::Max(x, y), hn::VecFromMask(D(), hn::IsNaN(x)));
#elif HWY_TARGET == HWY_WASM
  // A comparison and a choice in one instruction, while Max takes several; all bits set are a NaN.
  return V{wasm_v128_or(wasm_f32x4_pmax(y.raw, x.raw), wasm_f32x4_ne(x.raw, x.raw))};
#else
  return hn::IfThenElse(hn::Or(hn::Gt(x, y), hn::IsNaN(x)), x, y);
#endif
}
HWY_INLINE V Minimum(V x, V y) {
#if HWY_TARGET == HWY_AVX3
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, y));
#elif HWY_TARGET == HWY_AVX2
  return hn::Or(hn::Min(x, y), hn::VecFromMask(D(), hn::IsNaN(x)));
#elif HWY_TARGET == HWY_WASM
  return V{wasm_v128_or(wasm_f32x4_pmin(y.raw, x.raw), wasm_f32x4_ne(x.raw, x.raw))};
#else
  return hn::IfThenElse(hn::Or(hn::Lt(x, y), hn::IsNaN(x)), x, y);
#endif
}
HWY_INLINE V Relu(V x) {
#if HWY_TARGET == HWY_WASM
  // pmax leaves NaN and -0 as they are; the sum of -0 and 0 is 0.
  const V zero = hn::Zero(D());
  return hn::Add(V{wasm_f32x4_pmax(x.raw, zero.raw)}, zero);
#else
  return hn::IfThenZeroElse(hn::Le(x, hn::Zero(D())), x);
#endif
}
HWY_INLINE V Square(V x) { return hn::Mul(x, x); }

// Where the elements of a step begin, as an address that the compiler does not take apart again: it would keep the
// offset of each vector in a register, of which there are not enough, and compute all of them anew for each tile.
HWY_INLINE std::byte* At(std::byte* data, int64_t offset) {
  std::byte* elements = data + offset;
#if HWY_TARGET != HWY_WASM
  asm("" : "+r"(elements));
#endif
  return elements;
}
HWY_INLINE V Load(const std::byte* elements, size_t i) {
  return hn::LoadU(D(), reinterpret_cast<const float*>(elements) + i * kLanes);
}
HWY_INLINE void Store(V x, std::byte* elements, size_t i) {
  hn::StoreU(x, D(), reinterpret_cast<float*>(elements) + i * kLanes);
}

// What the steps give, but for kStore: of X, a vector of the tile, and Y, one of the elements in memory.
#define TANDEM_TILE_STEPS(STEP)                   \
  STEP(kLoad, Y)                                  \
  STEP(kAdd, hn::Add(X, Y))                       \
  STEP(kMul, hn::Mul(X, Y))                       \
  STEP(kSquaredDifference, Square(hn::Sub(X, Y))) \
  STEP(kSub, hn::Sub(X, Y))                       \
  STEP(kSubFrom, hn::Sub(Y, X))                   \
  STEP(kDiv, hn::Div(X, Y))                       \
  STEP(kDivInto, hn::Div(Y, X))                   \
  STEP(kMaximum, Maximum(X, Y))                   \
  STEP(kMaximumFrom, Maximum(Y, X))               \
  STEP(kMinimum, Minimum(X, Y))                   \
  STEP(kMinimumFrom, Minimum(Y, X))               \
  STEP(kNeg, hn::Neg(X))                          \
  STEP(kAbs, hn::Abs(X))                          \
  STEP(kSquare, Square(X))                        \
  STEP(kRelu, Relu(X))

// Tiles of sizeof...(kI) vectors through all steps, those from `offset` to `end`, in bytes, of each step's elements.
// The vectors are named one by one so that they stay in registers from one step to the next.
template <size_t... kI>
HWY_NOINLINE void ComputeTilesOf(std::span<const TileStep> steps, int64_t offset, int64_t end,
                                 std::index_sequence<kI...>) {
  for (; offset < end; offset += static_cast<int64_t>(sizeof...(kI) * sizeof(V))) {
    const TileStep* step = &steps.front();
    std::byte* y = At(step->data, offset);
    V x[] = {Load(y, kI)...};
#define X x[kI]
#define Y Load(y, kI)
#if HWY_TARGET == HWY_WASM
    // Engines know no jumps to labels.
    while (step != &steps.back()) {
      ++step;
      y = At(step->data, offset);
      switch (step->op) {
#define TANDEM_STEP(op, result) \
  case TileOp::op:              \
    ((X = result), ...);        \
    break;
        TANDEM_TILE_STEPS(TANDEM_STEP)
        case TileOp::kStore:
          (Store(X, y, kI), ...);
      }
    }
#else
    // Each step ends with a jump of its own to the next (labels as values, of GCC and Clang): where the only jump of a
    // switch goes processors hardly foresee, and steps take twice as long.
#define TANDEM_LABEL(op, result) &&op,
    static const void* const kLabels[] = {&&kStore, TANDEM_TILE_STEPS(TANDEM_LABEL)};
#undef TANDEM_LABEL
#define TANDEM_OP(op, result) TileOp::op,
    static constexpr TileOp kInOrder[] = {TileOp::kStore, TANDEM_TILE_STEPS(TANDEM_OP)};
#undef TANDEM_OP
    static_assert(std::ranges::is_sorted(kInOrder) && std::size(kInOrder) == static_cast<size_t>(TileOp::kRelu) + 1);
#define TANDEM_NEXT_STEP goto* kLabels[static_cast<size_t>((++step)->op)]
    TANDEM_NEXT_STEP;
#define TANDEM_STEP(op, result) \
  op:                           \
  y = At(step->data, offset);   \
  ((X = result), ...);          \
  TANDEM_NEXT_STEP;
    TANDEM_TILE_STEPS(TANDEM_STEP)
  kStore:
    y = At(step->data, offset);
    (Store(X, y, kI), ...);
    if (step != &steps.back()) TANDEM_NEXT_STEP;
#undef TANDEM_NEXT_STEP
#endif
#undef TANDEM_STEP
#undef Y
#undef X
  }
}
#undef TANDEM_TILE_STEPS

// As many tiles of kVectors as there are in the elements [begin, n). Where the next one begins.
template <size_t kVectors>
HWY_INLINE int64_t ComputeTilesOf(std::span<const TileStep> steps, int64_t begin, int64_t n) {
  constexpr auto kElements = static_cast<int64_t>(kVectors * kLanes);
  constexpr auto kBytes = static_cast<int64_t>(sizeof(float));
  const int64_t end = n - (n - begin) % kElements;
  ComputeTilesOf(steps, kBytes * begin, kBytes * end, std::make_index_sequence<kVectors>());
  return end;
}

}  // namespace

// Without vectors of Highway's, those that the compiler makes of rows are better.
bool HasTilesOfTarget() { return kLanes > 1; }

void ComputeTilesOfTarget(std::span<const TileStep> steps, int64_t n) {
  const int64_t done = ComputeTilesOf<kWide>(steps, 0, n);
  if constexpr (kNarrow < kWide) ComputeTilesOf<kNarrow>(steps, done, n);
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {

HWY_EXPORT(HasTilesOfTarget);
HWY_EXPORT(ComputeTilesOfTarget);

struct OpEntry {
  std::string_view op;
  TileOps ops;
};
constexpr OpEntry kOps[] = {
    {"tf.Abs", {TileOp::kAbs, TileOp::kAbs}},
    {"tf.AddV2", {TileOp::kAdd, TileOp::kAdd}},
    {"tf.Maximum", {TileOp::kMaximum, TileOp::kMaximumFrom}},
    {"tf.Minimum", {TileOp::kMinimum, TileOp::kMinimumFrom}},
    {"tf.Mul", {TileOp::kMul, TileOp::kMul}},
    {"tf.Neg", {TileOp::kNeg, TileOp::kNeg}},
    {"tf.RealDiv", {TileOp::kDiv, TileOp::kDivInto}},
    {"tf.Relu", {TileOp::kRelu, TileOp::kRelu}},
    {"tf.Square", {TileOp::kSquare, TileOp::kSquare}},
    {"tf.SquaredDifference", {TileOp::kSquaredDifference, TileOp::kSquaredDifference}},
    {"tf.Sub", {TileOp::kSub, TileOp::kSubFrom}},
};

}  // namespace

const TileOps* FindTileOps(std::string_view op) {
  if (!HWY_DYNAMIC_DISPATCH(HasTilesOfTarget)()) return nullptr;
  const auto* const found = std::ranges::find(kOps, op, &OpEntry::op);
  return found == std::end(kOps) ? nullptr : &found->ops;
}

void ComputeTiles(std::span<const TileStep> steps, int64_t n) { HWY_DYNAMIC_DISPATCH(ComputeTilesOfTarget)(steps, n); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
